import math

from lab.core.knobs import knob
from lab.training.schedules._base import Schedule


class Cosine(Schedule):
    """The learning rate falls along half a cosine to `floor` times its value."""

    class Knobs(Schedule.Knobs):
        floor: float = knob(0.0, "factor that the last step approaches", ge=0, le=1)

    def _after_warmup(self, done: float) -> float:
        return self.knobs.floor + (1 - self.knobs.floor) * (1 + math.cos(math.pi * done)) / 2
