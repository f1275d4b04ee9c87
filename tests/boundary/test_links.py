"""No stored file of a folder that somebody sent is read through a link that leads out of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lab
import lab.runs
from lab.__main__ import main
from lab.core import ownership
from lab.search.galleries.shards import Writer, open_gallery
from tests.boundary.test_more_gifts import PYTHON, gift, trained  # noqa: F401 (fixtures)
from tests.boundary.watching import watched

FILES = (
    "status.json",
    "meta.json",
    "scores/test.json",
    "scores/test.safetensors",
    "embeddings/test.safetensors",
    "checkpoints/best.safetensors",
    "checkpoints/last.safetensors",
    "embeddings",
    "checkpoints",
)
PICTURE = Image.new("RGB", (32, 32), "red")
COMMANDS = (
    "runs", "runs RUN", "runs check RUN", "runs report RUN", "runs verdict RUN", "threshold RUN",
    "export RUN --to csv --output OUT", "evaluate RUN",
)  # fmt: skip


def moved_out(folder: Path, name: str, outside: Path) -> Path:
    """Move a stored file or folder elsewhere, and leave a link to it."""
    outside.mkdir(exist_ok=True)
    place = outside / Path(name).name
    shutil.move(folder / name, place)
    (folder / name).symlink_to(place)
    return place


@pytest.mark.parametrize("name", FILES)
def test_no_file_of_a_stranger_is_read_through_a_link(gift, tmp_path, name, monkeypatch, capsys):  # noqa: F811
    moved_out(gift.path, name, tmp_path / "outside")
    with pytest.raises(
        ValueError, match=r"names the path .* lies outside its folder, and this account did not"
    ):
        gift.file(f"{name}/x" if name in ("embeddings", "checkpoints") else name)
    for words in COMMANDS:
        given = words.replace("RUN", str(gift.path)).replace("OUT", str(tmp_path / "out")).split()
        with watched(tmp_path / "outside", monkeypatch) as seen:
            main(given)
        told = capsys.readouterr()
        assert not seen, (words, seen)
        assert not PYTHON.search(told.out + told.err)


@pytest.mark.parametrize(
    "name", ["checkpoints/best.safetensors", "checkpoints", "embeddings/test.safetensors"]
)
def test_a_link_inside_the_folder_and_the_links_of_this_account_are_followed(gift, tmp_path, name):  # noqa: F811
    (gift.path / "beside").mkdir()
    moved_out(gift.path, name, gift.path / "beside")
    assert lab.load(gift.path).embed([PICTURE]).shape and len(gift.embeddings("test"))
    place = Path(shutil.move((gift.path / name).resolve(), tmp_path / "scratch"))
    (gift.path / name).unlink()
    (gift.path / name).symlink_to(place)
    with pytest.raises(ValueError, match="add --allow paths"):
        lab.load(gift.path), gift.embeddings("test")
    allowed = lab.runs.Run(gift.path, allow="paths")
    assert lab.load(allowed).embed([PICTURE]).shape and len(allowed.embeddings("test"))
    ownership.sign(gift.path, "config.yaml")
    assert lab.load(gift.path).embed([PICTURE]).shape and len(gift.embeddings("test"))


def test_the_links_of_the_hubs_cache_are_followed(gift, tmp_path):  # noqa: F811
    model = Path(lab.exporters.create("huggingface").export(gift, tmp_path / "made"))
    blobs, snapshot = (
        tmp_path / "models--me--model" / "blobs",
        tmp_path / "models--me--model" / "snapshots" / "abc",
    )
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(model.iterdir())):
        file.rename(blobs / str(number))
        (snapshot / file.name).symlink_to(Path("../../blobs") / str(number))
    assert lab.load(snapshot).embed([PICTURE]).shape
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to(gift.checkpoint("best"))
    with pytest.raises(ValueError, match="lies outside its folder"):
        lab.load(snapshot)


@pytest.mark.parametrize("name", ["gallery.json", "shard-00000.safetensors"])
def test_a_gallery_has_no_links(tmp_path, name):
    writer = Writer(tmp_path / "gallery", {"rows": 2})
    writer.add(
        lab.EmbeddingSet(np.eye(2, dtype=np.float32), np.arange(2), np.arange(2)), ["a", "b"]
    )
    writer.finish()
    moved_out(tmp_path / "gallery", name, tmp_path / "outside")
    with pytest.raises(
        ValueError, match=f"{name} is a link that leads out of its folder; replace it by the file"
    ):
        open_gallery(tmp_path / "gallery")
