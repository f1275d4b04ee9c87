"""From a configuration, or a grid of them, into the queue; and what pages say and do about runs at work."""

import re
import subprocess
import time
from collections.abc import Hashable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import streamlit as st

import lab.runs
from app.shared import page_frame, settings
from lab.core.files import check_allowed
from lab.core.formats import duration
from lab.core.installed import children
from lab.launchers.background import detached
from lab.launchers.background.queue import Queue
from lab.runs import Run, RunConfig, management
from lab.runs.folder import FINISHED, QUEUED, RUNNING, is_run

LARGEST_GRID = 64


MACHINE_EVERY = 2.0
"""Seconds after which the load of this machine is shown anew, beside a run that works here."""


def queue() -> Queue:
    """The queue of the folder of runs."""
    return Queue(settings.runs_root())


def run_now(path: Path) -> Hashable:
    """Return what tells whether a run stands where it stood: for `changes.follow`."""
    if not is_run(path):
        return None
    run = Run(path)
    found, names = run.snapshot(), queue().names
    place = names.index(run.name) if run.name in names else None
    load = None
    if found.state == RUNNING and found.worker is not None and found.worker.here:
        load = time.monotonic() // MACHINE_EVERY
    files = ("status.json", "metrics.jsonl", "embeddings", "config.yaml")
    return found.state, found.under_way, place, load, *(settings.written(path / name) for name in files)


def runs_now(*paths: Path) -> Hashable:
    """Return what tells whether some runs stand where they stood."""
    return tuple(run_now(path) for path in paths)


def all_at_work_now() -> Hashable:
    """Return what tells whether the queue and all runs at work stand where they stood."""
    waiting = queue()
    at_work = {run.path: run for run in (*here(), *elsewhere())}
    stand = tuple((path, run.state, settings.written(path / "status.json")) for path, run in at_work.items())
    return waiting.names, waiting.sentence, stand


def say_standing() -> None:
    """Say why runs that wait are not started, with a button that starts the queue; nothing where all is well."""
    waiting = queue()
    sentence = waiting.sentence
    if not sentence:
        return

    def go_on() -> None:
        waiting.pause(False)
        waiting.ensure_worker()

    st.warning(page_frame.as_text(sentence))
    label = "Continue the queue" if waiting.paused else "Restart the queue"
    st.button(label, key="restart the queue", icon=":material/play_arrow:", on_click=page_frame.refusing(go_on))


def grid(config: RunConfig, path: str, values: str) -> dict[str, RunConfig]:
    """A configuration for each value of one knob; keys say which.

    Args:
        path: `section.knob`.
        values: as a person writes them, separated by commas: `0.01, 0.05` or `paper, released`.

    Raises:
        ValueError: no value, too many, or an illegal one.
    """
    words = [word.strip() for word in values.split(",") if word.strip()]
    if not words:
        raise ValueError(f"Give the values of {path}, separated by commas, for instance 0.01, 0.05, 0.1.")
    if len(words) > LARGEST_GRID:
        raise ValueError(f"A sweep has at most {LARGEST_GRID} runs, got {len(words)} values.")
    try:
        typed = {word: config.typed(path, word) for word in words}
    except ValueError:
        raise ValueError(f"{values!r} cannot be read as values separated by commas.") from None
    return {word: config.changed(path, value) for word, value in typed.items()}


def single_knobs(config: RunConfig) -> list[str]:
    """Paths of the knobs that hold a single value: what a grid can go over."""
    return [
        f"{section}.{name}"
        for section, chosen in config
        if not isinstance(chosen, tuple)
        for name, value in chosen.values.items()
        if not isinstance(value, tuple)
    ]


def plain_name(words: str) -> str:
    """Words as part of a run's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")


def enqueue(configs: dict[str, RunConfig], name: str = "", devices: Sequence[str] = ()) -> list[str]:
    """Make a run for each configuration and let it wait; runs go round the devices. Returns the names of the runs.

    Several are a group, by the name or by the time.

    Args:
        configs: what tells each from the others (may be "") to its configuration.

    Raises:
        ValueError: a name is taken or no plain file name, or a path lies where the dashboard may not read.
        OSError: the disk is full or the folder cannot be written.
    """
    names = [_name(config, name, which) for which, config in configs.items()]
    on_devices = [
        config if device is None else config.changed("training.device", device)
        for config, device in zip(configs.values(), cycle(devices or [None]), strict=False)
    ]
    group = name or f"sweep of {time.strftime('%Y-%m-%d %H:%M:%S')}"
    return enqueue_named(list(zip(names, on_devices, strict=True)), group)


def enqueue_named(configs: Sequence[tuple[str | None, RunConfig]], group: str) -> list[str]:
    """Make a run of each name and configuration and let it wait; several are a group. Returns the names of the runs.

    Args:
        configs: name of the run, or None for one that the library chooses, and its configuration.

    Raises:
        ValueError, OSError: as `enqueue`.
    """
    check_allowed()
    root, waiting = settings.runs_root(), queue()
    for name, _ in configs:
        if name:
            lab.runs.check_available(root, name)
    confined = [(name, settings.confine(config)) for name, config in configs]
    made: list[Run] = []
    try:
        for name, config in confined:
            run = lab.runs.create(config, root, name)
            if len(confined) > 1:
                management.annotate(run, group=group)
            waiting.add(run)
            made.append(run)
    finally:  # what could be made before the disk was full is trained
        if made:
            waiting.ensure_worker()
    return [run.name for run in made]


def _name(config: RunConfig, name: str, which: str) -> str | None:
    """Name of one run of a grid; None lets the library choose."""
    if name:
        return "-".join(filter(None, (name, plain_name(which))))
    stem = f"{config.loss.name}-{config.data.name}-{plain_name(which)}"
    return lab.runs.free_name(settings.runs_root(), stem) if which else None


def stop(name: str) -> None:
    """Ask a run to stop, wait, then kill its group: in a process of its own, so that no page waits for it.

    Raises:
        ValueError: another account named its process.
    """
    check_allowed()
    detached.check_own(lab.runs.open(name, settings.runs_root()))
    subprocess.Popen(
        children.python("-m", "lab", "runs", "stop", name, "--runs", str(settings.runs_root())),
        env=children.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def progress_words(status: dict[str, Any]) -> str:
    """Where a run stands, in a few words."""
    step, steps = status.get("step") or 0, status.get("steps")
    words = str(status.get("phase") or status["state"])
    if step or steps:  # a loop of somebody's own may not know its end, and imported vectors took no step
        words += f", step {step} of {steps}" if steps else f", step {step}"
    eta = status.get("eta_seconds")
    return f"{words}, {duration(eta)} to go" if eta and status["state"] == RUNNING else words


def ask_to_stop(name: str) -> None:
    """Stop a run, once a session."""
    if not is_stopping(name):
        stop(name)
        st.session_state["to stop"] = {*st.session_state.get("to stop", ()), name}


def is_stopping(name: str) -> bool:
    """Whether this session has asked a run to stop."""
    return name in st.session_state.get("to stop", ())


def resume(run: Run) -> None:
    """Let a run that ended early wait for its turn to go on."""
    st.session_state["to stop"] = set(st.session_state.get("to stop", ())) - {run.name}
    queue().add(run)
    queue().ensure_worker()


def where(run: Run) -> str:
    """The machine and process that work on a run, or what it waits for; empty where nobody says."""
    found = run.snapshot()
    worker, to = found.worker, found.place if found.under_way else None
    if to and found.state != RUNNING:
        if found.written_state == QUEUED:
            return f"Waits for {to.words}."
        again = f"{to.words} tries again" if to.launcher == "ray" else f"{to.words} has not said yet how its job ended"
        return f"Its process has ended; {again}."
    if worker is None:
        return ""
    return f"Running on {'this machine' if worker.here else worker.host}, process {worker.pid}."


def here() -> list[Run]:
    """Runs that this machine works on. A finished one is over, though its process may take a minute to end."""
    return [run for run in queue().active() if run.state != FINISHED]


def elsewhere() -> list[Run]:
    """Runs that are in the hands of a cluster, at work or waiting."""
    return [run for run in lab.runs.list(settings.runs_root()) if run.snapshot().under_way]
