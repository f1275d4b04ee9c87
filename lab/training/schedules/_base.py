"""What every schedule shares: warm-up, and being a pure function of step and scores, so that it holds no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lab.core.knobs import HasKnobs, knob


@dataclass(frozen=True)
class Place:
    """Where a run stands after its warm-up.

    share: of the steps after the warm-up that are behind, in [0, 1). steps: how many that are.
    scores: of the validations so far, in their order; larger ones are better.
    """

    share: float
    steps: int
    scores: Sequence[float]


class Schedule(HasKnobs):
    """Multiplies every learning rate by `factor(step, steps, scores)`.

    needs_scores: whether it reads what validation found.
    """

    needs_scores: ClassVar[bool] = False

    warmup: int = knob(
        "Steps over which the learning rate rises linearly from 0.", default=0, ge=0, le=100_000_000, unit="steps"
    )

    def factor(self, step: int, steps: int, scores: Sequence[float] = ()) -> float:
        """The learning rate's factor in [0, 1] at `step` (1 is the first) of `steps`.

        Args:
            scores: of the validations so far; larger ones are better.
        """
        warm = min(1.0, step / self.knobs.warmup) if self.knobs.warmup else 1.0
        after, done = max(1, steps - self.knobs.warmup), max(0, step - 1 - self.knobs.warmup)
        return warm * self._after_warmup(Place(done / after, done, scores))

    def _after_warmup(self, at: Place) -> float:
        """The factor at a place behind the warm-up."""
        return 1.0
