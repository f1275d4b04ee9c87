from lab.core.knobs import knob
from lab.training.schedules._base import Schedule, SchedulePosition


class Step(Schedule):
    """The learning rate is multiplied by `gamma` at each milestone."""

    milestones: tuple[float, ...] = knob(
        "Fractions of the steps after the warm-up at which the learning rate drops.",
        default=(0.6, 0.85),
        gt=0,
        lt=1,
    )
    gamma: float = knob(
        "Factor by which the learning rate is multiplied at each milestone.",
        default=0.1,
        gt=0,
        le=1,
        scale="log",
    )

    def _after_warmup(self, at: SchedulePosition) -> float:
        return self.knobs.gamma ** sum(at.share >= milestone for milestone in self.knobs.milestones)
