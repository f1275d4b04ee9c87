"""Corrections: images that a table names are left out or relabelled, and keep their numbers."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import lab


def table(path, rows, head="image"):
    with open(path, "w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([[head], *([row] for row in rows)])
    return str(path)


def test_named_images_are_in_no_split(pictures, tmp_path):
    knobs = {"root": str(pictures), "validation": 0.5, "test": 0.25}
    whole = lab.data.create("class_folders", **knobs)
    out = [whole.keys[int(split.items[1])] for split in whole.splits.values()]
    left = lab.data.create("class_folders", **knobs, corrections=table(tmp_path / "out.csv", out))
    assert left.keys == whole.keys and (left.labels == whole.labels).all()
    for name, split in whole.splits.items():
        kept = [item for item in split.items if whole.keys[item] not in out]
        np.testing.assert_array_equal(left.splits[name].items, kept)
    assert lab.data.create(
        "class_folders", **knobs, corrections=table(tmp_path / "none.csv", [])
    ).splits.keys()


def test_relabelled_images_move_to_the_split_of_their_new_class(pictures, tmp_path):
    knobs = {"root": str(pictures), "validation": 0.5, "test": 0.25}
    whole = lab.data.create("class_folders", **knobs)
    train, test = (whole.splits[name].items for name in ("train", "test"))
    tested, trained = (whole.class_names[whole.labels[items[0]]] for items in (test, train))
    other = whole.class_names[whole.labels[train[-1]]]
    rows = {train[1]: tested, test[0]: "", train[2]: other, test[2]: trained}
    (tmp_path / "own.csv").write_text(
        "image,label\n" + "".join(f"{whole.keys[item]},{name}\n" for item, name in rows.items())
    )
    changed = lab.data.create("class_folders", **knobs, corrections=str(tmp_path / "own.csv"))
    assert {*changed.splits["test"].items} == {*test, train[1]} - {test[0], test[2]}
    assert {*changed.splits["train"].items} == {*train, test[2]} - {train[1]}
    assert changed.splits["validation"].items.tolist() == whole.splits["validation"].items.tolist()
    for item, name in rows.items():
        assert changed.class_names[changed.labels[item]] == (
            name or whole.class_names[whole.labels[item]]
        )
    classes = [set(changed.labels[split.items]) for split in changed.splits.values()]
    assert not set.intersection(*classes[:2]) | set.intersection(*classes[1:]), (
        "no class is in two splits"
    )


def test_where_splits_share_their_classes_a_relabelled_image_stays(tmp_path):
    whole = lab.data.create("digits")
    first = int(whole.splits["train"].items[0])
    to = str(9 - whole.labels[first])
    (tmp_path / "own.csv").write_text(f"image,label\n{whole.keys[first]},{to}\n")
    changed = lab.data.create("digits", corrections=str(tmp_path / "own.csv"))
    for name, split in whole.splits.items():
        np.testing.assert_array_equal(changed.splits[name].items, split.items)
    assert (
        changed.class_names[changed.labels[first]] == to
        and whole.labels[first] != changed.labels[first]
    )


def test_what_is_coarser_than_a_class_goes_with_it(tmp_path):
    whole = lab.data.create("emoji7")
    middle = whole.levels["middle"]
    item, like = 0, int(np.flatnonzero(middle != middle[0])[0])
    (tmp_path / "own.csv").write_text(
        f"image,label\n{whole.keys[item]},{whole.class_names[whole.labels[like]]}\n"
    )
    changed = lab.data.create("emoji7", corrections=str(tmp_path / "own.csv"))
    for level, labels in changed.levels.items():
        assert labels[item] == labels[like] == whole.levels[level][like], level
    assert lab.data.create("emoji7").levels["middle"][item] != changed.levels["middle"][item], (
        "the set itself is whole"
    )


@pytest.mark.parametrize(
    "table", ["image,label,mark\n{},cats,skip\n", "image\n{}\n", "image,label\n{},\n"]
)
def test_tables_of_0_2_and_those_without_labels_leave_out(pictures, tmp_path, table):
    whole = lab.data.create("class_folders", root=str(pictures))
    (tmp_path / "own.csv").write_text(table.format(whole.keys[3]))
    changed = lab.data.create(
        "class_folders", root=str(pictures), leave_out=str(tmp_path / "own.csv")
    )
    assert changed.knobs.corrections and not any(
        3 in split.items for split in changed.splits.values()
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("image,label\n{0},{2}\n{0},{3}\n", "row 2: .* has two labels, .* and .*Keep one row"),
        ("image,label\n{0},{2}\n{0},\n", "row 2: .* has two labels, .* and left out"),
        (
            "image,class\n{0},{2}\n",
            "has no column label, so its images would be left out; rename the column class",
        ),
    ],
)
def test_a_table_that_can_be_read_in_two_ways_is_refused(pictures, tmp_path, text, sentence):
    whole = lab.data.create("class_folders", root=str(pictures))
    (tmp_path / "own.csv").write_text(text.format(*whole.keys[:2], *whole.class_names[:2]))
    with pytest.raises(ValueError, match=sentence):
        lab.data.create("class_folders", root=str(pictures), corrections=str(tmp_path / "own.csv"))


def test_the_columns_of_a_table_may_be_in_capitals(pictures, tmp_path):
    whole = lab.data.create("class_folders", root=str(pictures))
    key, other = whole.keys[0], whole.class_names[-1]
    (tmp_path / "own.csv").write_text(f"Image,Label\n{key},{other}\n{key},{other}\n")
    changed = lab.data.create(
        "class_folders", root=str(pictures), corrections=str(tmp_path / "own.csv")
    )
    assert changed.class_names[changed.labels[0]] == other
