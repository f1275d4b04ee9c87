"""What holds for every data set of the catalogue."""

import importlib
import pickle

import numpy as np
import pytest

import lab
from lab.data._published import Published

PUBLISHED = {name for name, entry in lab.data.entries().items() if issubclass(entry, Published)}


@pytest.fixture(params=sorted(set(lab.data.names()) - PUBLISHED))
def own(request, folders):
    """The sets that can be made here without a published archive; a new one from `made` of tests/data/test_NAME.py."""
    rows = "\n".join(
        [
            "path,label",
            *(f"{p.relative_to(folders)},{p.parent.name}" for p in folders.glob("*/*.png")),
        ]
    )
    (folders / "list.csv").write_text(rows)
    knobs = {
        "emoji7": {},
        "class_folders": {"root": str(folders)},
        "manifest": {"path": str(folders / "list.csv")},
    }
    if request.param not in knobs:
        return importlib.import_module(f"tests.data.test_{request.param}").made(folders)
    return lab.data.create(request.param, **knobs[request.param])


def test_images_labels_and_names_fit_together(own):
    n = len(own)
    assert (
        len(own.keys) == len(set(own.keys)) == len(own.labels) == n and own.labels.dtype == np.int64
    )
    assert sorted(set(own.labels.tolist())) == list(range(len(own.class_names)))
    assert all(len(values) == n for values in own.attributes.values())
    assert own.super_labels is None or own.super_labels.shape == (n,)
    assert own.load(n - 1).mode == "RGB"
    assert own.name in lab.data.names()


def test_splits_share_no_image_and_test_no_class_unless_the_set_says_so(own):
    items = np.concatenate([split.query for split in own.splits.values()])
    assert len(items) == len(set(items.tolist())) == len(own)
    owners = {name: set(own.labels[split.query]) for name, split in own.splits.items()}
    others = set().union(*(o for n, o in owners.items() if n != "test"))
    assert owners["test"] == others if not own.class_disjoint else not owners["test"] & others


def test_travels_to_worker_processes(own):
    there = pickle.loads(pickle.dumps(own))
    assert there.keys == own.keys and np.array_equal(
        np.asarray(there.load(0)), np.asarray(own.load(0))
    )
