"""What the figures of runs read from finished runs. The figures stand below `lab.runs` and never import it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lab.core.knobs import knob
from lab.core.results import EmbeddingSet

if TYPE_CHECKING:
    from lab.data import ImageSet

SPLIT = knob("Split of the data set.", default="test")


class Run(Protocol):
    """The members of `lab.runs.Run` that are used here; figures of their own call `metrics` and `per_query`, too."""

    @property
    def name(self) -> str: ...
    @property
    def config_dict(self) -> dict[str, Any]: ...
    def scores(self, split: str = "test") -> dict[str, Any] | None: ...
    def embeddings(self, split: str = "test") -> EmbeddingSet | None: ...
    def dataset(self) -> ImageSet: ...


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted names: {"loss": {"name": "sup_ap"}} gives {"loss.name": "sup_ap"}."""
    values: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            values |= flat(value, f"{name}.")
        else:
            values[name] = value
    return values


def offers(kind: Any, runs: Sequence) -> dict[str, Sequence[str]]:
    """What can be chosen for the knobs of a figure of runs: studies that come along, scores, splits and settings."""
    varied: dict[str, set[str]] = {}
    for run in runs:
        for name, value in flat(run.config_dict).items():
            varied.setdefault(name, set()).add(str(value))
    settings = [name for name, values in varied.items() if len(values) > 1]
    choices = {
        "study": kind.stops.get("study", ()),
        "metric": list(dict.fromkeys(name for run in runs for name in (run.scores() or {}).get("values", ()))),
        "split": ("test", "validation", "train"),
        **dict.fromkeys(("x", "y", "axis", "group"), settings),
    }
    return {name: values for name, values in choices.items() if name in kind.Knobs.model_fields}


def needs(runs: Sequence, owner: str, least: int = 1) -> None:
    """Check that there are enough runs to show.

    Raises:
        ValueError: fewer than `least`.
    """
    if len(runs) < least:
        raise ValueError(
            f"{owner} shows finished runs: give figure(runs) at least {least}, as lab.runs.list() returns them, got "
            f"{len(runs)}."
        )


def known(runs: Sequence, owner: str, *settings: str) -> None:
    """Check that some run has each setting.

    Raises:
        ValueError: none has one of them; lists the settings there are.
    """
    there = {name for run in runs for name in flat(run.config_dict)}
    if missing := [name for name in settings if name not in there]:
        raise ValueError(f"{owner}: no run has {' or '.join(missing)}. Settings: {', '.join(sorted(there))}.")


def score(run: Run, metric: str, split: str = "test") -> float:
    """One score of a run; NaN where it was not measured."""
    value = ((run.scores(split) or {}).get("values") or {}).get(metric)
    return float("nan") if value is None else float(value)


def test_embeddings(run: Run, split: str = "test") -> EmbeddingSet:
    """The query embeddings of a run.

    Raises:
        ValueError: the run has none stored.
    """
    embeddings = run.embeddings(split)
    if embeddings is None:
        raise ValueError(f"Run {run.name!r} has no {split} embeddings; evaluate it first.")
    return embeddings


def setting(run: Run, knob: str) -> Any:
    """The value of a dotted configuration name, for instance loss.tau1; None where the run has none."""
    return flat(run.config_dict).get(knob)
