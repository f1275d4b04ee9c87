"""Random numbers whose state a checkpoint stores, and the virtual examples that SiMix (000, eq. 8-10) mixes by them.

Draw number t depends on (seed, t) alone. SiMix adds one virtual example for each pair of positives, v = alpha x +
(1 - alpha) z with alpha ~ U(0, 1). It is not normalised again and has the label of its parents.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.kernels import positive_pairs
from lab.losses._batch import Batch


class Draws(nn.Module):
    """Numbered random draws. The number of the next draw is a buffer, so a resumed run repeats the same draws.

    The numbers are drawn on the CPU in float64, so device and precision do not change them.
    """

    count: Tensor

    def __init__(self, seed: int):
        super().__init__()
        self.seed = seed
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def uniform(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return the current draw's numbers, uniform in [0, 1)."""
        return torch.rand(shape, generator=self._generator(), dtype=torch.float64).to(like)

    def normal(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return the current draw's standard normal numbers."""
        return torch.randn(shape, generator=self._generator(), dtype=torch.float64).to(like)

    def advance(self) -> None:
        """Move on to the next draw."""
        self.count += 1

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed << 32) + int(self.count))


def positive_couples(labels: Tensor) -> Tensor:
    """Return every unordered pair of examples of one class, int64 [v 2], first row before second, in row order."""
    pairs = positive_pairs(labels, labels, exclude_self=True)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def mixing_weights(owner: str, alpha: Tensor, couples: Tensor, like: Tensor) -> Tensor:
    """Validate the mixing weights that a caller passed, one per couple, [v]."""
    if alpha.shape != (len(couples),):
        raise ValueError(
            f"{owner}: alpha must hold one weight a pair of positives, [{len(couples)}], got {list(alpha.shape)}."
        )
    if len(alpha) and not ((alpha >= 0) & (alpha <= 1)).all():
        raise ValueError(
            f"{owner}: alpha must satisfy 0 <= alpha <= 1, got {alpha.min():g} to {alpha.max():g}."
        )
    return alpha.to(like)


def mixed(batch: Batch, couples: Tensor, alpha: Tensor) -> Batch:
    """Return the batch followed by its virtual examples, [n+v d], ranked among itself."""
    x, z = couples.unbind(1)
    virtual = alpha[:, None] * batch.queries[x] + (1 - alpha)[:, None] * batch.queries[z]
    rows = torch.cat([batch.queries, virtual])
    labels = torch.cat([batch.query_labels, batch.query_labels[x]])
    return Batch(rows, labels, rows, labels, self_ranked=True)
