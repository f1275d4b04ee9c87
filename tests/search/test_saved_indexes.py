"""What holds for every index: it can be saved and opened, and grow."""

import numpy as np
import pytest
from test_search_contract import build

from lab import search
from lab.core import arrays
from lab.core.arrays import Damaged
from lab.core.results import EmbeddingSet

NAMES = search.names()


def part(whole, rows):
    return EmbeddingSet(whole.vectors[rows], whole.labels[rows], whole.items[rows])


def assert_equal(one, other, query):
    assert one.knobs == other.knobs
    for mine, yours in zip(
        one.neighbours(query.vectors, 9), other.neighbours(query.vectors, 9), strict=True
    ):
        np.testing.assert_array_equal(mine, yours)
    mine, yours = one.rank(query, False), other.rank(query, False)
    np.testing.assert_array_equal(mine.neighbours, yours.neighbours)
    np.testing.assert_array_equal(mine.positive_ranks, yours.positive_ranks)
    np.testing.assert_array_equal(mine.comparisons, yours.comparisons)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("name", NAMES)
def test_an_opened_index_answers_as_the_saved_one(name, similarity, make_set, anchors, tmp_path):
    gallery, query = make_set(n=80), make_set(n=12, seed=5)
    few = {"probes": 2} if "probes" in search.get(name).Knobs.model_fields else {}
    index = build(name, gallery, anchors, similarity=similarity, **few)
    assert_equal(search.open(index.save(tmp_path / "it.safetensors")), index, query)


@pytest.mark.parametrize("name", NAMES)
def test_a_grown_index_ranks_like_one_of_the_whole(name, make_set, anchors, tmp_path):
    whole, query = make_set(n=80), make_set(n=12, seed=5)
    at_once = build(name, whole, anchors)
    grown = build(name, part(whole, slice(0, 50)), anchors).add(part(whole, slice(50, 70)))
    grown = search.open(grown.save(tmp_path / "it.safetensors")).add(part(whole, slice(70, 80)))
    np.testing.assert_array_equal(
        grown.rank(query, False).neighbours, at_once.rank(query, False).neighbours
    )
    np.testing.assert_array_equal(grown.gallery.items, whole.items)


@pytest.mark.parametrize("name", NAMES)
def test_bad_use_is_told(name, make_set, anchors, tmp_path):
    gallery = make_set(n=40)
    for call in (
        lambda: search.create(name).save(tmp_path / "it"),
        lambda: search.create(name).add(gallery),
    ):
        with pytest.raises(ValueError, match="has no gallery yet"):
            call()
    index = build(name, gallery, anchors)
    with pytest.raises(ValueError, match="added vectors have 5 dimensions, the gallery 8"):
        index.add(make_set(n=3, d=5))
    with pytest.raises(ValueError, match="Row 0 of the added vectors holds NaN"):
        index.add(
            EmbeddingSet(np.full((1, 8), np.nan, np.float32), np.zeros(1, int), np.zeros(1, int))
        )
    assert len(index.gallery) == 40


def test_files_that_hold_no_index_are_told(make_set, tmp_path):
    arrays.write(tmp_path / "other", {"vectors": np.eye(2)})
    with pytest.raises(ValueError, match="other holds no index"):
        search.open(tmp_path / "other")
    with pytest.raises(ValueError, match="missing cannot be read: No such file"):
        search.open(tmp_path / "missing")
    path = search.create("exact").build(make_set(n=40)).save(tmp_path / "it")
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="it cannot be read, it is damaged"):
        search.open(path)


def test_items_that_are_added_have_numbers_of_their_own():
    """A query that is an image of the gallery is left out of its own list by its number, so two items need two."""
    random = np.random.default_rng(0)
    images = EmbeddingSet(random.normal(size=(4, 6)), [0, 0, 1, 1], [3, 4, 5, 6])
    index = search.create("exact", k=3).build(images)
    index.add(random.normal(size=(2, 6)), [0, 1])
    assert index.gallery.items.tolist() == [3, 4, 5, 6, 7, 8]
    index.add(EmbeddingSet(random.normal(size=(2, 6)), [0, 1], [20, 21]))
    index.add(EmbeddingSet(random.normal(size=(2, 6)), [0, 1], [20, 40]))
    assert index.gallery.items.tolist() == [3, 4, 5, 6, 7, 8, 20, 21, 22, 23]
    assert index.rank(images, same_source=True).self_index.tolist() == [0, 1, 2, 3]
