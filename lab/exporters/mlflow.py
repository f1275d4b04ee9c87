"""Export curves and settings to a run of MLflow; also while a training runs: `lab train --export mlflow`."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

from lab.core.knobs import knob
from lab.exporters._curves import CurveExporter, CurveLog
from lab.runs.config import flat
from lab.runs.folder import Run

MOST_PARAMS = 100
LONGEST = 500
"""Number of parameters that MLflow accepts at once, and of characters of a parameter."""


class Mlflow(CurveExporter):
    """Write a new run of MLflow with the name of the run.

    The tracking store is the one that MLFLOW_TRACKING_URI names, or that of `--output` (an address, a database such as
    runs.db, or a folder for a new database). Names of metrics have `_at_` for `@`, which MLflow does not accept:
    `test/r_at_1`.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("mlflow").export(run, "sqlite:///runs.db")  # doctest: +SKIP
    """

    extra = "mlflow"

    experiment: str = knob("Experiment of MLflow that the run is put into.", default="rankscope")

    def open(self, run: Run, place: str | None = None) -> CurveLog:
        return _MlflowLog(run, None if place is None else _store(place), self.knobs.experiment)


class _MlflowLog(CurveLog):
    def __init__(self, run: Run, place: str | None, experiment: str):
        import mlflow

        self._client = mlflow.MlflowClient(tracking_uri=place)
        self.place = place or mlflow.get_tracking_uri()
        existing = self._client.get_experiment_by_name(experiment)
        if existing:
            experiment_id = existing.experiment_id
        else:
            experiment_id = self._client.create_experiment(experiment)
        tags = {"rankscope.run": run.name}
        self._id = self._client.create_run(experiment_id, run_name=run.name, tags=tags).info.run_id

        params = [
            mlflow.entities.Param(key, str(value)[:LONGEST])
            for key, value in flat(run.config_dict).items()
        ]
        for start in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self._id, params=params[start : start + MOST_PARAMS])

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        from mlflow.entities import Metric

        milliseconds = round((at or time.time()) * 1000)
        metrics = []
        for name, value in values.items():
            legal_name = re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_"))
            metrics.append(Metric(legal_name, value, milliseconds, step))
        self._client.log_batch(self._id, metrics=metrics)

    def close(self) -> None:
        self._client.set_terminated(self._id)


def _store(place: str) -> str:
    """Return the address of a tracking store. A plain path is a database, or the folder of a database.

    A folder with MLflow's own files would not work: MLflow has refused these since 3.15.
    """
    if "://" in place:
        return place
    if place.endswith(".db"):
        path = Path(place)
    else:
        path = Path(place) / "mlflow.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path.resolve()}"
