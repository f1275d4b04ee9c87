"""Record a training with Hugging Face's accelerate: `Accelerator(log_with=Tracker(run))`. Needs accelerate."""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from lab.integrations.recording.recorder import Recorder, named_in


class Tracker(GeneralTracker):
    """Passes the values of `accelerator.log(values, step)` to a recorder; `loss` and `lr` become curves of steps.

    Args:
        run: from `lab.runs.record`, within its `with`.
    """

    name = "rankscope"
    requires_logging_directory = False

    def __init__(self, run: Recorder):
        super().__init__()
        self.run = run

    @property
    def tracker(self) -> Recorder:
        return self.run

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Take method (or loss) and seed from the arguments of `init_trackers`, unless `record` was given them."""
        self.run.describe(*named_in(values))

    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
        self.run.log(self.run.step if step is None else step, **numbers)
