from lab.core.knobs import knob
from lab.training.schedules._base import Schedule, SchedulePosition


class Exponential(Schedule):
    """The learning rate is multiplied by `gamma` every `every` steps."""

    gamma: float = knob(
        "Factor by which the learning rate is multiplied.",
        default=0.99005,
        gt=0,
        le=1,
        scale="log",
        source="Radenovic et al. 2018",
    )
    every: int = knob(
        "Steps between two multiplications, for instance an epoch.",
        default=100,
        ge=1,
        le=100_000_000,
        scale="log",
        unit="steps",
    )
    at_once: bool = knob(
        "Also multiply before the first step, as the code of Radenovic et al. does.", default=False
    )

    def _after_warmup(self, at: SchedulePosition) -> float:
        return self.knobs.gamma ** (at.steps // self.knobs.every + self.knobs.at_once)
