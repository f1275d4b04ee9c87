"""Marks of images: kept beside the runs by content, taken back, turned into corrections."""

from __future__ import annotations

import json
import shutil

import pytest

import lab
from lab.runs import marks
from lab.runs.marks import Mark


def folder(root):
    return lab.data.create("class_folders", root=str(root), validation=0.5, test=0.25)


@pytest.fixture
def own(pictures, tmp_path):
    """The root of a folder of pictures that a test may change, beside a folder of runs."""
    return shutil.copytree(pictures, tmp_path / "own")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def test_what_is_written_is_read_and_writing_back_is_undo(own, root):
    images = folder(own)
    name = images.class_names[0]
    given = {
        0: Mark("relabel", label=name, tags=("mine",)),
        3: Mark("duplicate", of=images.keys[0]),
        4: Mark("keep"),
    }
    assert marks.write(root, images, given) == dict.fromkeys(given)
    assert marks.read(root, images) == marks.read(root, folder(own)) == given
    before = marks.write(root, images, {3: None, 4: Mark("drop"), 5: Mark("drop"), 6: None})
    assert before == {3: given[3], 4: given[4], 5: None, 6: None}
    assert marks.read(root, images) == {0: given[0], 4: Mark("drop"), 5: Mark("drop")}
    marks.write(root, images, before)
    assert marks.read(root, images) == given
    assert len(json.loads((root / marks.FILE).read_text())["marks"]) == 3


@pytest.mark.parametrize("wrong", [{"answer": "ugly"}, {"answer": "relabel"}])
def test_what_is_no_answer_is_refused(wrong):
    with pytest.raises(ValueError, match="An image is"):
        Mark(**wrong)


def test_marks_follow_the_content_of_moved_and_renamed_images(own, root, tmp_path):
    images = folder(own)
    marks.write(root, images, {0: Mark("drop"), 5: Mark("keep")})
    first, second = (own / images.keys[item] for item in (0, 5))
    first.rename(first.with_name("zzz.png"))
    moved = folder(shutil.move(own, tmp_path / "elsewhere"))
    known = {moved.keys[item]: mark.answer for item, mark in marks.read(root, moved).items()}
    assert known == {f"{first.parent.name}/zzz.png": "drop", images.keys[5]: "keep"}
    (moved.root / images.keys[5]).write_bytes((moved.root / images.keys[6]).read_bytes())
    answers = [mark.answer for mark in marks.read(root, folder(moved.root)).values()]
    assert answers == ["drop"], "another picture of that name is not marked"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"marks": [{"key": "a"}]}', '{"marks": 3}'])
def test_a_damaged_file_is_a_sentence_and_stays(own, root, text):
    (root / marks.FILE).write_text(text)
    images = folder(own)
    for attempt in (
        lambda: marks.read(root, images),
        lambda: marks.write(root, images, {0: Mark("drop")}),
    ):
        with pytest.raises(ValueError, match="is damaged .* Bring back a copy"):
            attempt()
    assert (root / marks.FILE).read_text() == text


def test_marks_become_corrections_that_later_marks_change(own, root):
    images = folder(own)
    to = images.class_names[-1]
    table = marks.corrections(
        images, {0: Mark("drop"), 1: Mark("relabel", to), 2: Mark("keep"), 3: Mark(tags=("a",))}
    )
    assert table == {images.keys[0]: "", images.keys[1]: to}
    before = marks.save_corrections(root, table)
    assert (
        before == marks.save_corrections(root, table) and before.parent == root / marks.CORRECTIONS
    )
    later = marks.corrections(
        images, {0: Mark("keep"), 5: Mark("duplicate", of=images.keys[1])}, str(before)
    )
    assert later == {images.keys[1]: to, images.keys[5]: ""}


def test_the_corrected_set_leaves_the_lab_as_a_manifest(own, tmp_path):
    images = folder(own)
    train, test = (images.splits[name].items for name in ("train", "test"))
    to = images.class_names[images.labels[test[0]]]
    given = {int(train[0]): Mark("relabel", to), int(test[1]): Mark("drop")}
    (tmp_path / "own.csv").write_text(marks.as_manifest(images, given))
    read = lab.data.create("manifest", path=str(tmp_path / "own.csv"), root=str(own))
    at = {key: item for item, key in enumerate(read.keys)}
    assert images.keys[test[1]] not in at and len(read) == len(images) - 1
    moved = at[images.keys[train[0]]]
    assert moved in read.splits["test"].items and read.class_names[read.labels[moved]] == to
    with pytest.raises(ValueError, match="are no files"):
        marks.as_manifest(lab.data.create("digits"), {})
