"""Make the trainings of the studies, each once: a generator of records that can be stopped and resumed at any time.

Every training adds one line to its study's file in one write, so a kill loses at most the training in flight.
"""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lab.data
from lab import trials
from lab.claims import _study
from lab.claims._data import features
from lab.claims._study import BASE, SEEDS, Study, Training
from lab.core.records import Record
from lab.core.streams import result_of
from lab.trials import Results, Trial

if TYPE_CHECKING:
    from lab.launchers import Launcher


@dataclass(frozen=True)
class Ran:
    """One training has been made; `done` of `total` are there, and the rest will take about `eta` seconds."""

    study: str
    trial: Trial
    done: int
    total: int
    eta: float


def file_of(name: str, folder: Path | str) -> Path:
    """Where the results of a study are kept."""
    return Path(folder) / f"{name}.jsonl"


def current(study: Study, results: Results, seeds: int = SEEDS) -> list[Trial]:
    """The trials that the study, as it is declared now, asks for; others are left out."""
    keys = {training.key for training in study.trainings(seeds)}
    return [trial for trial in results.trials if trial.key in keys]


def select(only: Sequence[str] = ()) -> list[str]:
    """Names of studies, in the order of the sweep; all unless some are named.

    Raises:
        ValueError: no such study.
    """
    for name in only:
        _study.get(name)
    return [name for name in _study.names() if not only or name in only]


def state(names: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """How far each study is: trainings made of those asked for, those that diverged, seconds of processor time."""
    rows = []
    for name in names:
        study = _study.get(name)
        made = current(study, trials.read(file_of(name, folder)), seeds)
        counts = {"done": len({t.key for t in made}), "of": len(study.trainings(seeds))}
        spent = round(sum(t.cpu for t in made), 1)
        rows.append({"study": name, **counts, "diverged": sum(bool(t.failed) for t in made), "CPU seconds": spent})
    return rows


def sweep(
    names: Sequence[str],
    folder: Path | str,
    seeds: int = SEEDS,
    launcher: Launcher | None = None,
    device: str = "cpu",
) -> Iterator[Ran | Record]:
    """Make what is missing, study by study.

    Args:
        folder: holds one file a study.
        launcher: where trainings are made, in any order; by default here, one by one.
        device: what trains: cpu, cuda, cuda:1, or auto, a GPU where there is one.

    Raises:
        ValueError: fewer than one seed, no such device, another sweep at work in the folder, or a damaged file there.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    from lab.kernels.devices import device_of

    if seeds < 1:
        raise ValueError(f"A sweep needs at least one seed, got {seeds}.")
    device = device if launcher else str(device_of(device))  # elsewhere it is found there
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            pieces, total = _missing(names, folder, seeds, device)
            if launcher is None:  # said as it goes, where it can be
                for data in sorted({one.study.data for _, one, _ in pieces if one.study.tier == "head"}):
                    yield from features(lab.data.create(data))
            began, results = time.monotonic(), iter((launcher.map if launcher else map)(_made, pieces))
            for left in reversed(range(len(pieces))):
                name, trial, place = next(results)
                _append(file_of(name, folder), _study.get(name), trial, place)
                pace = (time.monotonic() - began) / (len(pieces) - left)
                yield Ran(name, trial, total - left, total, pace * left)
    except Timeout:
        raise ValueError(
            f"Another sweep is at work in {folder}; wait for it, stop it, or use another folder."
        ) from None


Piece = tuple[str, Training, str]
"""A study's name, one of its trainings, and the device that makes it."""


def _missing(names: Sequence[str], folder: Path, seeds: int, device: str) -> tuple[list[Piece], int]:
    """The trainings that are still to be made, and how many there are in all."""
    pieces: list[Piece] = []
    total = 0
    for name in names:
        path, trainings = file_of(name, folder), _study.get(name).trainings(seeds)
        if path.is_file():
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # a last line that a kill tore
        made = {trial.key for trial in trials.read(path).trials}
        pieces += [(name, training, device) for training in trainings if training.key not in made]
        total += len(trainings)
    return pieces, total


def _made(piece: Piece) -> tuple[str, Trial, dict[str, str]]:
    """One training, in this process or in one elsewhere, and what made it: `device`, cpu or cuda, and its name."""
    from lab.claims._train import run
    from lab.install.environment import device_name
    from lab.kernels.devices import device_of

    name, training, device = piece
    found = device_of(device)
    machine = f"{os.cpu_count()} {platform.machine()} cores"
    place = {"machine": machine, "device": found.type, "device_name": device_name(str(found))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # batches without a positive, where labels are wrong: nothing to act on
        rows = _rows(training.study.data) if training.study.tier == "head" else None
        return name, run(training, rows, device), place


@lru_cache(maxsize=1)
def _rows(data: str) -> Any:
    """The features of this process, kept: a process makes many trainings."""
    return result_of(features(lab.data.create(data)))


def _append(path: Path, study: Study, trial: Trial, made_by: dict[str, str]) -> None:
    """Add one line, and before it with what, where and at which budget it was made, unless the last sitting says so."""
    import torch

    from lab.install.environment import versions

    results, line = trials.read(path), trial.as_json() + "\n"
    session = {
        "versions": versions(),
        **made_by,
        "threads": torch.get_num_threads(),
        "data": study.data,
        "tier": study.tier,
        "base": BASE[study.tier],
        "learning_rates": list(study.lrs),
    }
    if not results.sessions or results.sessions[-1] != json.loads(json.dumps(session)):
        line = json.dumps({"session": session}, separators=(",", ":")) + "\n" + line
    with open(path, "ab", buffering=0) as file:  # in one write
        file.write(line.encode())
        os.fsync(file.fileno())
