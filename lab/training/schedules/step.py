from lab.core.knobs import knob
from lab.training.schedules._base import Schedule


class Step(Schedule):
    """The learning rate is multiplied by `gamma` at each milestone."""

    class Knobs(Schedule.Knobs):
        milestones: tuple[float, ...] = knob(
            (0.6, 0.85), "shares of the steps after the warm-up at which the rate drops", gt=0, lt=1
        )
        gamma: float = knob(0.1, "factor at each milestone", gt=0, le=1, scale="log")

    def _after_warmup(self, done: float) -> float:
        return self.knobs.gamma ** sum(done >= m for m in self.knobs.milestones)
