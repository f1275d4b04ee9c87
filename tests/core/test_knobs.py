"""Declared hyper-parameters: one declaration makes the check, the message and the description."""

from typing import Literal

import pytest

from lab.core.knobs import REQUIRED, Knobs, describe, knob


class Toy:
    class Knobs(Knobs):
        tau: float = knob(0.01, "temperature", gt=0, le=1, scale="log", unit="cosine", source="000 eq. 5")
        k: tuple[int, ...] = knob((1, 2), "cut-offs", ge=1)
        variant: Literal["paper", "released"] = knob("paper", "which formula")
        size: int | None = knob(None, "side", ge=8, unit="px")
        classes: int = knob(REQUIRED, "number of classes", ge=1)


def test_defaults_and_description():
    knobs = Toy.Knobs(classes=3)
    assert (knobs.tau, knobs.k, knobs.variant, knobs.size) == (0.01, (1, 2), "paper", None)
    tau, k, variant, size, classes = describe(Toy.Knobs)
    assert (tau.gt, tau.le, tau.scale, tau.unit, tau.source) == (0, 1, "log", "cosine", "000 eq. 5")
    assert k.many and k.kind is int and variant.choices == ("paper", "released")
    assert size.optional and size.kind is int and classes.required and not tau.required


def test_knobs_cannot_change():
    with pytest.raises(ValueError):
        Toy.Knobs(classes=3).tau = 1


@pytest.mark.parametrize(
    "values, words",
    [
        ({"tau": 0, "classes": 1}, ["Toy", "tau", "0 < tau <= 1", "got 0"]),
        ({"tau": float("nan"), "classes": 1}, ["tau", "nan"]),
        ({"tau": "hot", "classes": 1}, ["tau", "'hot'"]),
        ({"k": (1, 0), "classes": 1}, ["k", "each 1 <= k", "(1, 0)"]),
        ({"variant": "mine", "classes": 1}, ["one of paper, released", "'mine'"]),
        ({"taux": 1, "classes": 1}, ["no knob 'taux'", "did you mean 'tau'", "variant"]),
        ({"size": 4, "classes": 1}, ["size", "8 <= size"]),
        ({}, ["needs classes", "number of classes"]),
    ],
)
def test_a_mistake_gets_one_clear_sentence(values, words):
    with pytest.raises(ValueError) as caught:
        Toy.Knobs(**values)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)
