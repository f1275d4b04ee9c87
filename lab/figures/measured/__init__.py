"""What many short trainings found: one line of JSON a trial, and the one chosen on validation.

`scripts/studies` writes and reads such files; the figures of runs show the sweeps that come with the package, which
version 0.2 made. Imports no torch.
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
"""What came of `scripts/studies`, as `python -m scripts.studies report` writes it."""

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """One training and what came of it.

    setting: where it stands on the study's axes, for instance {"loss": "RS@k", "batch size": 32}.
    lr, seed: its learning rate and its seed, which decides classes, weights and batches.
    digest: of everything else that decides the result.
    validation, test: column to score; empty when the training diverged, as `failed` then says.
    by_class: column to what each class contributes to it, as `packed` gives it; sweeps have none.
    cpu: seconds of processor time, evaluation included.
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
        """What makes it the same trial: setting, learning rate, seed and digest."""
        return key_of(self.setting), self.lr, self.seed, self.digest

    def as_json(self) -> str:
        """One line; scores to five places."""
        values = {name: value for name, value in vars(self).items() if value not in ("", {})}
        for scores in ("validation", "test"):
            if scores in values:
                values[scores] = {k: round(v, 5) if math.isfinite(v) else None for k, v in values[scores].items()}
        return json.dumps(values | {"cpu": round(self.cpu, 2)}, separators=(",", ":"))


def packed(scores: np.ndarray) -> str:
    """Numbers from 0 to 3 [c] to four places, as text."""
    return base64.b64encode(zlib.compress(np.round(1e4 * scores).astype("<i2").tobytes(), 9)).decode()


def unpacked(text: str) -> np.ndarray:
    """What `packed` took, float64 [c]."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2") / 1e4


def key_of(setting: Setting) -> tuple:
    """A setting as a key: equal for equal settings, whatever the order of their axes."""
    return tuple(sorted(setting.items()))


@dataclass(frozen=True)
class Results:
    """What a study's file holds. sessions: versions, machine, device and budget of every sitting that added trials."""

    trials: tuple[Trial, ...] = ()
    sessions: tuple[dict[str, Any], ...] = ()

    @property
    def data(self) -> str:
        """The data set that was trained on; the first sittings name none and took Emoji-7."""
        return next((session["data"] for session in self.sessions if "data" in session), "emoji7")

    @property
    def choices(self) -> tuple[range, range]:
        """Between how many variants and how many learning rates a setting may choose: from the fewest to the most."""
        variants, rates = defaultdict[tuple, set](set), defaultdict[tuple, set](set)
        for trial in self.trials:
            place = key_of(trial.setting), trial.seed
            variants[*place, trial.lr].add(trial.digest)
            rates[place].add(trial.lr)
        counts = [{len(one) for one in found.values()} or {1} for found in (variants, rates)]
        return range(min(counts[0]), max(counts[0]) + 1), range(min(counts[1]), max(counts[1]) + 1)


def read(path: Path | str) -> Results:
    """Read a study's file; a torn last line, as a kill leaves it, is left out. No file is an empty result.

    Raises:
        ValueError: another line is no trial; names file and line.
    """
    path = Path(path)
    if not path.is_file():
        return Results()
    trials: list[Trial] = []
    sessions: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last newline is empty or torn
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            if "session" in values:
                sessions.append(values["session"])
                continue
            for scores in ("validation", "test"):
                values[scores] = {k: math.nan if v is None else v for k, v in values.get(scores, {}).items()}
            trials.append(Trial(**values))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number} is no trial ({error}); take that line out, or move the file away."
            ) from None
    return Results(tuple(trials), tuple(sessions))


def studies(folder: Path | str = BUNDLED) -> tuple[str, ...]:
    """Names of the studies that a folder has results of."""
    return tuple(sorted(path.stem for path in Path(folder).glob("*.jsonl")))


def bundled(study: str) -> Results:
    """The results that come with the package.

    Raises:
        ValueError: there are none of that name; lists those there are.
    """
    if study not in studies():
        raise ValueError(f"No results of a study {study!r} come with the package; there are: {', '.join(studies())}.")
    return read(BUNDLED / f"{study}.jsonl")


class Scores:
    """Test scores by setting and seed, of the training that did best on that seed's validation classes.

    A setting may have been trained with several learning rates, and in several variants, which differ in their digest.

    Args:
        column: what chooses, and what is read by default; higher is better.
    """

    def __init__(self, trials: Sequence[Trial], column: str):
        self.column = column
        tried = defaultdict[tuple, dict[tuple[float, str], Trial]](dict)
        for trial in trials:
            tried[key_of(trial.setting), trial.seed][trial.lr, trial.digest] = trial
        self.chosen: dict[tuple, dict[int, Trial]] = {}
        for (key, seed), made in tried.items():
            by_seed = self.chosen.setdefault(key, {})
            ran = [one for one in made.values() if math.isfinite(one.validation.get(column, math.nan))]
            if ran:
                by_seed[seed] = max(ran, key=lambda one: (one.validation[column], -one.lr, one.digest))

    def settings(self) -> list[dict[str, Any]]:
        """Every setting that was tried."""
        return [dict(key) for key in self.chosen]

    def by_seed(self, column: str | None = None, **setting: Any) -> dict[int, float]:
        """Seed to test score of one setting; seeds that are not complete are left out."""
        column = column or self.column
        trials = self.chosen.get(key_of(setting), {})
        return {
            seed: trial.test[column]
            for seed, trial in sorted(trials.items())
            if math.isfinite(trial.test.get(column, math.nan))
        }
