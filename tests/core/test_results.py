"""Labels: which of them name a class, whatever kind of column holds them."""

import numpy as np
import pandas as pd
import pytest
import torch

import lab
from lab.core.results import (
    OTHER,
    SAME,
    UNKNOWN,
    Ranking,
    compared,
    label_column,
    labelled,
    names_at,
    no_class,
)

COLUMNS = {
    "None among names": (["a", None, "b"], [True, False, True]),
    "NaN among names": (["a", float("nan"), "b"], [True, False, True]),
    "empty and blank texts": (["a", "", "  "], [True, False, False]),
    "names that look like gaps": (["nan", "None", "NA"], [True, True, True]),
    "None among numbers": ([3, None, 5], [True, False, True]),
    "numbers as floats with gaps": (np.array([3.0, np.nan, 5.0]), [True, False, True]),
    "a Series of names": (pd.Series(["a", pd.NA, None]), [True, False, False]),
    "a Series of numbers": (pd.Series([1, None]), [True, False]),
    "a nullable Series": (pd.Series([1, pd.NA], dtype="Int64"), [True, False]),
    "a Categorical": (pd.Categorical(["a", None]), [True, False]),
    "an object array": (np.array(["a", None], object), [True, False]),
    "a tensor with negative numbers": (torch.tensor([4, -1]), [True, True]),
    "large numbers": (np.array([-(2**62), 2**63 - 1]), [True, True]),
    "unsigned numbers": (np.array([2**64 - 1, 0], np.uint64), [True, True]),
    "bytes": ([b"a", b""], [True, False]),
    "flags": (np.array([True, False]), [True, True]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_which_labels_name_a_class(kind):
    given, wanted = COLUMNS[kind]
    column = label_column(given)
    assert labelled(column).tolist() == wanted
    if kind != "unsigned numbers":  # a set holds int64, and refuses those above
        assert lab.EmbeddingSet(np.eye(len(wanted)), given).labelled.tolist() == wanted


@pytest.mark.parametrize("labels", [[1.5, 2.0], [[1], [2]], [("a",), "b"]])
def test_labels_of_other_kinds_are_refused_in_one_sentence(labels):
    with pytest.raises(ValueError, match="whole numbers or names"):
        label_column(labels)


def test_a_set_without_labels_has_no_class_and_a_part_keeps_that():
    images = lab.EmbeddingSet(np.eye(4), ["a", None, "a", None])
    assert not images.unlabelled and lab.EmbeddingSet(np.eye(4)).unlabelled
    assert images.take(np.array([1, 3])).unlabelled and images.take(slice(0, 1)).labelled.all()


def test_two_labels_are_the_same_or_not_or_it_is_unknown():
    unknown = no_class([0, 1])
    assert compared([1, 2, *unknown], 1).tolist() == [SAME, OTHER, UNKNOWN, UNKNOWN]
    assert compared(unknown, unknown).tolist() == [UNKNOWN, UNKNOWN]
    assert names_at(["cat", "dog"], np.array([1, unknown[0], 0])).tolist() == ["dog", "", "cat"]


def test_a_ranking_knows_right_wrong_and_unknown_and_numbers_what_counts():
    unknown = int(no_class(0))
    ranking = Ranking(
        neighbours=np.array([[1, 2, 0, -1]]), scores=np.zeros((1, 4), np.float32), query_labels=np.array([7]),
        gallery_labels=np.array([7, unknown, 8]), self_index=np.array([-1]), offsets=np.array([0, 1]),
        positive_items=np.array([0]), positive_ranks=np.array([2]), retrieved=np.array([3]),
        comparisons=np.array([3]), left_out=1,
    )  # fmt: skip
    assert ranking.verdicts.tolist() == [[UNKNOWN, OTHER, SAME, UNKNOWN]]
    assert ranking.hits.tolist() == [[False, False, True, False]]
    assert ranking.misses.tolist() == [[False, True, False, False]]
    assert ranking.neighbour_ranks.tolist() == [[0, 1, 2, 0]]
    part = ranking.part(np.array([0]), places=np.array([0, 2]))
    assert (
        part.neighbours.tolist() == [[1, 0, -1, -1]]
        and part.positive_items.tolist() == [0]
        and not part.left_out
    )


def test_a_label_without_a_name_gives_its_number():
    assert names_at(["a", "b"], np.array([1, 7, -1])).tolist() == ["b", "7", ""]
    assert names_at([], np.array([12])).tolist() == ["12"]
    images = lab.data.Unlabelled([])
    images.class_names = ["a", "b"]
    assert [images.class_name(label) for label in (1, 7, -1)] == ["b", "7", ""]
