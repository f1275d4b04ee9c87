"""Metrics and losses of a single ranked list as functions of its scores, for figures whose lists are dragged.

The losses of `lab.losses` compute the same from embeddings; a test compares both.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.figures import twelve
from lab.figures._base import temperature
from lab.surrogates import Surrogate

SCORES = knob(
    "Similarity of each item to the query.",
    default=tuple(twelve.scores().tolist()),
    ge=-1,
    le=1,
    unit="cosine",
)
PATTERN = knob("One + (same label) or - (other label) per score.", default=twelve.pattern())
TAU1 = knob(
    "Temperature on ranks.",
    default=1.0,
    ge=0.1,
    le=10,
    scale="log",
    unit="ranks",
    source="RS@k, eq. 5",
)
TAU2 = temperature("Temperature on similarity gaps.", "RS@k, eq. 5")
"""Knobs of figures of lists."""


def read(scores: tuple[float, ...], pattern: str) -> tuple[Tensor, Tensor]:
    """Return scores float64 [g] and relevance bool [g], given the two knobs of a list.

    Raises:
        ValueError: lengths differ, a character is neither + nor -, or there is no + at all.
    """
    if set(pattern) - {"+", "-"} or len(pattern) != len(scores):
        raise ValueError(
            f"pattern must hold one + (same label) or - (other label) per score, {len(scores)} in all, got {pattern!r}."
        )
    if "+" not in pattern:
        raise ValueError(
            f"pattern needs at least one +, the query has nothing to find otherwise; got {pattern!r}."
        )
    return torch.tensor(scores, dtype=torch.float64), torch.tensor([c == "+" for c in pattern])


def ranks(scores: Tensor, step: Surrogate) -> Tensor:
    """Return the ranks [g], 1 + sum over other items of step(s_z - s_x) (000, eq. 2); exact for the Heaviside step."""
    counted = step(scores[None, :] - scores[:, None])
    return 1 + counted.sum(dim=1) - counted.diagonal()


def recall_at_k(
    scores: Tensor,
    relevant: Tensor,
    k: int,
    counting: Surrogate,
    ranking: Surrogate,
    by_k: bool,
    clip: bool,
) -> Tensor:
    """Return recall@k of one list with a surrogate for each of its two steps (000, eq. 3 and 5).

    counting replaces H(k - rank), ranking replaces H(s_z - s_x); by_k divides by min(k, |P|) instead of |P|; clip cuts
    the numerator at k, as training does.
    """
    within = counting(k - ranks(scores, ranking)[relevant]).sum()
    if clip:
        within = within.clamp(max=k)
    divisor = int(relevant.sum())
    if by_k:
        divisor = min(k, divisor)
    return within / divisor


def smooth_precision(scores: Tensor, relevant: Tensor, plus: Surrogate, minus: Surrogate) -> Tensor:
    """Return the AP of one list with a surrogate among positives and another among negatives (001, eq. 3-5)."""
    gaps = scores[None, :] - scores[relevant][:, None]
    itself = torch.eye(len(scores), dtype=torch.bool)[relevant]
    ahead = torch.where(itself, 0.0, plus(gaps))[:, relevant].sum(dim=1)
    behind = minus(gaps)[:, ~relevant].sum(dim=1)
    return ((1 + ahead) / (1 + ahead + behind)).mean()


def gradient(function: Callable[[Tensor], Tensor], scores: Tensor) -> np.ndarray:
    """Return d function(scores) / d scores, [g]."""
    leaf = scores.clone().requires_grad_()
    (grad,) = torch.autograd.grad(function(leaf), leaf)
    return grad.numpy()
