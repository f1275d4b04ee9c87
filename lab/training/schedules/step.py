from lab.core.knobs import knob
from lab.training.schedules._base import Place, Schedule


class Step(Schedule):
    """The learning rate is multiplied by `gamma` at each milestone."""

    class Knobs(Schedule.Knobs):
        milestones: tuple[float, ...] = knob(
            (0.6, 0.85), "Fractions of the steps after the warm-up at which the learning rate drops.", gt=0, lt=1
        )
        gamma: float = knob(
            0.1, "Factor by which the learning rate is multiplied at each milestone.", gt=0, le=1, scale="log"
        )

    def _after_warmup(self, at: Place) -> float:
        return self.knobs.gamma ** sum(at.share >= m for m in self.knobs.milestones)
