"""Create runs and add them to the queue; describe, stop and resume running ones."""

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
"""Most runs of a sweep."""

MACHINE_EVERY = 2.0
"""Seconds between two readings of this machine's load, shown beside a run that works here."""


def queue() -> Queue:
    """Return the queue of the folder of runs."""
    return Queue(settings.runs_root())


def run_now(path: Path) -> Hashable:
    """Return a value that changes whenever the run's page has to be drawn again, for `changes.follow`."""
    if not is_run(path):
        return None
    run = Run(path)
    snapshot = run.snapshot()
    names = queue().names
    position = names.index(run.name) if run.name in names else None
    load = None
    if snapshot.state == RUNNING and snapshot.worker is not None and snapshot.worker.here:
        load = time.monotonic() // MACHINE_EVERY
    written = [
        settings.written(path / name)
        for name in ("status.json", "metrics.jsonl", "embeddings", "config.yaml")
    ]
    return snapshot.state, snapshot.under_way, position, load, *written


def runs_now(*paths: Path) -> Hashable:
    """Return a value that changes whenever one of some runs changes."""
    return tuple(run_now(path) for path in paths)


def all_at_work_now() -> Hashable:
    """Return a value that changes whenever the queue or an active run changes."""
    waiting = queue()
    active = {run.path: run for run in (*here(), *elsewhere())}
    states = tuple(
        (path, run.state, settings.written(path / "status.json")) for path, run in active.items()
    )
    return waiting.names, waiting.sentence, states


def show_queue_problem() -> None:
    """Show why waiting runs are not started, if they are not, with a button that starts the queue."""
    waiting = queue()
    sentence = waiting.sentence
    if not sentence:
        return

    def restart() -> None:
        waiting.pause(False)
        waiting.ensure_worker()

    st.warning(page_frame.as_text(sentence))
    label = "Continue the queue" if waiting.paused else "Restart the queue"
    st.button(
        label,
        key="restart the queue",
        icon=":material/play_arrow:",
        on_click=page_frame.refusing(restart),
    )


def grid(config: RunConfig, path: str, values: str) -> dict[str, RunConfig]:
    """Return a configuration for each value of one parameter, by the value's text.

    Args:
        path: `section.parameter`.
        values: values separated by commas, such as `0.01, 0.05` or `paper, released`.

    Raises:
        ValueError: no value, too many, or an illegal one.
    """
    words = [word.strip() for word in values.split(",") if word.strip()]
    if not words:
        raise ValueError(
            f"Give the values of {path}, separated by commas, for instance 0.01, 0.05, 0.1."
        )
    if len(words) > LARGEST_GRID:
        raise ValueError(f"A sweep has at most {LARGEST_GRID} runs, got {len(words)} values.")
    try:
        typed = {word: config.typed(path, word) for word in words}
    except ValueError:
        raise ValueError(f"{values!r} cannot be read as values separated by commas.") from None
    return {word: config.changed(path, value) for word, value in typed.items()}


def single_knobs(config: RunConfig) -> list[str]:
    """Return the paths of the parameters that hold a single value, which a grid can vary."""
    paths = []
    for section, choice in config:
        if isinstance(choice, tuple):
            continue
        for name, value in choice.values.items():
            if not isinstance(value, tuple):
                paths.append(f"{section}.{name}")
    return paths


def plain_name(words: str) -> str:
    """Return words in the form of a part of a run's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")


def enqueue(
    configs: dict[str, RunConfig], name: str = "", devices: Sequence[str] = ()
) -> list[str]:
    """Create a run for each configuration, add it to the queue, and return the names of the runs.

    Runs use the devices in turn. Several runs are a group, named by `name` or by the time.

    Args:
        configs: label of each configuration (may be "") to the configuration.

    Raises:
        ValueError: a name is taken or is not a plain file name, or the dashboard may not read a path.
        OSError: the disk is full or the folder cannot be written.
    """
    named = []
    for (label, config), device in zip(configs.items(), cycle(devices or [None]), strict=False):
        run_name = _name(config, name, label)
        if device is not None:
            config = config.changed("training.device", device)
        named.append((run_name, config))
    group = name or f"sweep of {time.strftime('%Y-%m-%d %H:%M:%S')}"
    return enqueue_named(named, group)


def enqueue_named(configs: Sequence[tuple[str | None, RunConfig]], group: str) -> list[str]:
    """Create a run for each name and configuration, add it to the queue, and return the names of the runs.

    Args:
        configs: name of the run, or None to let the library choose it, and its configuration.
        group: name of the group if there are several runs.

    Raises:
        ValueError, OSError: as `enqueue`.
    """
    check_allowed()
    root = settings.runs_root()
    waiting = queue()
    for name, _ in configs:
        if name:
            lab.runs.check_available(root, name)
    confined = [(name, settings.confine(config)) for name, config in configs]

    # All configurations are checked before the first run is created.
    created: list[str] = []
    try:
        for name, config in confined:
            run = lab.runs.create(config, root, name)
            if len(confined) > 1:
                management.annotate(run, group=group)
            waiting.add(run)
            created.append(run.name)
    finally:  # also start the runs that were created before the disk was full
        if created:
            waiting.ensure_worker()
    return created


def _name(config: RunConfig, name: str, label: str) -> str | None:
    """Return the name of one run of a grid, or None to let the library choose."""
    suffix = plain_name(label)
    if name:
        return f"{name}-{suffix}" if suffix else name
    if not label:
        return None
    return lab.runs.free_name(
        settings.runs_root(), f"{config.loss.name}-{config.data.name}-{suffix}"
    )


def stop(name: str) -> None:
    """Stop a run with `lab runs stop` in a separate process, so that no page waits for it.

    Raises:
        ValueError: the run's process belongs to another account.
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
    """Describe the progress of a run in a few words."""
    step = status.get("step") or 0
    steps = status.get("steps")
    words = str(status.get("phase") or status["state"])
    if steps:
        words += f", step {step} of {steps}"
    elif step:  # a custom training loop may not know its last step
        words += f", step {step}"
    eta = status.get("eta_seconds")
    if eta and status["state"] == RUNNING:
        words += f", {duration(eta)} to go"
    return words


def progress(status: dict[str, Any]) -> float:
    """Return the completed fraction of a run's steps."""
    if status["state"] == FINISHED:
        return 1.0
    return min(1.0, (status.get("step") or 0) / max(1, status.get("steps") or 1))


def draw_progress(run: Run) -> None:
    """Draw a progress bar with the name of a run."""
    status = run.status
    st.progress(progress(status), text=page_frame.as_text(f"{run.name}: {progress_words(status)}"))


def stop_once(name: str) -> None:
    """Stop a run unless this session already does."""
    if not is_stopping(name):
        stop(name)
        st.session_state["to stop"] = {*st.session_state.get("to stop", ()), name}


def is_stopping(name: str) -> bool:
    """Return whether this session has started to stop a run."""
    return name in st.session_state.get("to stop", ())


def resume(run: Run) -> None:
    """Add a run that ended early to the queue again."""
    st.session_state["to stop"] = set(st.session_state.get("to stop", ())) - {run.name}
    queue().add(run)
    queue().ensure_worker()


def where(run: Run) -> str:
    """Return a sentence with the machine and process of a run or what it waits for, or "" if neither is known."""
    snapshot = run.snapshot()
    backend = snapshot.place if snapshot.under_way else None
    if backend and snapshot.state != RUNNING:
        if snapshot.written_state == QUEUED:
            return f"Waits for {backend.words}."
        if backend.launcher == "ray":
            return f"Its process has ended; {backend.words} tries again."
        return f"Its process has ended; {backend.words} has not reported yet how its job ended."
    worker = snapshot.worker
    if worker is None:
        return ""
    machine = "this machine" if worker.here else worker.host
    return f"Running on {machine}, process {worker.pid}."


def here() -> list[Run]:
    """Return the runs that this machine works on, without finished ones whose process has not ended yet."""
    return [run for run in queue().active() if run.state != FINISHED]


def elsewhere() -> list[Run]:
    """Return the runs that a cluster works on or keeps waiting."""
    return [run for run in lab.runs.list(settings.runs_root()) if run.snapshot().under_way]
