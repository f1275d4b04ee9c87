"""Random numbers that a checkpoint carries: draw number t is a function of (seed, t) alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
