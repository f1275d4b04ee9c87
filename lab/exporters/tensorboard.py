"""Export curves to TensorBoard; also while a training runs: `lab train --export tensorboard`."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.exporters._base import Exporter
from lab.exporters._curves import CurveExporter, CurveLog
from lab.runs.config import flat
from lab.runs.folder import Run


class Tensorboard(CurveExporter):
    """Write a folder with an event file: every curve over its steps with the original times, and the settings as text.

    `tensorboard --logdir` shows it. While a training runs, the folder is `tensorboard` in the run's folder, so that
    `tensorboard --logdir runs` shows every run.

    Example (`run` is that of `lab.exporters`):
        >>> from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        >>> path = lab.exporters.create("tensorboard").export(run, root / "run-tensorboard")
        >>> [one.step for one in EventAccumulator(str(path)).Reload().Scalars("training/loss")]
        [1, 2]
    """

    extra = "tensorboard"
    export = Exporter.export  # it calls `write`, so that a failure leaves no file behind

    def open(self, run: Run, place: str | None = None) -> CurveLog:
        folder = Path(place or run.path / "tensorboard")
        shutil.rmtree(folder, ignore_errors=True)  # a resumed training writes all of it again
        return _EventLog(run, folder)

    def write(self, run: Run, path: Path) -> None:
        log = self.open(run, str(path))
        self.copy_records(run, log)
        log.close()


class _EventLog(CurveLog):
    def __init__(self, run: Run, folder: Path):
        from torch.utils.tensorboard import SummaryWriter

        self.place = str(folder)
        self._writer: Any = SummaryWriter(self.place, flush_secs=10)
        rows = "\n".join(f"| {knob} | {value} |" for knob, value in flat(run.config_dict).items())
        self._writer.add_text("settings", f"| knob | value |\n|---|---|\n{rows}")

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step, walltime=at)

    def close(self) -> None:
        self._writer.close()
