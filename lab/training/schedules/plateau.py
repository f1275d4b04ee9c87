from lab.core.knobs import knob
from lab.training.schedules._base import Schedule, SchedulePosition


class Plateau(Schedule):
    """The learning rate is multiplied by `gamma` after `patience` validations without improvement.

    It needs a validation split, and a single process, since only the first of several validates.
    """

    needs_scores = True

    gamma: float = knob(
        "Factor by which the learning rate is multiplied.", default=0.1, gt=0, lt=1, scale="log"
    )
    patience: int = knob(
        "Validations without improvement before the learning rate drops.",
        default=5,
        ge=1,
        le=100_000_000,
        unit="validations",
    )
    least: float = knob(
        "Minimum gain over the best score that counts as an improvement.", default=1e-4, ge=0, le=1
    )

    def _after_warmup(self, at: SchedulePosition) -> float:
        best = float("-inf")
        waited = 0
        drops = 0
        for score in at.scores:
            if score > best + self.knobs.least:
                best = score
                waited = 0
            else:
                waited += 1
            if waited > self.knobs.patience:
                waited = 0
                drops += 1
        return self.knobs.gamma**drops
