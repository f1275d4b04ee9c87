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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

import lab.data
from lab.core.installed.environment import device_name, versions
from lab.core.records import Record
from lab.figures import measured
from lab.figures.measured import Trial
from lab.kernels.devices import device_of
from scripts.studies.catalogue import select
from scripts.studies.data import features
from scripts.studies.study import BASE, PILOTS, SEEDS, Arm, Study, Training
from scripts.studies.train import run
from scripts.studies.verdicts import POWER, chosen_by, judge, rates

RESULTS = Path(__file__).parent / "results"
"""Folder of the trainings that docs/claims.md tells of."""


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


def arms(studies: Sequence[Study]) -> tuple[Arm, ...]:
    """The arms of some studies, each once."""
    both = (arm for study in studies for arm in (study.first, study.second))
    return tuple({arm.digest: arm for arm in both}.values())


def read(studies: Sequence[Study], folder: Path | str) -> list[Trial]:
    """What was made of some studies.

    Raises:
        ValueError: a file is damaged.
    """
    return [trial for arm in arms(studies) for trial in measured.read(file_of(arm, folder)).trials]


def state(only: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """How far each study is: trainings made and, as far as is known, missing, and seconds of processor time."""
    rows, every = [], select()
    judged, missing = (
        judge(every, read([*every.values()], folder), seeds),
        _missing(every, folder, seeds),
    )
    for name, study in select(only).items():
        made = read([study], folder)
        lacking = [one for one in missing if one.arm in (study.first, study.second)]
        counts = {
            "made": len(made),
            "missing": len(lacking),
            "CPU seconds": round(sum(t.cpu for t in made), 1),
        }
        rows.append({"study": name, **counts, "verdict": judged[name].verdict})
    return rows


def sweep(
    only: Sequence[str], folder: Path | str, seeds: int = SEEDS, device: str = "cpu"
) -> Iterator[Ran | Record]:
    """Make what is missing, round by round: what a round finds decides what the next one needs.

    Args:
        only: names of studies; all if empty.
        folder: holds one file an arm.
        seeds: trainings of each arm that are judged.
        device: what trains: cpu, cuda, cuda:1, or auto, a GPU where there is one.

    Raises:
        ValueError: fewer than two seeds, no such device, another sweep at work in the folder, or a damaged file there.
        OSError: the folder cannot be written.
    """
    if seeds < 2:
        raise ValueError(f"An interval over seeds needs at least two, got {seeds}.")
    studies, place = select(only), device_of(device)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            missing = _missing(studies, folder, seeds)
            while missing:
                rows = yield from features(lab.data.create("emoji7"))  # computed once, then read
                yield from _round(missing, folder, rows, place)
                missing = _missing(studies, folder, seeds)
    except Timeout:
        raise ValueError(
            f"Another sweep is at work in {folder}; wait for it, stop it, or use another folder."
        ) from None


def _round(
    missing: Sequence[Training], folder: Path, rows: np.ndarray, device: torch.device
) -> Iterator[Ran]:
    """Make these trainings, one after the other."""
    began = time.monotonic()
    for done, training in enumerate(missing, start=1):
        trial = _made(training, rows, device)
        _append(file_of(training.arm, folder), training.arm, trial, device)
        pace = (time.monotonic() - began) / done
        yield Ran(training.arm.name, trial, done, len(missing), pace * (len(missing) - done))


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


def _made(training: Training, rows: np.ndarray, device: torch.device) -> Trial:
    with warnings.catch_warnings():
        # batches without a positive, where classes are small: nothing to act on
        warnings.simplefilter("ignore")
        return run(training, rows if training.arm.tier == "head" else None, str(device))


def _append(path: Path, arm: Arm, trial: Trial, device: torch.device) -> None:
    """Add one line, and before it with what and where it was made, unless the last sitting says so."""
    if path.is_file():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # a last line that a kill tore
    session: dict[str, Any] = {
        "versions": versions(),
        "machine": f"{os.cpu_count()} {platform.machine()} cores",
        "device": device.type,
        "device_name": device_name(str(device)),
        "threads": torch.get_num_threads(),
        "arm": arm.config,
        "base": BASE[arm.tier],
    }
    line = trial.as_json() + "\n"
    sessions = measured.read(path).sessions
    if not sessions or sessions[-1] != json.loads(json.dumps(session)):
        line = json.dumps({"session": session}, separators=(",", ":")) + "\n" + line
    with open(path, "ab", buffering=0) as file:  # in one write
        file.write(line.encode())
        os.fsync(file.fileno())
