"""Images that a table names are left out of every split, and keep their numbers."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest

import lab
from lab.runs import marks


def table(path, rows, head="image"):
    with open(path, "w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([[head], *([row] for row in rows)])
    return str(path)


def test_named_images_are_in_no_split(pictures, tmp_path):
    knobs = {"root": str(pictures), "validation": 0.5, "test": 0.25}
    whole = lab.data.create("class_folders", **knobs)
    out = [whole.keys[int(split.items[1])] for split in whole.splits.values()]
    left = lab.data.create("class_folders", **knobs, leave_out=table(tmp_path / "out.csv", out))
    assert left.keys == whole.keys and (left.labels == whole.labels).all()
    for name, split in whole.splits.items():
        kept = [item for item in split.items if whole.keys[item] not in out]
        np.testing.assert_array_equal(left.splits[name].items, kept)
    assert lab.data.create("class_folders", **knobs, leave_out=table(tmp_path / "none.csv", [])).splits.keys()


def test_a_name_that_a_spreadsheet_would_take_for_a_formula_is_left_out(pictures, tmp_path):
    """The table of a run's marks keeps it behind an apostrophe."""
    knobs = {"root": str(tmp_path / "own"), "validation": 0.5, "test": 0.25}
    for folder in pictures.iterdir():
        shutil.copytree(folder, tmp_path / "own" / f"-{folder.name}")
    whole = lab.data.create("class_folders", **knobs)
    first = int(whole.splits["train"].items[0])
    (tmp_path / "out.csv").write_text(marks.as_csv({whole.keys[first]: "skip"}, {}))
    left = lab.data.create("class_folders", **knobs, leave_out=str(tmp_path / "out.csv"))
    counts = [sum(len(split) for split in images.splits.values()) for images in (whole, left)]
    assert counts[0] - counts[1] == 1 and not any(first in split.items for split in left.splits.values())


@pytest.mark.parametrize(("rows", "head", "sentence"), [
    (["nobody.png"], "image", "names no image of class_folders"),
    (["a"], "picture", "has no column image"),
    (None, "", "cannot be read: No such file"),
    (b"image\n\xff\xfe", "", "is not UTF-8 text"),
])  # fmt: skip
def test_what_is_no_such_table_is_one_sentence(pictures, tmp_path, rows, head, sentence):
    path = tmp_path / "out.csv"
    if isinstance(rows, bytes):
        path.write_bytes(rows)
    elif rows is not None:
        table(path, rows, head)
    with pytest.raises(ValueError, match=sentence):
        lab.data.create("class_folders", root=str(pictures), leave_out=str(path))
