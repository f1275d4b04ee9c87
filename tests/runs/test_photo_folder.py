"""A folder as people have them: every door finds the same images and classes in it, and says what it left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lab
from lab.__main__ import main
from lab.adaptation import adapt
from lab.core.records import Note
from lab.core.streams import result_of
from lab.integrations.importing.shards import embed_shards
from tests.data import photo_folder

NAMED = (
    "text.jpg is not an image",
    "empty.png is not an image: it is empty",
    "cut.jpg is damaged and cannot be decoded",
)
COUNTED = (
    "1 file that is no image",
    "1 HEIC photo",
    "hidden files and folders",
    "links to what is listed already",
)


def below(folder: Path, files) -> set[str]:
    return {Path(file).relative_to(folder).as_posix() for file in files}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people") / "photos"
    return folder, photo_folder.write(folder)


def said(records: list) -> str:
    return " ".join(record.sentence for record in records if isinstance(record, Note))


def check_told(words: str, classes: int = 10) -> None:
    for one in (
        *NAMED,
        *COUNTED,
        "Classes are the folders class 00, class 01,",
        f"in {classes} classes)",
    ):
        assert one in words, one


def test_every_door_finds_the_same_images(photos, tmp_path, capsys):
    folder, count = photos
    records: list = []
    embedded = result_of(
        lab.runs.embed_folder(folder, "small_cnn", name="embedded", runs=tmp_path), records.append
    )
    keys = set(embedded.dataset().keys)
    assert len(keys) == count and len(embedded.dataset().class_names) == 10
    check_told(said(records))

    records = []
    gallery = result_of(
        embed_shards(folder, "small_cnn", tmp_path / "shards", runs=tmp_path), records.append
    )
    assert below(folder, map(gallery.name, range(len(gallery)))) == keys
    check_told(said(records))

    listed = lab.data.create("class_folders", root=str(folder))
    assert set(listed.keys) - keys == {"class 01/cut.jpg"} and set(listed.class_names) == set(
        embedded.dataset().class_names
    )
    table = photo_folder.manifest(folder, sorted(keys))
    named = lab.data.create("manifest", path=str(table), root=str(folder))
    assert (
        sorted(named.keys) == sorted(keys)
        and f"{-(-count // 3)} rows of list.csv name" in named.problems[0]
    )

    sections = {
        "data": {"name": "class_folders", "root": str(folder), "test": 0.3, "validation": 0.3},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 8, "per_class": 2},
        "loss": {"name": "recall_at_k"},
        "training": {"steps": 4, "device": "cpu"},
        "evaluation": {"splits": ["train", "validation", "test"]},
    }
    trained = lab.runs.create(lab.runs.RunConfig.of(sections), tmp_path, "trained")
    words = said(list(lab.runs.execute(trained)))
    check_told(words)
    items = np.concatenate([trained.embeddings(split).items for split in trained.splits])
    assert {trained.dataset().keys[item] for item in items} == keys

    records = []
    made = adapt(
        str(folder), encoder="small_cnn", dim=4, runs=tmp_path, listen=records.append,
        training={"steps": 2, "device": "cpu"}, evaluation={"splits": ["train", "test"]},
    )  # fmt: skip
    check_told(said(records).replace("cut.jpg cannot be decoded", NAMED[2]))
    items = np.concatenate([made.run.embeddings(split).items for split in made.run.splits])
    assert {made.run.dataset().keys[item] for item in items} | {"class 01/cut.jpg"} >= keys - {
        listed.keys[item]
        for item in made.run.dataset()
        .splits.get("validation", made.run.dataset().splits["test"])
        .items
    }

    model = lab.load(trained, gallery=folder)
    assert (
        below(folder, (model.searched.row(place)[0] for place in range(len(model.gallery)))) == keys
    )
    check_told(" ".join([model.images.classes_sentence, *model.problems]))
    capsys.readouterr()
    words = [
        "query",
        "trained",
        str(folder / "class 00" / "0.jfif"),
        "--gallery",
        str(folder),
        "--runs",
        str(tmp_path),
    ]
    assert main(words) == 0
    told = capsys.readouterr()
    check_told(told.err + told.out)
    assert "class 00" in told.out, "the class of a neighbour is its folder"
