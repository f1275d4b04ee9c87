"""The folder of runs: what is in it, what cannot be read, and which run a page is about."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

import lab.runs
from app.results.cache import SPLITS, RunView
from app.shared import address, empty_state, page_frame, settings
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain
from lab.evaluation.collection import Collection
from lab.runs import Run
from lab.runs.folder import QUEUED, RUNNING

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Library:
    """Every run, newest first; a sentence for each folder that cannot be read, and for each run that was made with
    something that is not here any more: it can be looked at, but not trained."""

    runs: tuple[Run, ...]
    broken: dict[str, str]
    missing: dict[str, str]

    def __getitem__(self, name: str) -> Run:
        """A run by its name.

        Raises:
            ValueError: it has gone since it was chosen.
        """
        for run in self.runs:
            if run.name == name:
                return run
        raise ValueError(f"There is no run {name} any more: somebody has renamed or deleted it.")

    @property
    def names(self) -> list[str]:
        return [run.name for run in self.runs]


def library() -> Library:
    """Look into the folder of runs."""
    runs, broken, missing = [], {}, {}
    for run in lab.runs.list(settings.runs_root()):
        if not written(run.path / "config.yaml"):
            continue  # somebody has renamed or deleted it since
        read = _read_config(run)
        if read.problem:
            broken[run.name] = read.problem
            continue
        runs.append(run)
        if read.lack:
            missing[run.name] = read.lack
    return Library(tuple(runs), broken, missing)


@dataclass(frozen=True)
class _ReadConfig:
    """A run's configuration as it stands in its YAML file, and of its data set; why it cannot be used, and what it
    lacks, or nothing."""

    problem: str = ""
    lack: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)


def _read_config(run: Run) -> _ReadConfig:
    return _read_once(str(run.path), written(run.path / "config.yaml"))


@lru_cache(maxsize=5_000)
def _read_once(path: str, changed: int) -> _ReadConfig:
    try:
        config = Run(path).config
        return _ReadConfig("", " ".join(config.missing), Run(path).config_dict, config.data.as_dict())
    except (ValueError, ImportError, OSError) as error:
        return _ReadConfig(explain(error))


def described(run: Run) -> dict[str, Any]:
    """A run's configuration, read once as long as the file stays."""
    read = _read_config(run)
    if read.problem:
        raise ValueError(read.problem)
    return read.config


def state_of(run: Run) -> str:
    """A run's state, read once as long as its status stays; whether a process still works on it, each time."""
    state = _state(str(run.path), written(run.path / "status.json"))
    return run.state if state in (RUNNING, QUEUED) else state


def written(path: Path) -> int:
    """When a file was last written, in nanoseconds; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=5_000)
def _state(path: str, changed: int) -> str:
    return Run(path).state


def data_of(run: Run) -> dict[str, Any]:
    """The data set of a run with the knobs that number its images: those of runs with equal ones can be compared, also
    where one has left some images out."""
    return {name: value for name, value in _read_config(run).data.items() if name != "leave_out"}


def on_the_same_images(run: RunView, split: str) -> dict[str, str]:
    """Other runs that embedded the same split of the same images, by the code that choices have for them."""
    known = library()
    data = data_of(known[run.name])
    return {
        f"run:{other.name}": other.name
        for other in known.runs
        if other.name != run.name and data_of(other) == data and split in view(other).splits
    }


def chosen_name(config: dict[str, Any], section: str) -> str:
    """The entry that a configuration chose in a section; of what was made elsewhere, what a person called it."""
    chosen = config.get(section)
    if isinstance(chosen, dict) and chosen.get("name") == OUTSIDE:
        return str(chosen.get("what", OUTSIDE))
    default = lab.runs.SECTIONS[section].default
    return str(chosen.get("name", default) if isinstance(chosen, dict) else chosen or default)


def view(run: Run) -> RunView:
    """What the pages that look at embeddings need to know of a run."""
    stored = {p.stem: p.stat().st_mtime for p in (run.path / "embeddings").glob("[!.]*.safetensors")}
    config = described(run)
    return RunView(
        run.name, max(stored.values(), default=0.0), tuple(s for s in SPLITS if s in stored), summary(config)
    )


def of_each(look: Callable[[Run], Seen], runs: Iterable[Run]) -> Iterator[Seen]:
    """What a look at each run gives; runs that somebody else renames or deletes meanwhile are passed over."""
    for run in runs:
        try:
            seen = look(run)
        except (OSError, ValueError):
            if written(run.path / "config.yaml"):
                raise
            continue
        yield seen


def summary(config: dict[str, Any]) -> str:
    """Loss, encoder and data set in one line; a run that was made elsewhere may have no loss."""
    return " · ".join(filter(None, (chosen_name(config, section) for section in ("loss", "encoder", "data"))))


def choose_run(label: str = "Run", key: str = "run") -> RunView:
    """The run picker of the sidebar. Without a run that can be browsed it says what to do next and ends the page."""
    known = library()
    ready = {v.name: v for v in of_each(view, known.runs) if v.splits}
    with st.sidebar:
        if ready:
            address.adopt(key, str, ready)
            name = page_frame.select(label, list(ready), key=key)
            address.tell(key, name)
        warn(known)
    if ready:
        return ready[name]
    say_what_next(len(known.runs), len(known.broken))
    st.stop()


def need_classes(collection: Collection) -> None:
    """End the page where no image has a true match, so that there is nothing to pull together and nothing to judge."""
    if not collection.judged:
        st.info(
            "No two of these images are known to be of one class, which this page needs. Browse and Map work without "
            "classes; `lab import` and `lab embed` take them along."
        )
        st.stop()


def warn(known: Library) -> None:
    """Name the folders that cannot be read, and the runs that lack something."""
    for sentences, what, which, link in (
        (known.broken, "folder", "could not be read", "unread"),
        (known.missing, "run", "lack a part", "lacking"),
    ):
        if sentences:
            words = f"{len(sentences)} {what}{'s' if len(sentences) > 1 else ''} {which}"
            with page_frame.fold(words, link=link):
                for name, sentence in sentences.items():
                    st.text(f"{name}: {sentence}")


def say_what_next(unfinished: int = 0, broken: int = 0) -> None:
    """The empty state: the exact next step."""
    root = settings.runs_root()
    with st.sidebar:
        st.caption(f"Folder of runs: {page_frame.as_text(str(root))}")
    if broken:
        st.warning(f"{broken} folder{'s' if broken > 1 else ''} here cannot be read; the list at the left says why.")
    if unfinished:
        st.info(
            f"{unfinished} run{'s' if unfinished > 1 else ''} in this folder, none with embeddings yet. A run can be "
            "browsed once its first evaluation is done; to evaluate one from its last checkpoint:"
        )
        st.code(f"lab evaluate RUN --runs {root}", language="bash")
    else:
        st.info("No runs yet. Begin in one of these ways:")
    empty_state.starts()
    if not unfinished:
        st.caption("From a terminal")
        st.code(f"lab train --data emoji7 --loss recall_at_k --runs {root}", language="bash")
