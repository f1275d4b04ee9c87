"""Images of several runs are joined by name and content: never two different ones, and every common one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.evaluation.identity import ROWS, Pictures, as_array, join, rows_of, unite

Listed = dict[str, tuple[int, str]]
"""Name of an image to its content and its class."""


def table(run: str, listed: Listed, place: str = "photos", known: bool = True) -> Pictures:
    """A run's images, numbered in the order of their names, as a folder lists them."""
    keys = sorted(listed)
    contents = [listed[key][0] if known else 0 for key in keys]
    items, classes = np.arange(len(keys)), as_array([listed[key][1] for key in keys])
    return Pictures(run, items, as_array(keys), np.array(contents, np.int64), classes, place)


def keys_of(tables: list[Pictures], found) -> list[tuple[str, ...]]:
    """The names of each joined image in each run."""
    return list(
        zip(
            *(one.of_items(items).keys for one, items in zip(tables, found.items, strict=True)),
            strict=True,
        )
    )


FIRST: Listed = {"a/1": (11, "a"), "a/2": (12, "a"), "b/1": (21, "b"), "b/2": (22, "b")}


@pytest.mark.parametrize(
    ("change", "joined", "renamed", "replaced"),
    [
        ({}, 4, 0, 0),
        ({"a/0": (10, "a")}, 4, 0, 0),  # added; every number moves
        ({"a/1": None}, 3, 0, 0),  # removed
        ({"a/1": None, "a/9": (11, "a")}, 4, 1, 0),  # renamed
        ({"a/1": None, "b/9": (11, "b")}, 4, 1, 0),  # moved to another class
        ({"a/1": (99, "a")}, 3, 0, 1),  # replaced under the same name
        ({"a/1": (21, "a"), "b/1": (11, "b")}, 4, 2, 0),  # two files took each other's names
        ({"a/1": (12, "a"), "a/2": (11, "a")}, 4, 2, 0),
    ],
)
def test_what_changes_between_two_runs(change, joined, renamed, replaced):
    second = {**FIRST, **change}
    tables = [table("one", FIRST), table("two", {key: one for key, one in second.items() if one})]
    found = join(tables)
    assert (len(found), found.renamed, found.replaced) == (joined, renamed, replaced)
    contents = [
        one.of_items(items).contents for one, items in zip(tables, found.items, strict=True)
    ]
    assert (contents[0] == contents[1]).all() and not found.unknown


def test_the_sentence_says_how_many_were_joined_by_what_and_how_many_were_not():
    second = {"a/1": (11, "a"), "a/2": (99, "a"), "c/1": (21, "c"), "c/2": (55, "c")}
    assert join([table("one", FIRST), table("two", second)]).sentence == (
        "2 images joined by name and content, 1 of them renamed; not joined: 2 of one, 2 of two (1 name with another "
        "content)."
    )
    same = join([table("one", FIRST), table("two", FIRST)])
    assert (
        same.sentence == "4 images joined by name and content; none is left out."
        and same.same_numbers
    )
    old = join([table("one", FIRST, known=False), table("two", FIRST)])
    assert old.sentence == (
        "4 images joined by name; none is left out. The contents of the images of one are not recorded."
    )


def test_without_contents_names_count_within_one_place_only():
    old, new = table("old", FIRST, known=False), table("new", FIRST)
    assert len(join([old, new])) == 4 and join([old, new]).unknown == ("old",)
    assert len(join([old, table("elsewhere", FIRST, "other photos")])) == 0
    assert len(join([table("named", FIRST, "", known=False), new])) == 4  # names without a folder
    rows = {str(row): (0, kind) for row, kind in enumerate("aabb")}
    numbered = table("rows", rows, f"{ROWS}4 aabb")
    assert join([numbered, numbered]).by_row
    assert len(join([numbered, table("others", rows, f"{ROWS}4 abab")])) == 0
    assert len(join([numbered, table("names", rows, "")])) == 0


def test_a_third_run_of_unknown_contents_joins_no_two_different_images():
    replaced = {**FIRST, "a/1": (99, "a")}
    tables = [table("old", FIRST, known=False), table("one", FIRST), table("two", replaced)]
    found = join(tables)
    assert [name for name, *_ in keys_of(tables, found)] == ["a/2", "b/1", "b/2"]
    assert found.items[0].tolist() == [1, 2, 3]


def test_copies_are_joined_class_by_class():
    first: Listed = {"a/1": (7, "a"), "b/1": (7, "b")}
    second: Listed = {"b/9": (7, "b"), "c/9": (8, "c")}
    tables = [table("one", first), table("two", second)]
    assert keys_of(tables, join(tables)) == [("b/1", "b/9")]


def test_unite_numbers_each_image_once():
    second = {"a/1": (99, "a"), "b/9": (21, "b"), "a/2": (12, "a")}
    united, (one, two) = unite([table("one", FIRST), table("two", second)])
    assert len(united) == 5 and one.tolist() == [0, 1, 2, 3]
    assert two.tolist() == [4, 1, 2]  # a/1 is another image, a/2 the same, b/9 was b/1


def test_rows_of_refuses_what_is_not_there():
    assert rows_of(np.array([7, 3, 5]), np.array([5, 7])).tolist() == [2, 0]
    with pytest.raises(KeyError):
        rows_of(np.array([7, 3, 5]), np.array([4]))
    with pytest.raises(KeyError):
        rows_of(np.array([7, 3, 5]), np.array([9]))


def test_the_digest_of_images_knows_contents_and_classes_but_no_order_or_names():
    renamed = {f"x{key}": one for key, one in FIRST.items()}
    relabelled = {**FIRST, "a/1": (11, "b")}
    replaced = {**FIRST, "a/1": (99, "a")}
    assert table("one", FIRST).digest == table("two", renamed).digest
    assert len({table("one", listed).digest for listed in (FIRST, relabelled, replaced)}) == 3


changes = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "rename", "replace", "swap", "move", "copy"]),
        st.integers(0, 10**6),
    ),
    max_size=30,
)


def changed(listed: Listed, steps) -> Listed:
    """A folder after some changes."""
    listed, fresh = dict(listed), 1000
    for what, draw in steps:
        names = sorted(listed)
        fresh += 1
        kind = "abc"[draw % 3]
        if what == "add" or not names:
            listed[f"{kind}/{draw % 50:02d}"] = (fresh, kind)
            continue
        name, other = names[draw % len(names)], names[draw // 7 % len(names)]
        content, of = listed[name]
        if what == "remove":
            del listed[name]
        elif what == "rename":
            del listed[name]
            listed[f"{of}/{draw % 50:02d}"] = (content, of)
        elif what == "replace":
            listed[name] = (fresh, of)
        elif what == "swap":
            listed[name], listed[other] = (listed[other][0], of), (content, listed[other][1])
        elif what == "move":
            del listed[name]
            listed[f"{kind}/{name.rpartition('/')[2]}"] = (content, kind)
        else:
            listed[f"{kind}/copy{draw % 20}"] = (content, kind)
    return listed


@settings(max_examples=150, derandomize=True, deadline=None)
@given(changes, changes, changes)
def test_random_changes_never_join_two_images_and_join_every_common_one(before, one, other):
    folder = changed({}, [("add", draw) for draw in range(12)] + before)
    tables = [
        table("one", changed(folder, one)),
        table("two", changed(folder, other)),
        table("three", folder),
    ]
    for pair in (tables[:2], tables[1:], tables):
        found = join(pair)
        contents = np.array(
            [part.of_items(items).contents for part, items in zip(pair, found.items, strict=True)]
        )
        assert (contents == contents[0]).all()
        for part, items in zip(pair, found.items, strict=True):
            assert len(set(items.tolist())) == len(items) <= len(part)
        counts = [Counter(part.contents.tolist()) for part in pair]
        if len(pair) == 2:
            assert len(found) == (counts[0] & counts[1]).total()
        united, places = unite(pair)
        for part, place in zip(pair, places, strict=True):
            assert (united.contents[place] == part.contents).all() and len(
                set(place.tolist())
            ) == len(part)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(changes, changes)
def test_without_contents_only_equal_names_are_joined(one, other):
    folder = changed({}, [("add", draw) for draw in range(12)])
    tables = [table("one", changed(folder, one), known=False), table("two", changed(folder, other))]
    found = join(tables)
    names = keys_of(tables, found)
    assert all(mine == theirs for mine, theirs in names)
    assert len(names) == len(set(tables[0].keys) & set(tables[1].keys))
