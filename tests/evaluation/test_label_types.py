"""Labels of several integer types are compared as whole numbers, never as rounded floats."""

import itertools

import numpy as np
import pytest
import torch

import lab
from lab.core.results import EmbeddingSet

HUGE = 2**60
TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def test_neighbouring_numbers_beyond_2_to_53_are_two_classes():
    vectors = np.eye(3, dtype=np.float32)
    found = lab.evaluate(
        vectors,
        np.array([HUGE, HUGE + 1, 7], np.uint64),
        gallery=vectors + 0.1,
        gallery_labels=np.array([HUGE + 1, HUGE + 2, 8], np.int64),
        metrics="hit_rate_at_k",
    )
    assert found.ranking.num_positives.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(TYPES, TYPES)))
def test_types_do_not_change_classes(one, other):
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, 20)
    vectors = random.normal(size=(20, 3))
    expected = lab.evaluate(vectors, labels, gallery=vectors + 0.1, gallery_labels=labels).values
    assert (
        lab.evaluate(
            vectors, labels.astype(one), gallery=vectors + 0.1, gallery_labels=labels.astype(other)
        ).values
        == expected
    )


def test_numbers_above_int64_stay_apart():
    labels = np.array([2**63 + 5, 2**63 + 5, 2**63 + 6, 2**63 + 6], np.uint64)
    vectors = np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]])
    assert lab.evaluate(vectors, labels).values["r@1"] == 1
    with pytest.raises(
        ValueError, match=r"labels go up to 9223372036854775814, but must be below 2\*\*63"
    ):
        EmbeddingSet(vectors, labels)


def test_names_beside_numbers_are_read_as_names():
    vectors = np.eye(2)
    found = lab.evaluate(
        vectors, [0, 1], gallery=vectors, gallery_labels=["0", "2"], metrics="hit_rate_at_k"
    )
    assert found.ranking.num_positives.tolist() == [1, 0]


def test_searches_compare_items_and_labels_of_unsigned_sets_exactly():
    items = np.array([HUGE, HUGE + 1, HUGE + 2], np.uint64)
    images = EmbeddingSet(np.eye(3, dtype=np.float32), items, items)
    assert images.labels.dtype == np.int64 and images.items.dtype == np.int64
    others = EmbeddingSet(
        np.eye(3, dtype=np.float32), items.astype(np.int64) + 1, items.astype(np.int64) + 1
    )
    ranking = lab.search.create("exact").build(others).rank(images, True)
    assert ranking.self_index.tolist() == [-1, 0, 1] and ranking.num_positives.tolist() == [0, 0, 0]


def test_a_loss_compares_references_exactly():
    rows = torch.nn.functional.normalize(
        torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=1
    )
    loss = lab.losses.create("contrastive")
    labels = torch.from_numpy(np.array([HUGE, HUGE, 7], np.uint64))
    references = torch.tensor([HUGE + 1, HUGE, 8])
    small = loss(
        rows[:3], torch.tensor([1, 1, 7]), ref_emb=rows[3:], ref_labels=torch.tensor([2, 1, 8])
    )
    assert loss(rows[:3], labels, ref_emb=rows[3:], ref_labels=references) == small
