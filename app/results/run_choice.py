"""The folder of runs: what is in it, what cannot be read, and which run and split a page is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

import lab.runs
from app.results.cache import SPLITS, RunView, SplitView, split_view
from app.shared import address, page_frame, queueing, settings
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain
from lab.runs import Run, RunConfig
from lab.runs.config import read_yaml
from lab.runs.folder import QUEUED, RUNNING

DEMO = "emoji7_first_look"
"""The preset that is trained on one click."""


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
    read = {run: _read_config(run) for run in lab.runs.list(settings.runs_root())}
    return Library(
        tuple(run for run, one in read.items() if not one.problem),
        {run.name: one.problem for run, one in read.items() if one.problem},
        {run.name: one.lack for run, one in read.items() if one.lack},
    )


@dataclass(frozen=True)
class _ReadConfig:
    """A run's configuration as it stands in its YAML file, and of its data set; why it cannot be used, and what it
    lacks, or nothing."""

    problem: str = ""
    lack: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)


def _read_config(run: Run) -> _ReadConfig:
    return _read_once(run.path, settings.written(run.path / "config.yaml"))


@lru_cache(maxsize=5_000)
def _read_once(path: Path, changed: int) -> _ReadConfig:
    try:
        run = Run(path)
        return _ReadConfig("", " ".join(run.config.missing), run.config_dict, run.config.data.as_dict())
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
    state = _state(run.path, settings.written(run.path / "status.json"))
    return run.state if state in (RUNNING, QUEUED) else state


@lru_cache(maxsize=5_000)
def _state(path: Path, changed: int) -> str:
    return Run(path).state


def data_of(run: Run) -> dict[str, Any]:
    """The data set of a run with the knobs that number its images: those of runs with equal ones can be compared, also
    where one has left some images out."""
    return {name: value for name, value in _read_config(run).data.items() if name != "leave_out"}


def on_the_same_images(shown: SplitView) -> dict[str, str]:
    """Other runs that embedded the same split of the same images, by the code that choices have for them."""
    known = library()
    data = data_of(known[shown.run.name])
    alike = (run for run in known.runs if run.name != shown.run.name and data_of(run) == data)
    return {f"run:{run.name}": run.name for run in alike if shown.split in view(run).splits}


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
    splits = tuple(split for split in SPLITS if split in stored)
    return RunView(run.name, max(stored.values(), default=0.0), splits, summary(described(run)))


def summary(config: dict[str, Any]) -> str:
    """Loss, encoder and data set in one line; a run that was made elsewhere may have no loss."""
    return " · ".join(filter(None, (chosen_name(config, section) for section in ("loss", "encoder", "data"))))


def choose_run() -> RunView:
    """The run picker of the sidebar. Without a run that can be browsed it says what to do next and ends the page."""
    known = library()
    ready = {one.name: one for one in map(view, known.runs) if one.splits}
    with st.sidebar:
        if ready:
            address.adopt("run", str, ready)
            name = page_frame.select("Run", list(ready), key="run")
            address.tell("run", name)
        warn(known)
    if ready:
        return ready[name]
    say_what_next(len(known.runs), len(known.broken))
    st.stop()


def choose_split(run: RunView) -> SplitView:
    """The choice of a split, in the sidebar."""
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format_func=str.capitalize, link="split")
        return split_view(run, split)


def need_classes(chosen: SplitView) -> None:
    """End the page where no image has a true match, so that there is nothing to pull together and nothing to judge."""
    if not chosen.whole.judged:
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
            with page_frame.fold(f"{len(sentences)} {what}{'s' if len(sentences) > 1 else ''} {which}", link=link):
                for name, sentence in sentences.items():
                    st.text(f"{name}: {sentence}")


def say_what_next(unfinished: int = 0, broken: int = 0) -> None:
    """The empty state: the exact next step."""
    root = settings.runs_root()
    with st.sidebar:
        page_frame.say(f"Folder of runs: {root}")
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
    offer_starts()
    if not unfinished:
        st.caption("From a terminal")
        st.code(f"lab train --data emoji7 --loss recall_at_k --runs {root}", language="bash")


STARTS = {
    "Try it out": "Train a small network on the emoji that come with Rankscope; it takes about a minute.",
    "Your own images": "Choose a folder with one folder of images for each class, and train on it.",
    "Without training": "Import the vectors of another model, or embed a folder of pictures, to search and map them.",
}
"""Ways to begin."""


def offer_starts() -> None:
    """Draw every way to begin, side by side, each one click away."""
    columns = st.columns(len(STARTS), gap="medium", border=True)
    for column, (title, sentence) in zip(columns, STARTS.items(), strict=True):
        column.markdown(f"**{title}**")
        column.caption(sentence)
    demo, folder, vectors = columns
    with folder:
        page_frame.link_to("train", "Open a folder", {"mine": "yes"})
    with vectors:
        page_frame.link_to("runs", "Import vectors or pictures", {"bring": "yes"})
    with demo, page_frame.refusals():
        if st.button("Train a first run", key="train the demo", type="primary", icon=":material/play_arrow:"):
            made = queueing.enqueue({"": RunConfig.of(read_yaml(DEMO))})
            st.switch_page("views/watch/page.py", query_params={"watched": made[0]})
