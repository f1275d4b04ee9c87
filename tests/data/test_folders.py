"""One walk and one rule for what is an image and what is a class, whoever is given the folder."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import lab
from lab.data import below
from lab.data._noise import replaced
from lab.data.images import zipped
from lab.data.images.folders import classes_sentence, folder_classes, is_hidden, list_images
from lab.runs.building import user_images

KINDS = ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "MPO"]


def image(path: Path, kind: str = "PNG", shade: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 10), (shade % 256, 40, 90)).save(path, kind)
    return path


def doors(folder: Path, tmp_path: Path) -> dict[str, tuple[set[str], list[str]]]:
    """What each door finds in a folder: keys below it, and the classes."""
    folder = folder.resolve()
    found = lab.data.create("class_folders", root=str(folder), test=0, validation=0)
    embedded = below(folder)
    keys = {Path(key).relative_to(folder).as_posix() for key in embedded.keys}
    survey = user_images.survey(str(folder))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = Path(parent, name)
                archive.write(path, Path("packed", path.relative_to(folder)))
    unpacked = tmp_path / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    root, _ = zipped.unpack(io.BytesIO(file.getvalue()), unpacked)
    packed = lab.data.create("class_folders", root=str(root), test=0, validation=0)
    items = np.arange(len(found) * 3)
    foreign = {
        path.relative_to(folder).as_posix()
        for path in replaced(items, str(folder), 1.0, 0)[0].values()
    }
    return {
        "class_folders": (set(found.keys), found.class_names),
        "embed": ({key for key in keys if "/" in key}, embedded.class_names),
        "Train page": (
            set(found.keys) if sum(survey.images.values()) == len(found) else set(),
            list(survey.images),
        ),
        "ZIP": (set(packed.keys), packed.class_names),
        "noise": ({key for key in foreign if "/" in key}, found.class_names),
    }


def test_kinds_are_known_by_their_first_bytes(tmp_path):
    names = ["a.jfif", "b.jpe", "c.JPG", "d", "e.txt", "f.png.bak", "g.Tiff", "h.mpo"]
    for name, kind in zip(names, KINDS, strict=True):
        image(tmp_path / "photos" / "cats" / name, kind)
    (tmp_path / "photos" / "cats" / "notes.md").write_text("BMW and P5 are no images")
    for keys, classes in doors(tmp_path / "photos", tmp_path).values():
        assert keys == {f"cats/{name}" for name in names} and classes == ["cats"]


@pytest.mark.parametrize(
    "hidden",
    [
        ".ipynb_checkpoints/x.png",
        "__MACOSX/x.png",
        "@eaDir/x.png",
        ".thumb.png",
        "._a.png",
        "Thumbs.db",
    ],
)
def test_hidden_files_and_folders_are_passed_over_and_counted(tmp_path, hidden):
    for name in ("a/1.png", "b/1.png"):
        image(tmp_path / "photos" / name)
    for parent in ("", "a/", "b/deep/"):
        image(tmp_path / "photos" / f"{parent}{hidden}")
    for keys, classes in doors(tmp_path / "photos", tmp_path).values():
        assert keys == {"a/1.png", "b/1.png"} and classes == ["a", "b"]
    assert any(
        "3 hidden files and folders are left out" in one
        for one in below(tmp_path / "photos").problems
    )


def test_the_class_is_the_outermost_folder_at_every_door(tmp_path):
    for name in ("bags/2021/1.png", "bags/2022/1.png", "lamps/1.png", "shoes/x/y/1.png"):
        image(tmp_path / "shop" / name)
    image(tmp_path / "shop" / "loose.png")
    for keys, classes in doors(tmp_path / "shop", tmp_path).values():
        assert len(keys) == 4 and classes == ["bags", "lamps", "shoes"]
    assert below(tmp_path / "shop").classes_sentence == (
        "Classes are the folders bags, lamps, shoes (4 images in 3 classes); 1 image that lies in no class folder."
    )
    trained = lab.data.create("class_folders", root=str(tmp_path / "shop"))
    assert (
        trained.classes_sentence
        == "Classes are the folders bags, lamps, shoes (4 images in 3 classes)."
    )
    assert trained.problems == [
        "1 image that lies in no class folder is left out, for instance loose.png."
    ]


def test_folders_called_train_and_test_are_no_classes_at_any_door(tmp_path):
    for name in ("train/cats/1.png", "train/dogs/a/1.png", "test/owls/1.png"):
        image(tmp_path / "photos" / name)
    for keys, classes in doors(tmp_path / "photos", tmp_path).values():
        assert len(keys) == 3 and sorted(classes) == ["cats", "dogs", "owls"]
    image(tmp_path / "photos" / "others" / "1.png")
    unclear = below(tmp_path / "photos")
    assert (
        unclear.labels < 0
    ).all() and "also 'others', so it is unclear" in unclear.classes_sentence
    with pytest.raises(ValueError, match="also 'others', so it is unclear"):
        lab.data.create("class_folders", root=str(tmp_path / "photos"))


def test_links_are_followed_once(tmp_path):
    inside = tmp_path / "photos"
    image(inside / "a" / "1.png")
    image(tmp_path / "elsewhere" / "2.png")
    (inside / "b").symlink_to(tmp_path / "elsewhere")  # a class that lies elsewhere
    (inside / "a" / "again.png").symlink_to("1.png")
    (inside / "b" / "of a.png").symlink_to(inside / "a" / "1.png")
    (inside / "a" / "round").symlink_to("..")  # into itself
    (inside / "a" / "up").symlink_to(tmp_path)  # above the folder
    (inside / "a" / "dead.png").symlink_to("nothing")
    (inside / "a" / "self.png").symlink_to("self.png")
    (inside / "c").symlink_to("a")
    found = lab.data.create("class_folders", root=str(inside), test=0, validation=0)
    assert found.keys == ["a/1.png", "b/2.png"] and sorted(below(inside).keys) == [
        str(inside / "a" / "1.png"), str(inside / "b" / "2.png"),
    ]  # fmt: skip
    said = " ".join(found.problems)
    assert (
        "2 links that lead nowhere are left out" in said
        and "5 links to what is listed already" in said
    )
    assert "which is a/1.png" in said or "a/round" in said or "c" in said


def test_a_folder_that_cannot_be_opened_is_told(tmp_path, monkeypatch):
    image(tmp_path / "a" / "1.png")
    image(tmp_path / "b" / "1.png")
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = list_images(tmp_path)
    assert listing.keys == ["a/1.png"]
    assert listing.problems == [
        "1 file or folder that cannot be opened is left out, for instance b."
    ]


def test_pipes_do_not_block_and_empty_files_are_named(tmp_path):
    image(tmp_path / "a" / "1.png")
    os.mkfifo(tmp_path / "a" / "pipe.png")
    (tmp_path / "a" / "empty.jpg").touch()
    (tmp_path / "a" / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    listing = list_images(tmp_path)
    assert listing.keys == ["a/1.png"] and len(listing.broken) == 2
    assert any("empty.jpg is not an image: it is empty" in one for one in listing.problems)
    assert any("1 pipe, socket or device is left out" in one for one in listing.problems)


NAMES = st.text("ab.@_", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.sets(st.lists(NAMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=8), st.data()
)
def test_every_file_is_listed_or_counted_and_the_doors_agree(tmp_path_factory, places, data):
    folder = tmp_path_factory.mktemp("any")
    folders = {place[:depth] for place in places for depth in range(1, len(place))}
    files = [place for place in places if place not in folders]
    images = []
    for place in files:
        path = folder.joinpath(*place)
        if data.draw(st.booleans()):
            images.append("/".join(place))
            image(path, data.draw(st.sampled_from(KINDS)))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.draw(st.sampled_from([b"", b"words", b"P5 no"])))
    seen = [key for key in images if not any(map(is_hidden, key.split("/")))]
    listing = list_images(folder)
    assert sorted(listing.keys) == sorted(seen)
    passed = len(listing.broken) + sum(map(len, listing.left_out.values()))
    in_hidden = sum(any(map(is_hidden, place)) for place in files)
    assert passed >= len(files) - len(seen) - in_hidden and (passed > 0) == (len(files) > len(seen))
    names = folder_classes(listing).names
    if any(names):
        found = lab.data.create("class_folders", root=str(folder), test=0, validation=0)
        assert found.keys == [key for key, name in zip(listing.keys, names, strict=True) if name]
        assert below(folder).class_names == found.class_names


def test_what_became_a_class_is_one_sentence():
    labels = np.array([0, 1, 2, 3, 4, 5, 6, 6])
    said = classes_sentence([f"c{at}" for at in range(7)], labels)
    assert said == "Classes are the folders c0, c1, c2, c3, c4, c5, ... (8 images in 7 classes)."
    assert (
        classes_sentence([], np.array([-1, -1]))
        == "No class: 2 images that lie in no class folder."
    )
