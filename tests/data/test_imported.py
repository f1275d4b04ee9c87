import numpy as np
import pytest

import lab


def made(folder):
    """For the contract of data sets."""
    rows = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
    names = [f"kind {at // 4}" for at in range(24)]
    run = lab.runs.from_embeddings(
        rows, names, normalise=True, name="brought", runs=folder / "runs"
    )
    return lab.data.create("imported", root=str(run.path))


def test_classes_are_shared_out_and_splits_that_came_stay(tmp_path):
    shared = made(tmp_path)
    assert {name: len(split) for name, split in shared.splits.items()} == {
        "train": 4,
        "validation": 8,
        "test": 12,
    }
    rows = np.eye(6, dtype=np.float32)
    own = ["train"] * 4 + ["test"] * 2
    run = lab.runs.from_embeddings(rows, list("aabbcc"), split=own, name="own", runs=tmp_path)
    kept = lab.data.create("imported", root=str(run.path))
    assert {name: split.items.tolist() for name, split in kept.splits.items()} == {
        "train": [0, 1, 2, 3],
        "test": [4, 5],
    }


def test_a_folder_that_is_no_run_gets_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="is no run that lists its images"):
        lab.data.create("imported", root=str(tmp_path))
