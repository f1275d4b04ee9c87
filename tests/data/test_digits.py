import numpy as np
import pytest
from sklearn.datasets import load_digits

import lab


def made(folder):
    """For the contract of data sets."""
    return lab.data.create("digits")


def test_digits_are_those_of_scikit_learn_black_on_white():
    digits, stored = lab.data.create("digits"), load_digits()
    assert len(digits) == 1797 and np.array_equal(digits.labels, stored.target)
    ink = 255 - digits.pixels[:, ::4, ::4, 0].astype(float)
    np.testing.assert_allclose(ink, stored.images * 255 / 16, atol=0.5)
    np.testing.assert_array_equal(np.asarray(digits.load(1796)), digits.pixels[1796])
    assert digits.class_names[digits.labels[7]] == str(stored.target[7])


def test_every_class_has_more_than_a_hundred_images_to_search():
    digits = lab.data.create("digits")
    test, train = digits.splits["test"], digits.splits["train"]
    assert (
        np.array_equal(test.gallery, train.query)
        and np.bincount(digits.labels[test.gallery]).min() > 100
    )
    assert np.array_equal(digits.splits["validation"].gallery, train.query)
    share = np.bincount(digits.labels[test.query]) / np.bincount(digits.labels)
    assert share == pytest.approx(np.full(10, 0.2), abs=0.01)
    among = lab.data.create("digits", gallery="test", validation=0.0).splits
    assert among["test"].gallery is None and "validation" not in among
