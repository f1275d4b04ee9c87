"""What a run has recorded, as findings read it: a frozen value, made of a run's records and configuration alone."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.catalog import OUTSIDE

if TYPE_CHECKING:
    from lab.inference.paired import Difference

STORED = "stored embeddings"
"""The check-up of a run that recorded none: one look at the embeddings that it holds."""

LATE = 10
"""Steps at the end over which the loss is averaged; at least two of them."""


@dataclass(frozen=True)
class History:
    """Records of a run so far.

    state: of its status. steps, loss, gradient: float [s] of each step, NaN where not told. planned: steps
    there will be, 0 where nobody knows. checkups: by what they are about, in order of steps. scores: of validations,
    (step, value of the selecting score). splits, batches: of which embeddings are stored, and the steps of stored
    batches: where a finding can be looked at. failed: whether the batch that stopped it is kept.
    """

    run: str
    config: Mapping[str, Any] = field(default_factory=dict)
    state: str = "running"
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    loss: np.ndarray = field(default_factory=lambda: np.zeros(0))
    gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))
    planned: int = 0
    checkups: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    scores: Sequence[tuple[int, float]] = ()
    splits: Sequence[str] = ()
    batches: Sequence[int] = ()
    failed: bool = False

    @classmethod
    def of(
        cls,
        run: Any,
        steps: Sequence[int],
        columns: Mapping[str, Sequence[float | None]],
        validated: Sequence[Mapping[str, Any]],
        checkups: Sequence[Mapping[str, Any]],
    ) -> History:
        """Of a `lab.runs.Run` and its records: columns of its steps, and the records of the other two kinds."""
        status = run.status
        config = run.config_dict
        select = (config.get("training") or {}).get("select_by", "MAP@R")
        scores = []
        for record in validated:
            value = record["values"].get(select)
            if value is not None:
                scores.append((record["step"], float(value)))
        by_kind: dict[str, list[Mapping[str, Any]]] = {}
        for record in checkups:
            signs = {**record["values"], "step": record["step"]}
            by_kind.setdefault(record["about"], []).append(signs)
        return cls(
            run=run.name,
            config=config,
            state=status["state"],
            steps=np.array(steps, float),
            loss=_numbers(columns.get("loss", ())),
            gradient=_numbers(columns.get("gradient_norm", ())),
            planned=status.get("steps") or 0,
            checkups=by_kind,
            scores=scores,
            splits=run.splits,
            batches=sorted(run.batches()),
            failed=run.failure is not None,
        )

    @classmethod
    def of_run(cls, run: Any) -> History:
        """Of a `lab.runs.Run`, whose records are read anew."""
        records: dict[str, list[dict[str, Any]]] = {"stepped": [], "validated": [], "checkup": []}
        for record in run.metrics():
            records.setdefault(record["kind"], []).append(record)
        checkups = records["checkup"]
        if not checkups:
            stored = _of_stored_embeddings(run)
            if stored:
                checkups.append({"step": 0, "about": STORED, "values": stored})
        stepped = records["stepped"]
        steps = [record["step"] for record in stepped]
        columns = {
            name: [record.get(name) for record in stepped] for name in ("loss", "gradient_norm")
        }
        return cls.of(run, steps, columns, records["validated"], checkups)

    def knob(self, section: str, name: str) -> Any:
        """A knob as config.yaml has it, None where it does not tell."""
        return (self.config.get(section) or {}).get(name)

    @property
    def loss_name(self) -> str:
        """The entry of the loss, or nothing for one from elsewhere."""
        name = self.knob("loss", "name")
        return "" if name in (None, OUTSIDE) else str(name)

    @cached_property
    def loss_class(self) -> Any:
        """What the loss declares of itself; None for a loss from elsewhere."""
        if not self.loss_name:
            return None
        try:
            return importlib.import_module("lab.losses").get(self.loss_name)
        except ValueError:
            return None

    @property
    def ended(self) -> bool:
        """Whether nothing will be added."""
        return self.state in ("finished", "stopped", "failed", "interrupted")

    @property
    def nothing_found(self) -> str:
        """The sentence for a run without findings: what was looked at, and what could not be."""
        if self.checkups.get(STORED) and not len(self.steps):
            return "Nothing wrong was found in the stored embeddings; the run has no record of a training to judge."
        if not self.checkups and not len(self.steps):
            return "Nothing was judged: the run has neither embeddings nor a record of a training."
        return "Nothing wrong was found."

    def last(self, about: str, name: str) -> float | None:
        """The newest value of a sign, None where it was never taken."""
        found = self.values(about, name)
        return float(found[-1]) if len(found) else None

    def first(self, about: str, name: str) -> float | None:
        """The oldest value of a sign, None where it was never taken."""
        found = self.values(about, name)
        return float(found[0]) if len(found) else None

    def values(self, about: str, name: str) -> np.ndarray:
        """Every value of a sign, in order of steps."""
        found = [one.get(name) for one in self.checkups.get(about, ())]
        return np.array([one for one in found if isinstance(one, int | float)], float)

    def step(self, about: str) -> int:
        """The step of the newest check-up of a kind, 0 where there is none."""
        taken = self.checkups.get(about)
        return int(taken[-1]["step"]) if taken else 0

    @cached_property
    def late_loss(self) -> float:
        """Mean loss of the last fifth of the steps so far, at most of the last ten; NaN without any."""
        count = max(2, min(LATE, len(self.loss) // 5))
        late = self.loss[-count:]
        known = late[np.isfinite(late)]
        return float(known.mean()) if len(known) else float("nan")

    @cached_property
    def early_loss(self) -> float:
        """The loss of the first step."""
        return float(self.loss[0]) if len(self.loss) else float("nan")

    @cached_property
    def learnt(self) -> float | None:
        """Share of the way from all images at one point to every image at its class that the loss has come, in late
        steps; None for losses with weights of their own, whose ends are not known."""
        equal = self.first("batch", "loss_equal")
        perfect = self.first("batch", "loss_perfect")
        if equal is None or perfect is None or equal <= perfect or not np.isfinite(self.late_loss):
            return None
        return (equal - self.late_loss) / (equal - perfect)

    def gain(self, since: str) -> Difference | None:
        """How much better the newest validation ranks than `untrained`, `pixels`, the `best` or the `first` validation,
        on the same sampled images; None where one is missing, or where the first is the newest."""
        validations = self._with_precisions("validation")
        if not validations or (since == "first" and len(validations) < 2):
            return None
        if since == "best":
            before = max(validations, key=_mean_precision)
        elif since == "first":
            before = validations[0]
        else:
            others = self._with_precisions(since)
            if not others:
                return None
            before = others[0]
        after = validations[-1]
        if len(before["precisions"]) != len(after["precisions"]):
            return None
        return _difference(
            tuple(before["precisions"]), tuple(after["precisions"]), tuple(before["classes"])
        )

    def _with_precisions(self, about: str) -> list[Mapping[str, Any]]:
        """The check-ups of a kind that measured the average precision of images."""
        return [signs for signs in self.checkups.get(about, ()) if signs.get("precisions")]


def _mean_precision(signs: Mapping[str, Any]) -> float:
    return float(np.nanmean(_numbers(signs["precisions"])))


@lru_cache(maxsize=64)  # Watch asks again every two seconds
def _difference(before: tuple, after: tuple, classes: tuple) -> Difference | None:
    """The paired difference of two validations; None where no image has both precisions."""
    from lab.inference.paired import difference

    first = np.array(before, float)
    second = np.array(after, float)
    if not np.isfinite(second - first).any():
        return None
    return difference(first, second, np.array(classes))


def _of_stored_embeddings(run: Any) -> dict[str, Any]:
    """Return the geometry of the embeddings that a run holds, of the first split that has any; else nothing."""
    from lab.training.signs import of_validation

    for split in run.splits:
        try:
            embeddings = run.embeddings(split)
        except ValueError:  # damaged, or never written: other pages and `lab runs check` say so
            continue
        if len(embeddings) > 1:
            return of_validation(
                np.asarray(embeddings.vectors), embeddings.labels, embeddings.items
            )
    return {}


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, float)  # None becomes nan
