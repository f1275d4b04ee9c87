"""What studies share: the losses at one place of an axis, in each variant, and how a score changes along an axis."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lab.claims._study import Claim, Point, Study, Task
from lab.trials import key_of

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
    task: Task | None = None,
    **sections: Any,
) -> list[Point]:
    """A point for each loss and each of its variants, which are options of one setting.

    Args:
        losses: what a table calls a loss, to the loss and its knobs.
        setting: the rest of the setting.
        sections: of the configuration, besides the loss.
    """
    return [
        Point({"loss": name, **(setting or {})}, {"loss": {**loss, **variant}, **sections}, task or Task(), option)
        for name, loss in losses.items()
        for option, variant in options(loss["name"]).items()
    ]


def options(loss: str) -> dict[str, dict[str, str]]:
    """Option to knobs. The printed formula is the default of every loss, so nothing is said of it."""
    return {"paper": {}, "released": {"variant": "released"}} if loss in RELEASED else {"": {}}


def doubling(values: Sequence[float], sizes: Sequence[float]) -> float:
    """Least-squares slope of values [n] over log2 of sizes [n]: change for each doubling."""
    return float(np.polyfit(np.log2(np.asarray(sizes, dtype=float)), np.asarray(values, dtype=float), 1)[0])


def slope(s: Callable[..., float], name: str, sizes: Sequence[float], score: Callable[..., float]) -> float:
    """`doubling` of one line of a study; `score(s, name, size)` reads it."""
    return doubling([score(s, name, size) for size in sizes], sizes)


def tried(study: Study, claim: Claim) -> str:
    """With how many rates, and in which variants where a loss has some, a claim was tried: `2 rates, both variants`.

    Where a study weighs the parts of the contextual loss itself, its variants, which weigh them, say nothing.
    """
    rates = f"{len(study.lrs)} rate{'s' * (len(study.lrs) > 1)}"
    compared, variants = _compared(claim), dict[str, set[str]]()
    for point in study.points:
        loss = dict(point.config["loss"])
        weighed = loss["name"] == "contextual" and "lam" in loss
        if key_of(point.setting) in compared and loss["name"] in RELEASED and not weighed:
            variant = loss.pop("variant", "paper")
            same = json.dumps([{**point.config, "loss": loss}, vars(point.task)], sort_keys=True)
            variants.setdefault(same, set()).add(variant)
    words = {_VARIANTS[tuple(sorted(one))] for one in variants.values()}
    return ", ".join([rates, " or ".join(sorted(words))] if words else [rates])


_VARIANTS = {("paper",): "as printed", ("released",): "as released", ("paper", "released"): "both variants"}


def _compared(claim: Claim) -> set[tuple]:
    """Keys of the settings whose scores a claim compares."""
    keys = set()

    def score(_column: str | None = None, **setting: Any) -> float:
        keys.add(key_of(setting))
        return 1.0

    for contrast in claim.contrasts:
        contrast.of(score)
    return keys
