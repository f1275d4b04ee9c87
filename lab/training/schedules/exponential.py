from lab.core.knobs import knob
from lab.training.schedules._base import Place, Schedule


class Exponential(Schedule):
    """The learning rate is multiplied by `gamma` again and again, every `every` steps."""

    class Knobs(Schedule.Knobs):
        # exp(-0.01) an epoch, the first included: the code of Radenovic et al. 2018, whose settings 000 takes over.
        gamma: float = knob(
            0.99005,
            "Factor by which the learning rate is multiplied.",
            gt=0,
            le=1,
            scale="log",
            source="Radenovic et al. 2018",
        )
        every: int = knob(
            100, "Steps between two multiplications, for instance an epoch.", ge=1, scale="log", unit="steps"
        )
        at_once: bool = knob(False, "Also multiply before the first step, as the code of Radenovic et al. does.")

    def _after_warmup(self, at: Place) -> float:
        return self.knobs.gamma ** (at.steps // self.knobs.every + self.knobs.at_once)
