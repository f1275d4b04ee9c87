"""What every schedule shares: warm-up, and being a pure function of the step, so that resuming needs no state."""

from __future__ import annotations

from typing import Any

import lab.core.knobs
from lab.core.knobs import knob


class Schedule:
    """Multiplies every learning rate by `factor(step, steps)`."""

    class Knobs(lab.core.knobs.Knobs):
        warmup: int = knob(0, "steps over which the learning rate rises linearly from 0", ge=0, unit="steps")

    def __init__(self, **knobs):
        self.knobs: Any = type(self).Knobs(**knobs)

    def factor(self, step: int, steps: int) -> float:
        """The learning rate's factor in [0, 1] at `step` (1 is the first) of `steps`."""
        warm = min(1.0, step / self.knobs.warmup) if self.knobs.warmup else 1.0
        after = max(1, steps - self.knobs.warmup)
        return warm * self._after_warmup(max(0, step - 1 - self.knobs.warmup) / after)

    def _after_warmup(self, done: float) -> float:
        """The factor when the share `done` in [0, 1) of the steps after the warm-up is behind."""
        return 1.0
