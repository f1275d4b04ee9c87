"""Make the trainings of the studies, each once: a generator of records that can be stopped and resumed at any time.

First the pilots, which choose each arm's learning rate and tell the power of each study; then, of studies with power,
what is judged. Every training adds one line to its arm's file in one write, so a kill loses at most the one in flight.
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
from lab.claims import _study
from lab.claims._data import features
from lab.claims._study import BASE, PILOTS, SEEDS, Arm, Study, Training
from lab.claims._verdicts import POWER, chosen_by, judge, rates
from lab.core.records import Record
from lab.core.streams import result_of
from lab.figures import measured as trials
from lab.figures.measured import Trial

if TYPE_CHECKING:
    from lab.launchers import Launcher

BUNDLED = Path(__file__).parent / "results"
"""Folder of the trainings that come with the package."""


@dataclass(frozen=True)
class Ran:
    """One training of an arm has been made, `done` of the `total` of a round; the rest takes about `eta` seconds."""

    study: str
    trial: Trial
    done: int
    total: int
    eta: float


def file_of(arm: Arm, folder: Path | str) -> Path:
    """Where the trainings of an arm are kept."""
    return Path(folder) / f"{arm.slug}.jsonl"


def select(only: Sequence[str] = ()) -> dict[str, Study]:
    """Studies by name; all unless some are named.

    Raises:
        ValueError: no such study.
    """
    return {name: _study.get(name) for name in only or _study.names()}


def arms(studies: Sequence[Study]) -> tuple[Arm, ...]:
    """The arms of some studies, each once."""
    both = (arm for study in studies for arm in (study.first, study.second))
    return tuple({arm.digest: arm for arm in both}.values())


def read(studies: Sequence[Study], folder: Path | str) -> list[Trial]:
    """What was made of some studies.

    Raises:
        ValueError: a file is damaged.
    """
    return [trial for arm in arms(studies) for trial in trials.read(file_of(arm, folder)).trials]


def state(only: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """How far each study is: trainings made and, as far as is known, missing, and seconds of processor time."""
    rows, every = [], select()
    judged, missing = judge(every, read([*every.values()], folder), seeds), _missing(every, folder, seeds)
    for name, study in select(only).items():
        made = read([study], folder)
        lacking = [one for one in missing if one.arm in (study.first, study.second)]
        counts = {"made": len(made), "missing": len(lacking), "CPU seconds": round(sum(t.cpu for t in made), 1)}
        rows.append({"study": name, **counts, "verdict": judged[name].verdict})
    return rows


def sweep(
    only: Sequence[str],
    folder: Path | str,
    seeds: int = SEEDS,
    launcher: Launcher | None = None,
    device: str = "cpu",
) -> Iterator[Ran | Record]:
    """Make what is missing, round by round: what a round finds decides what the next one needs.

    Args:
        only: names of studies; all if empty.
        folder: holds one file an arm.
        seeds: trainings of each arm that are judged.
        launcher: where trainings are made, in any order; by default here, one by one.
        device: what trains: cpu, cuda, cuda:1, or auto, a GPU where there is one.

    Raises:
        ValueError: fewer than two seeds, no such device, another sweep at work in the folder, or a damaged file there.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    from lab.kernels.devices import device_of

    if seeds < 2:
        raise ValueError(f"An interval over seeds needs at least two, got {seeds}.")
    device, studies = device if launcher else str(device_of(device)), select(only)  # elsewhere it is found there
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            if launcher is None:  # said as it goes, where it can be
                yield from features(lab.data.create("emoji7"))
            while missing := _missing(studies, folder, seeds):
                began = time.monotonic()
                pieces = [(training, device) for training in missing]
                results = iter((launcher.map if launcher else map)(_made, pieces))
                for left in reversed(range(len(pieces))):
                    arm, trial, place = next(results)
                    _append(file_of(arm, folder), arm, trial, place)
                    pace = (time.monotonic() - began) / (len(pieces) - left)
                    yield Ran(arm.name, trial, len(pieces) - left, len(pieces), pace * left)
    except Timeout:
        raise ValueError(
            f"Another sweep is at work in {folder}; wait for it, stop it, or use another folder."
        ) from None


def _missing(studies: dict[str, Study], folder: Path | str, seeds: int) -> list[Training]:
    """The trainings that are known to be missing: pilots while rates are sought, else what studies with power need."""
    every = select()  # what seeds do is told by all pilots together
    everything = read([*every.values()], folder)
    made = {trial.key for trial in everything}
    wanted: dict[tuple, Training] = {}

    def want(arm: Arm, lrs: Sequence[float], of: Sequence[int]) -> None:
        for training in (Training(arm, lr, seed) for seed in of for lr in lrs):
            if training.key not in made:
                wanted[training.key] = training

    judged = judge(every, everything, seeds)
    for name, study in studies.items():
        for arm, column in zip((study.first, study.second), study.columns, strict=True):
            found = rates(arm, everything, chosen_by(column))
            want(arm, found.wanted, PILOTS)
            if found.best is not None and (judged[name].power or 0) >= POWER:
                want(arm, [found.best], range(seeds))
    return list(wanted.values())


Piece = tuple[Training, str]
"""A training, and the device that makes it."""


def _made(piece: Piece) -> tuple[Arm, Trial, dict[str, str]]:
    """One training, in this process or in one elsewhere, and what made it: `device`, cpu or cuda, and its name."""
    from lab.claims._train import run
    from lab.core.installed.environment import device_name
    from lab.kernels.devices import device_of

    training, device = piece
    found = device_of(device)
    machine = f"{os.cpu_count()} {platform.machine()} cores"
    place = {"machine": machine, "device": found.type, "device_name": device_name(str(found))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # batches without a positive, where classes are small: nothing to act on
        rows = _rows() if training.arm.tier == "head" else None
        return training.arm, run(training, rows, device), place


@lru_cache(maxsize=1)
def _rows() -> Any:
    """The features of this process, kept: a process makes many trainings."""
    return result_of(features(lab.data.create("emoji7")))


def _append(path: Path, arm: Arm, trial: Trial, made_by: dict[str, str]) -> None:
    """Add one line, and before it with what and where it was made, unless the last sitting says so."""
    import torch

    from lab.core.installed.environment import versions

    if path.is_file():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # a last line that a kill tore
    results, line = trials.read(path), trial.as_json() + "\n"
    session = {
        "versions": versions(), **made_by, "threads": torch.get_num_threads(), "arm": arm.config, "base": BASE[arm.tier]
    }  # fmt: skip
    if not results.sessions or results.sessions[-1] != json.loads(json.dumps(session)):
        line = json.dumps({"session": session}, separators=(",", ":")) + "\n" + line
    with open(path, "ab", buffering=0) as file:  # in one write
        file.write(line.encode())
        os.fsync(file.fileno())
