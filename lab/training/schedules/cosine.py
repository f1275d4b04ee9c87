import math

from lab.core.knobs import knob
from lab.training.schedules._base import Place, Schedule


class Cosine(Schedule):
    """The learning rate falls along half a cosine to `floor` times its value."""

    class Knobs(Schedule.Knobs):
        floor: float = knob(0.0, "Share of the learning rate that is left at the last step.", ge=0, le=1)

    def _after_warmup(self, at: Place) -> float:
        return self.knobs.floor + (1 - self.knobs.floor) * (1 + math.cos(math.pi * at.share)) / 2
