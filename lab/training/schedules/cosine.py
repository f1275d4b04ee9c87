import math

from lab.core.knobs import knob
from lab.training.schedules._base import Schedule, SchedulePosition


class Cosine(Schedule):
    """The learning rate falls along half a cosine to `floor` times its value."""

    floor: float = knob(
        "Share of the learning rate that is left at the last step.", default=0.0, ge=0, le=1
    )

    def _after_warmup(self, at: SchedulePosition) -> float:
        return self.knobs.floor + (1 - self.knobs.floor) * (1 + math.cos(math.pi * at.share)) / 2
