"""Base class of all schedules: warm-up, and a pure function of step and scores, so that a schedule holds no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lab.core.knobs import HasKnobs, knob


@dataclass(frozen=True)
class SchedulePosition:
    """Progress of a run after its warm-up.

    share: of the steps after the warm-up that are done, in [0, 1). steps: how many that are.
    scores: of the validations so far, in their order; larger ones are better.
    """

    share: float
    steps: int
    scores: Sequence[float]


class Schedule(HasKnobs):
    """Multiplies every learning rate by `factor(step, steps, scores)`.

    needs_scores: whether it reads the validation scores.
    """

    needs_scores: ClassVar[bool] = False

    warmup: int = knob(
        "Steps over which the learning rate rises linearly from 0.",
        default=0,
        ge=0,
        le=100_000_000,
        unit="steps",
    )

    def factor(self, step: int, steps: int, scores: Sequence[float] = ()) -> float:
        """Return the factor of the learning rate, in [0, 1], at `step` (1 is the first) of `steps`.

        Args:
            scores: of the validations so far; larger ones are better.
        """
        warm = 1.0
        if self.knobs.warmup:
            warm = min(1.0, step / self.knobs.warmup)
        remaining = max(1, steps - self.knobs.warmup)
        done = max(0, step - 1 - self.knobs.warmup)
        return warm * self._after_warmup(SchedulePosition(done / remaining, done, scores))

    def _after_warmup(self, at: SchedulePosition) -> float:
        """Return the factor at a position after the warm-up."""
        return 1.0
