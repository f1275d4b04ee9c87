"""Declared hyper-parameters: one declaration makes the check, the message and the description."""

import inspect
from typing import Any, Literal

import numpy as np
import pytest
import torch

from lab.core.knobs import HasKnobs, argument, describe, knob
from lab.core.knobs.sliders import span


class Sized(HasKnobs):
    size: int | None = knob("side", default=None, ge=8, unit="px")


class Toy(Sized):
    """A toy.

    Example:
        >>> 1
        1
    """

    tau: float = knob(
        "temperature", default=0.01, gt=0, le=1, scale="log", unit="cosine", source="000 eq. 5"
    )
    k: tuple[int, ...] = knob("cut-offs", default=(1, 2), ge=1)
    variant: Literal["paper", "released"] = knob("which formula", default="paper")
    classes: int = knob("number of classes", ge=1)


def test_defaults_and_description():
    knobs = Toy.Knobs(classes=3)
    assert (knobs.tau, knobs.k, knobs.variant, knobs.size) == (0.01, (1, 2), "paper", None)
    size, tau, k, variant, classes = describe(Toy.Knobs)
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
        ({"tau": "hot", "classes": 1}, ["tau", "'hot'", "a number and no text"]),
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


class Held(Toy):
    thing: Any = argument("what is held", kw_only=False)
    where: str = argument("where", default="here")
    _width: int | None = knob("how wide", default=None, alias="width")

    def __post_init__(self) -> None:
        self.width = self.knobs.width or 7


def test_a_thing_has_its_knobs_and_arguments():
    held = Held([1], classes=3, tau=0.5)
    assert (held.tau, held.thing, held.where, held.width, held.knobs.width) == (
        0.5,
        [1],
        "here",
        7,
        None,
    )
    with pytest.raises(
        AttributeError, match=r"Held.tau stays as it was made; make another, Held\(tau=1\)"
    ):
        held.tau = 1
    assert not hasattr(held, "__signature__")


def test_signature_and_help_are_the_declaration():
    signature = inspect.signature(Held)
    assert list(signature.parameters) == [
        "thing",
        "where",
        "size",
        "tau",
        "k",
        "variant",
        "classes",
        "width",
    ]
    assert (
        signature.parameters["tau"].default == 0.01
        and signature.parameters["tau"].annotation is float
    )
    assert signature.parameters["classes"].default is inspect.Parameter.empty
    text = inspect.getdoc(Toy)
    assert "tau: temperature (0 < tau <= 1; in cosine; 0.01 by default; 000 eq. 5)" in text
    assert text.index("A toy.") < text.index("Args:") < text.index("Example:")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Toy(0.5),
            "Toy takes its knobs by name, Toy(size=..., tau=..., k=..., variant=..., classes=...), got",
        ),
        (lambda: Held(classes=3), "Held needs thing: what is held"),
        (
            lambda: type("Bare", (HasKnobs,), {"tau": knob("h", default=1)}),
            "Bare: the knob tau needs a type",
        ),
    ],
)
def test_a_wrong_call_or_an_old_declaration_gets_one_sentence(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("allocate", [torch.zeros, np.zeros])
def test_what_cannot_be_allocated_is_said_in_one_sentence(allocate):
    class Memory(HasKnobs):
        size: int = knob("numbers", ge=1)
        seed: int = knob("seed", default=0)

        def __post_init__(self) -> None:
            self.numbers = allocate(self.size)

    with pytest.raises(ValueError) as caught:
        Memory(size=10**15)
    assert str(caught.value) == (
        "Memory needs more memory than this machine can give (size 1,000,000,000,000,000); lower these numbers."
    )


def test_other_errors_of_an_entry_stay_as_they_are():
    class Broken(HasKnobs):
        def __post_init__(self) -> None:
            raise RuntimeError("a mistake of the entry")

    with pytest.raises(RuntimeError, match="a mistake of the entry"):
        Broken()


def test_a_slider_ends_before_a_bound_that_only_guards_memory():
    class Bounded(HasKnobs):
        side: int = knob("side", default=32, ge=8, le=1_000_000)
        width: int = knob("width", default=32, ge=4, le=20_000, scale="log")
        few: int = knob("few", default=3, ge=1, le=2_000)

    side, width, few = describe(Bounded.Knobs)
    assert (span(side), span(width), span(few)) == ((8, 160), (4, 20_000), (1, 2_000))
    assert span(side, 5_000) == (8, 25_000) and side.range == "8 <= side <= 1,000,000"
