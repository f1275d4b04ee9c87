"""Checking a function that a reader built: by value and by slope, and a known mistake is called by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lab.widgets._check import CLOSE, Verdict, check

Built = Callable[..., Any]


def built(
    mine: Built, right: Built, cases: Sequence[Sequence[Any]], wrong: Mapping[str, Built] | None = None,
    slope: bool = True,
) -> Verdict:  # fmt: skip
    """Compare a function with the one that it should be, on several cases.

    Args:
        mine: the reader's; one that returns `...` has not been written yet.
        right: gives what should come out.
        cases: the arguments of each call. The slope is taken by the first one, which is a tensor.
        wrong: sentence to a function that makes the mistake of which the sentence tells.
        slope: whether the slopes are compared, too; a metric that counts has none.
    """
    try:
        if mine(*cases[0]) is Ellipsis:
            return check(..., 0)
        ours = [_outcome(mine, case, slope) for case in cases]
    except Exception as error:  # whatever a reader may write
        return Verdict(False, f"Yours stops with {type(error).__name__}: {error}")
    true = [_outcome(right, case, slope) for case in cases]
    values, slopes = _alike(ours, true, 0), _alike(ours, true, 1)
    if values and slopes:
        return Verdict(True, f"Exact: {'value and slope agree' if slope else 'values agree'} in {len(cases)} cases.")
    for sentence, mistake in (wrong or {}).items():
        theirs = [_outcome(mistake, case, slope) for case in cases]
        if _alike(ours, theirs, 0) and _alike(ours, theirs, 1):
            return Verdict(False, sentence)
    if values:
        flat = all(not one.any() for _, one in ours)
        told = (
            "it is zero everywhere, so nothing can be learnt from it" if flat else "it is not the slope of this value"
        )
        return Verdict(False, f"The values are right, and the slope is wrong: {told}.")
    given = np.concatenate([value.ravel() for value, _ in ours])
    if given.size > 1 and len(np.unique(given)) == 1:
        return Verdict(False, "Yours gives the same whatever it is given: a constant.")
    found = (check(a, b) for (a, _), (b, _) in zip(ours, true, strict=True))
    return next(verdict for verdict in found if not verdict)


def _outcome(function: Built, case: Sequence[Any], slope: bool) -> tuple[np.ndarray, np.ndarray]:
    """Value, and its slope by the first argument: zeros where no gradient leads back to it."""
    first = case[0].detach().clone().requires_grad_(slope)
    value = torch.as_tensor(function(first, *case[1:]), dtype=torch.float64)
    by_first = torch.zeros_like(first)
    if slope and value.requires_grad:
        by_first = torch.autograd.grad(value.sum(), first, allow_unused=True)[0]
        by_first = torch.zeros_like(first) if by_first is None else by_first
    return value.detach().numpy(), by_first.detach().numpy()


def _alike(ours: list[tuple[np.ndarray, np.ndarray]], theirs: list[tuple[np.ndarray, np.ndarray]], part: int) -> bool:
    """Whether all values (part 0) or all slopes (1) agree as far as rounding allows."""
    pairs = [(a[part], b[part]) for a, b in zip(ours, theirs, strict=True)]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=CLOSE, atol=1e-9) for a, b in pairs)
