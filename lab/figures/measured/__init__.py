"""Results of many short trainings: one line of JSON per trial, and the choice of the best trial on validation.

`scripts/studies` writes and reads such files. The figures of runs show the sweeps that come with the package, which
version 0.2 made. This module does not import torch.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

BUNDLED = Path(__file__).parent / "results"
"""Folder of the sweeps that come with the package."""
EFFECTS = Path(__file__).parent / "effects.json"
"""Results of `scripts/studies`, written by `python -m scripts.studies report`."""

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """One training and its result.

    setting: its values on the study's axes, for instance {"loss": "RS@k", "batch size": 32}.
    lr, seed: its learning rate and its seed, which decides classes, weights and batches.
    digest: digest of everything else that decides the result.
    validation, test: scores by column; empty if the training diverged, which `failed` then explains.
    by_class: contribution of each class to a column, by column, in the form of `packed`; sweeps have none.
    cpu: seconds of processor time, including evaluation.
    """

    setting: dict[str, Any]
    lr: float
    seed: int
    digest: str
    validation: dict[str, float] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    cpu: float = 0.0
    failed: str = ""
    by_class: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple:
        """The identity of the trial: setting, learning rate, seed and digest."""
        return key_of(self.setting), self.lr, self.seed, self.digest

    def as_json(self) -> str:
        """Return the trial as one line of JSON, with scores to five places."""
        values = {name: value for name, value in vars(self).items() if value not in ("", {})}
        for split in ("validation", "test"):
            if split in values:
                rounded = {}
                for column, score in values[split].items():
                    rounded[column] = round(score, 5) if math.isfinite(score) else None
                values[split] = rounded
        values["cpu"] = round(self.cpu, 2)
        return json.dumps(values, separators=(",", ":"))


def packed(scores: np.ndarray) -> str:
    """Return numbers from 0 to 3 [c] as text, with four places."""
    integers = np.round(1e4 * scores).astype("<i2")
    return base64.b64encode(zlib.compress(integers.tobytes(), 9)).decode()


def unpacked(text: str) -> np.ndarray:
    """Return the numbers from the text of `packed`, float64 [c]."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2") / 1e4


def key_of(setting: Setting) -> tuple:
    """Return a setting as a key, which does not depend on the order of its axes."""
    return tuple(sorted(setting.items()))


@dataclass(frozen=True)
class Results:
    """The contents of a study's file.

    sessions: versions, machine, device and budget of every session that added trials.
    """

    trials: tuple[Trial, ...] = ()
    sessions: tuple[dict[str, Any], ...] = ()

    @property
    def data(self) -> str:
        """The data set of the trainings; the first sessions do not name it and used Emoji-7."""
        return next((session["data"] for session in self.sessions if "data" in session), "emoji7")

    @property
    def choices(self) -> tuple[range, range]:
        """The smallest and largest number of variants, and of learning rates, among which a setting is chosen."""
        variants = defaultdict[tuple, set](set)
        rates = defaultdict[tuple, set](set)
        for trial in self.trials:
            key = (key_of(trial.setting), trial.seed)
            variants[*key, trial.lr].add(trial.digest)
            rates[key].add(trial.lr)
        return _range_of_sizes(variants), _range_of_sizes(rates)


def _range_of_sizes(sets: Mapping[tuple, set]) -> range:
    """Return the range from the smallest to the largest size of the sets, both included."""
    sizes = {len(values) for values in sets.values()} or {1}
    return range(min(sizes), max(sizes) + 1)


def read(path: Path | str) -> Results:
    """Read a study's file. An incomplete last line is ignored; a missing file is an empty result.

    Raises:
        ValueError: another line is not a trial; the message names file and line.
    """
    path = Path(path)
    if not path.is_file():
        return Results()
    trials: list[Trial] = []
    sessions: list[dict[str, Any]] = []
    # text after the last newline is empty or incomplete
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            if "session" in values:
                sessions.append(values["session"])
                continue
            for split in ("validation", "test"):
                scores = values.get(split, {})
                values[split] = {
                    column: math.nan if score is None else score for column, score in scores.items()
                }
            trials.append(Trial(**values))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number} is no trial ({error}); take that line out, or move the file away."
            ) from None
    return Results(tuple(trials), tuple(sessions))


def studies(folder: Path | str = BUNDLED) -> tuple[str, ...]:
    """Return the names of the studies whose results are in a folder."""
    return tuple(sorted(path.stem for path in Path(folder).glob("*.jsonl")))


def bundled(study: str) -> Results:
    """Return the results of a study that come with the package.

    Raises:
        ValueError: there are no results of that name; the message lists the studies.
    """
    if study not in studies():
        raise ValueError(
            f"No results of a study {study!r} come with the package; there are: {', '.join(studies())}."
        )
    return read(BUNDLED / f"{study}.jsonl")


class Scores:
    """Test scores by setting and seed, of the training that did best on that seed's validation classes.

    A setting may have been trained with several learning rates, and in several variants, which differ in their digest.

    Args:
        column: column that chooses the training, and the default of `by_seed`; higher is better.
    """

    def __init__(self, trials: Sequence[Trial], column: str):
        self.column = column

        # All trials of each setting and seed; of repeated trials the last one counts.
        candidates = defaultdict[tuple, dict[tuple[float, str], Trial]](dict)
        for trial in trials:
            candidates[key_of(trial.setting), trial.seed][trial.lr, trial.digest] = trial

        self.chosen: dict[tuple, dict[int, Trial]] = {}
        for (key, seed), by_rate in candidates.items():
            by_seed = self.chosen.setdefault(key, {})
            measured = [
                trial
                for trial in by_rate.values()
                if math.isfinite(trial.validation.get(column, math.nan))
            ]
            if measured:
                by_seed[seed] = max(
                    measured, key=lambda trial: (trial.validation[column], -trial.lr, trial.digest)
                )

    def settings(self) -> list[dict[str, Any]]:
        """Return all settings of the study."""
        return [dict(key) for key in self.chosen]

    def by_seed(self, column: str | None = None, **setting: Any) -> dict[int, float]:
        """Return the test scores of one setting by seed, without seeds that have no score."""
        column = column or self.column
        trials = self.chosen.get(key_of(setting), {})
        scores = {}
        for seed, trial in sorted(trials.items()):
            score = trial.test.get(column, math.nan)
            if math.isfinite(score):
                scores[seed] = score
        return scores
