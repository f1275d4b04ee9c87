"""What studies share: losses in each of their variants, and how scores differ at two places or along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lab.claims._study import Contrast, DataSetup, Point

RELEASED = frozenset(
    {
        "blackbox_ap", "calibration", "contextual", "fast_ap", "recall_at_k", "roadmap", "smooth_ap", "softbin_ap",
        "sup_ap",
    }
)  # fmt: skip
"""Losses whose published numbers come from code that computes something else than the paper says."""


def arms(
    losses: Mapping[str, Mapping[str, Any]],
    setting: Mapping[str, Any] | None = None,
    task: DataSetup | None = None,
    **sections: Any,
) -> list[Point]:
    """A point for each loss and each of its variants, which are options of one setting.

    Args:
        losses: what a table calls a loss, to the loss and its knobs.
        setting: the rest of the setting.
        sections: of the configuration, besides the loss.
    """
    return [
        point
        for name, loss in losses.items()
        for point in variants({"loss": name, **(setting or {})}, loss, task, **sections)
    ]


def variants(
    setting: Mapping[str, Any], loss: Mapping[str, Any], task: DataSetup | None = None, **sections: Any
) -> list[Point]:
    """A point for each variant of a loss. The printed formula is the default of every loss."""
    options = {"paper": {}, "released": {"variant": "released"}} if loss["name"] in RELEASED else {"": {}}
    return [
        Point(dict(setting), {"loss": {**loss, **knobs}, **sections}, task or DataSetup(), option)
        for option, knobs in options.items()
    ]


def less(
    words: str, one: Mapping[str, Any], other: Mapping[str, Any], column: str | None = None, **expected: Any
) -> Contrast:
    """The score of one setting less that of another; `expected` are fields of `Contrast`."""
    return Contrast(words, lambda s: s(column, **one) - s(column, **other), **expected)


def ahead(one: str, *others: str, column: str = "MAP@R") -> tuple[Contrast, ...]:
    """Contrasts: one loss above each of the others."""
    return tuple(less(f"{one} - {other}, {column}", {"loss": one}, {"loss": other}, column) for other in others)


def along(axis: str, one: float, other: float, **expected: Any) -> Contrast:
    """The score at one place of a study's only axis less that at another."""
    return less(f"{axis} = {one:g} less {axis} = {other:g}", {axis: one}, {axis: other}, **expected)


def doubling(values: Sequence[float], sizes: Sequence[float]) -> float:
    """Least-squares slope of values [n] over log2 of sizes [n]: change for each doubling."""
    return float(np.polyfit(np.log2(np.asarray(sizes, dtype=float)), np.asarray(values, dtype=float), 1)[0])


def slope(s: Callable[..., float], name: str, axis: str, sizes: Sequence[float], column: str | None = None) -> float:
    """`doubling` of a loss's scores along an axis of a study."""
    return doubling([s(column, loss=name, **{axis: size}) for size in sizes], sizes)
