"""Where runs are at work and may be sent to, and what is free on the cluster, in words."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import Any

import streamlit as st

from lab.runs import Run
from lab.runs.folder import QUEUED, RUNNING
from lab.runs.process import Sent

HERE, RAY, SLURM = "here", "ray", "slurm"
"""Places that runs may be sent to: this machine's queue, and the clusters that the library has launchers for."""

ADDRESS = "RAY_ADDRESS"
"""Ray's own environment variable: the address of the cluster, which `lab app --ray` sets, too."""

LOOK_EVERY = 10  # seconds that an answer of the cluster is kept


def words(run: Run) -> str:
    """The machine and process that work on a run, or what it waits for; empty where nobody says."""
    found = run.snapshot()
    worker, to = found.worker, found.place if found.under_way else None
    if to and found.state != RUNNING:
        if found.written_state == QUEUED:
            return f"Waits for {to.words}."
        again = f"{to.words} tries again" if to.launcher == RAY else f"{to.words} has not said yet how its job ended"
        return f"Its process has ended; {again}."
    if worker is None:
        return ""
    return f"Running on {'this machine' if worker.here else worker.host}, process {worker.pid}."


def places() -> dict[str, str]:
    """Where a run may be trained, and what a list calls it. The clusters are those that whoever started the dashboard
    named: a visitor cannot send runs to another."""
    names = {HERE: "This machine"}
    if os.environ.get(ADDRESS) and _installed("ray"):
        names[RAY] = f"Ray cluster {os.environ[ADDRESS]}"
    if _installed("submitit") and shutil.which("sbatch"):
        names[SLURM] = "Slurm"
    return names


def _installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def handed_to(place: str, run: Run | None = None) -> Sent:
    """A place that is not this machine, as launchers know it; for a run that was there before, with the same knobs."""
    to, before = Sent(place, os.environ[ADDRESS] if place == RAY else None), run and run.snapshot().place
    return before if before and before == to else to


def knobs_of(place: Sent) -> str:
    """The knobs of a place in words, where they are no defaults; empty for none."""
    from lab import launchers

    usual = {name: field.default for name, field in launchers.get(place.launcher).Knobs.model_fields.items()}
    changed = [f"{name} {value}" for name, value in place.knobs.items() if name in usual and value != usual[name]]
    return f"As before: {', '.join(changed)}." if changed else ""


def last_place(run: Run) -> str:
    """Where a run was sent to the last time, if it can be sent there again; this machine else."""
    before = run.snapshot().place
    return next((p for p in places() if p != HERE and handed_to(p) == before), HERE)


def cluster() -> str:
    """What is free on the Ray cluster that the environment variable RAY_ADDRESS names; empty without one."""
    return _cluster(os.environ[ADDRESS]) if os.environ.get(ADDRESS) else ""


@st.cache_data(ttl=LOOK_EVERY, show_spinner=False)
def _cluster(address: str) -> str:
    from lab import launchers

    try:
        ray: Any = launchers.create("ray", address=address)
        free = ray.free()
    except (ValueError, ImportError) as error:
        return str(error)
    parts = [f"{unused:g} of {whole:g} {what}" for what, (unused, whole) in free.items() if whole]
    return f"Cluster {address}: {' and '.join(parts) or 'nothing'} free."
