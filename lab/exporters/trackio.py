"""Curves and settings as a run of trackio; also while a training runs: `lab train --export trackio`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout

from lab.core.knobs import knob
from lab.exporters._curves import Curves, Log
from lab.runs.config import flat
from lab.runs.folder import Run


class Trackio(Curves):
    """A new run of trackio, named like the run, in the folder that trackio keeps on this machine (TRACKIO_DIR);
    `trackio show` draws it. Nothing leaves the machine unless trackio itself was told so.

    The tests read it back with trackio where that is installed, and elsewhere hand the numbers to a stand-in.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("trackio").export(run)  # doctest: +SKIP
    """

    needs = ("trackio",)
    extra = "trackio"

    project: str = knob("Project of trackio that the run is put into.", default="rankscope")

    def open(self, run: Run, place: str | None = None) -> Log:
        if place is not None:
            raise ValueError("trackio keeps its runs in a folder of its own; leave out --output, and set TRACKIO_DIR.")
        return _Tracked(run, self.knobs.project)


class _Tracked(Log):
    def __init__(self, run: Run, project: str):
        import trackio

        self._trackio, self.place = trackio, str(trackio.utils.TRACKIO_DIR)
        quiet = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        with redirect_stdout(sys.stderr):  # it talks, and standard output is for what was asked
            trackio.init(project=project, name=run.name, config=flat(run.config_dict), **quiet)

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        self._trackio.log(dict(values), step=step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._trackio.finish()
