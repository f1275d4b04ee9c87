import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import lab

PIXELS = "6c7149b55f46a3d30bbf84142526d18f687f493655cd32ab34a99a75e24afc68"
"""SHA-256 of the uint8 array [6105 64 64 3] that the vendors' packages render to."""


@pytest.fixture(scope="module")
def emoji():
    return lab.data.create("emoji7")


def test_every_pixel_is_as_rendered(emoji):
    assert emoji.pixels.shape == (6105, 64, 64, 3) and emoji.pixels.dtype == np.uint8
    assert hashlib.sha256(emoji.pixels.tobytes()).hexdigest() == PIXELS


def test_classes_vendors_and_hierarchy(emoji):
    assert len(emoji) == len(set(emoji.keys)) == 6105
    assert len(emoji.class_names) == len(set(emoji.class_names)) == 1014
    counts = np.bincount(emoji.labels)
    assert counts.min() == 4 and counts.max() == 7
    assert len(emoji.super_names) == 6 and len(set(emoji.attributes["subgroup"])) == 66
    assert len(set(emoji.attributes["vendor"])) == 7
    first = emoji.labels == 0
    assert emoji.class_names[0] == "grinning face" and set(
        emoji.attributes["code_points"][first]
    ) == {"1f600"}
    assert [emoji.super_names[s] for s in emoji.super_labels[first]] == list(
        emoji.attributes["group"][first]
    )


def test_halves_are_class_disjoint_and_validation_comes_from_training(emoji):
    sizes = {
        name: len(np.unique(emoji.labels[split.items])) for name, split in emoji.splits.items()
    }
    assert sizes == {"train": 253, "validation": 254, "test": 507}
    most = lab.data.create("emoji7", validation=0)
    assert set(most.splits) == {"train", "test"}
    # the test half whose scores are published with the data
    assert len(most.splits["test"]) == 3040
    np.testing.assert_array_equal(most.splits["test"].items, emoji.splits["test"].items)


def test_attribution_names_every_vendor_with_its_licence(emoji):
    text = (Path(lab.__file__).parent / "data" / "emoji7_images" / "ATTRIBUTION.md").read_text()
    rows = dict(
        re.findall(r"^\| ([\w-]+) \| ([\d,]+) \|.*(?:Apache-2.0|CC-BY-4.0|MIT).*\|$", text, re.M)
    )
    vendors, counts = np.unique(emoji.attributes["vendor"], return_counts=True)
    assert {v: int(n.replace(",", "")) for v, n in rows.items()} == dict(
        zip(vendors, counts, strict=True)
    )
