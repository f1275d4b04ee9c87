"""Lengths move a list by inner product, never one by cosine, and one by distance only so far."""

import math

import pytest

import lab


def places(**knobs):
    return lab.figures.create("vector_lengths", **knobs).numbers()["place"]


def test_a_long_stranger_comes_first_by_inner_product_alone():
    threshold = 1.2 * math.cos(math.radians(30)) / math.cos(math.radians(40))
    assert places(length=threshold - 0.01) == {"cosine": 4, "inner product": 2, "distance": 4}
    assert places(length=threshold + 0.01) == {"cosine": 4, "inner product": 1, "distance": 4}
    assert places(length=2.5)["distance"] == 6


@pytest.mark.parametrize("length", [0.1, 1, 2.5])
def test_no_length_helps_by_cosine(length):
    assert places(length=length, angle=25)["cosine"] == 3
    assert places(length=length, angle=60)["cosine"] == 4
