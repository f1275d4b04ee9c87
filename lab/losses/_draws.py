"""Random numbers that a checkpoint carries, and what SiMix (000, eq. 8-10) mixes by them.

Draw number t is a function of (seed, t) alone. SiMix adds one virtual example a pair of positives, v = alpha x +
(1 - alpha) z with alpha ~ U(0, 1), not renormalised, labelled like its parents.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.kernels import positive_pairs
from lab.losses._batch import Batch


class Draws(nn.Module):
    """Numbered random draws. The number of the next one is a buffer, so a resumed run draws what it would have drawn.

    Drawn on the CPU in float64, so device and precision do not change them.
    """

    count: Tensor

    def __init__(self, seed: int):
        super().__init__()
        self.seed = seed
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def uniform(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """This draw's numbers in [0, 1)."""
        return torch.rand(shape, generator=self._generator(), dtype=torch.float64).to(like)

    def normal(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """This draw's standard normal numbers."""
        return torch.randn(shape, generator=self._generator(), dtype=torch.float64).to(like)

    def advance(self) -> None:
        """Go on to the next draw."""
        self.count += 1

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed << 32) + int(self.count))


def positive_couples(labels: Tensor) -> Tensor:
    """Every unordered pair of examples of one class, int64 [v 2], first row before second, in row order."""
    pairs = positive_pairs(labels, labels, exclude_self=True)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def mixing_weights(owner: str, alpha: Tensor, couples: Tensor, like: Tensor) -> Tensor:
    """Check weights that a caller gave, one a couple, [v]."""
    if alpha.shape != (len(couples),):
        raise ValueError(
            f"{owner}: alpha must hold one weight a pair of positives, [{len(couples)}], got {list(alpha.shape)}."
        )
    if len(alpha) and not ((alpha >= 0) & (alpha <= 1)).all():
        raise ValueError(f"{owner}: alpha must satisfy 0 <= alpha <= 1, got {alpha.min():g} to {alpha.max():g}.")
    return alpha.to(like)


def mixed(batch: Batch, couples: Tensor, alpha: Tensor) -> Batch:
    """The batch followed by its virtual examples, ranked among itself: [n+v d] and its labels."""
    x, z = couples.unbind(1)
    virtual = alpha[:, None] * batch.queries[x] + (1 - alpha)[:, None] * batch.queries[z]
    rows = torch.cat([batch.queries, virtual])
    labels = torch.cat([batch.query_labels, batch.query_labels[x]])
    return Batch(rows, labels, rows, labels, self_ranked=True)
