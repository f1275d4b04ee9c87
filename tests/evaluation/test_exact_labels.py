"""Labels that a type of numbers has rounded are refused, and what a column says is not lost on the way to numpy."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import lab
from lab.core.results import label_column

RANDOM = np.random.default_rng(0)
HUGE = 2**60


def classes_of(labels) -> list[int]:
    """The number of each label's class, in order of appearance; -1 for none."""
    vectors = RANDOM.normal(size=(len(labels), 4))
    found = lab.evaluate(vectors, labels).ranking.query_labels
    known, numbers = found > -(2**62), dict[int, int]()
    return [
        numbers.setdefault(int(one), len(numbers)) if there else -1
        for one, there in zip(found, known, strict=True)
    ]


@pytest.mark.parametrize(
    ("kind", "first"),
    [(np.float64, 2**53), (np.float32, 2**24), (np.float16, 2**11)],
)
def test_floats_from_which_whole_numbers_are_not_exact_are_refused(kind, first):
    labels = np.array([first - 1, first - 2, first - 1], kind)
    assert classes_of(labels) == [0, 1, 0]
    with pytest.raises(ValueError, match="several names may have become one"):
        classes_of(np.array([first, first + 1, first], kind))


@pytest.mark.parametrize(
    ("kind", "first"), [(torch.bfloat16, 2**8), (torch.float16, 2**11), (torch.float32, 2**24)]
)
def test_tensors_of_rounded_labels_are_refused_at_both_doors(tmp_path, kind, first):
    labels = torch.tensor([first, first + 1, first]).to(kind)
    for given in (labels, list(labels)):
        with pytest.raises(ValueError, match="several names may have become one"):
            classes_of(given)
    vectors = np.eye(3, dtype=np.float32)
    with pytest.raises(ValueError, match="several names may have become one"):
        lab.runs.from_embeddings(vectors, labels, name="rounded", runs=tmp_path)
    exact = torch.tensor([first - 1, first - 2, first - 1]).to(kind)
    run = lab.runs.from_embeddings(vectors, exact, name="exact", runs=tmp_path)
    assert len(run.dataset().class_names) == 2


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series([HUGE, HUGE + 1, HUGE, None], dtype="Int64"),
        pd.Series([HUGE, HUGE + 1, HUGE, None], dtype="int64[pyarrow]"),
        pd.Series(["01", "1", "01", None], dtype="string"),
        pd.Series(["01", "1", "01", None], dtype="category"),
        pa.array([HUGE, HUGE + 1, HUGE, None]),
        pa.chunked_array([[HUGE, HUGE + 1], [HUGE, None]]),
        np.ma.array([1, 2, 1, 2], mask=[False, False, False, True]),
        np.array([b"\xc3\xa9", b"\xff", b"\xc3\xa9", b""]),
        np.array([b"\xff", b"\xfe", b"\xff", None], object),
        ["a", "b", " a ", "  "],
        np.array(["a", "b", "a ", " "]),
    ],
    ids=lambda labels: (
        type(labels).__name__
    ),  # a repr of pyarrow holds an address, another one in each worker
)
def test_both_doors_give_the_same_classes(tmp_path, labels):
    assert classes_of(labels) == [0, 1, 0, -1]
    vectors = np.eye(4, dtype=np.float32)
    images = lab.runs.from_embeddings(vectors, labels, name="it", runs=tmp_path).dataset()
    assert np.maximum(images.labels, -1).tolist() == [0, 1, 0, -1]


def test_nanoseconds_keep_dates_apart(tmp_path):
    for dates in (np.array([1, 2, 1], "datetime64[ns]"), pa.array([1, 2, 1], pa.timestamp("ns"))):
        run = lab.runs.from_embeddings(np.eye(3, dtype=np.float32), dates, runs=tmp_path)
        assert len(run.dataset().class_names) == 2


def test_masked_vectors_are_refused():
    vectors = np.ma.array(np.eye(3), mask=np.eye(3))
    with pytest.raises(ValueError, match="The vectors are a masked array, and some are masked"):
        lab.evaluate(vectors, [1, 1, 2])
    assert label_column(np.ma.array([3, 4])).tolist() == [3, 4]
