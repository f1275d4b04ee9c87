"""Where runs are at work, and what is free on the cluster, in words."""

from __future__ import annotations

import os
from typing import Any

import streamlit as st

from lab.runs import Run

LOOK_EVERY = 10  # seconds that an answer of the cluster is kept


def words(run: Run) -> str:
    """The machine and process that work on a run; empty where nobody says."""
    worker = run.worker
    if worker is None:
        return ""
    return f"Running on {'this machine' if worker.here else worker.host}, process {worker.pid}."


def cluster() -> str:
    """What is free on the Ray cluster that the environment variable RAY_ADDRESS names; empty without one."""
    return _cluster(os.environ["RAY_ADDRESS"]) if os.environ.get("RAY_ADDRESS") else ""


@st.cache_data(ttl=LOOK_EVERY, show_spinner=False)
def _cluster(address: str) -> str:
    from lab import launchers

    try:
        ray: Any = launchers.create("ray", address=address)
        free = ray.free()
    except (ValueError, ImportError) as error:
        return str(error)
    told = [f"{unused:g} of {whole:g} {what}" for what, (unused, whole) in free.items() if whole]
    return f"Cluster {address}: {' and '.join(told) or 'nothing'} free."
