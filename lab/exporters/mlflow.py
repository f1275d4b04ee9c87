"""Curves and settings as a run of MLflow; also while a training runs: `lab train --export mlflow`."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

from lab.core.knobs import knob
from lab.exporters._curves import Curves, Log
from lab.runs.config import flat
from lab.runs.folder import Run

MOST_PARAMS, LONGEST = 100, 500
"""Parameters that MLflow takes at once, and characters of one, at least."""


class Mlflow(Curves):
    """A new run of MLflow, named like the run, in the tracking store that MLFLOW_TRACKING_URI names, or in the one of
    `--output` (an address, a database as runs.db, or a folder that gets one). Names of metrics have `_at_` for `@`,
    which MLflow does not take: `test/r_at_1`.

    The tests read it back with MLflow, and hand the numbers to a stand-in that fails.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("mlflow").export(run, "sqlite:///runs.db")  # doctest: +SKIP
    """

    extra = "mlflow"

    experiment: str = knob("Experiment of MLflow that the run is put into.", default="rankscope")

    def open(self, run: Run, place: str | None = None) -> Log:
        return _Tracked(run, None if place is None else _store(place), self.knobs.experiment)


class _Tracked(Log):
    def __init__(self, run: Run, place: str | None, experiment: str):
        import mlflow

        self._client = mlflow.MlflowClient(tracking_uri=place)
        self.place = place or mlflow.get_tracking_uri()
        known = self._client.get_experiment_by_name(experiment)
        number = known.experiment_id if known else self._client.create_experiment(experiment)
        self._id = self._client.create_run(number, run_name=run.name, tags={"rankscope.run": run.name}).info.run_id
        params = [mlflow.entities.Param(key, str(value)[:LONGEST]) for key, value in flat(run.config_dict).items()]
        for start in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self._id, params=params[start : start + MOST_PARAMS])

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        from mlflow.entities import Metric

        moment = round((at or time.time()) * 1000)
        names = {name: re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_")) for name in values}
        metrics = [Metric(names[name], value, moment, step) for name, value in values.items()]
        self._client.log_batch(self._id, metrics=metrics)

    def close(self) -> None:
        self._client.set_terminated(self._id)


def _store(place: str) -> str:
    """The address of a tracking store. A plain path is a database, or the folder of one: MLflow's own files in a folder
    are refused by MLflow itself since 3.15."""
    if "://" in place:
        return place
    path = Path(place) if place.endswith(".db") else Path(place) / "mlflow.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path.resolve()}"
