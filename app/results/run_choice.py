"""The folder of runs, and the choice of a run and split for a page."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

import lab.runs
from app.results.cache import SPLITS, RunView, SplitView, split_view
from app.shared import address, autoplay, changes, page_frame, queueing, settings
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain
from lab.core.formats import counted
from lab.evaluation.identity import ROWS
from lab.runs import Run, examples, joined
from lab.runs.folder import QUEUED, RUNNING

VALIDATION = "validation"
"""The split whose images a run embeds repeatedly while it trains."""

FINAL = -1
"""Stands for the finished model in place of a step."""

BEAT = 1.2
"""Seconds between two steps while the slider plays."""


@dataclass(frozen=True)
class RunLibrary:
    """The content of the folder of runs.

    runs: every readable run, newest first.
    broken: folder to the reason why it cannot be read.
    missing: run to the plug-ins that it needs and that are not installed. It can be viewed, but not trained.
    """

    runs: tuple[Run, ...]
    broken: dict[str, str]
    missing: dict[str, str]

    def __getitem__(self, name: str) -> Run:
        """Return a run by its name.

        Raises:
            ValueError: there is no such run any more.
        """
        for run in self.runs:
            if run.name == name:
                return run
        raise ValueError(f"The run {name} does not exist any more: it was renamed or deleted.")

    @property
    def names(self) -> list[str]:
        return [run.name for run in self.runs]

    def why_not(self, name: str) -> str:
        """Return a sentence why a run that the URL names cannot be shown."""
        if name in self.broken:
            return f"The run {name} cannot be read: {self.broken[name]}"
        if name in self.names:
            return f"The run {name} has no embeddings yet. They come with its first evaluation."
        return (
            f"The run {name} is not in this folder: it was renamed or deleted. Choose another run."
        )


def library() -> RunLibrary:
    """Read the folder of runs."""
    runs = []
    broken = {}
    missing = {}
    for run in lab.runs.list(settings.runs_root()):
        read = _read_config(run)
        if read.problem:
            broken[run.name] = read.problem
        else:
            runs.append(run)
        if read.lack:
            missing[run.name] = read.lack
    return RunLibrary(tuple(runs), broken, missing)


@dataclass(frozen=True)
class _ReadConfig:
    """A run's configuration.

    problem: why it cannot be read, or "". lack: what is not installed, or "". data: the settings of the data set.
    """

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
        return _ReadConfig(
            "", " ".join(run.config.missing), run.config_dict, run.config.data.as_dict()
        )
    except (ValueError, ImportError, OSError) as error:
        return _ReadConfig(explain(error))


def config_of(run: Run) -> dict[str, Any]:
    """Return a run's configuration. It is read again only after the file has changed."""
    read = _read_config(run)
    if read.problem:
        raise ValueError(read.problem)
    return read.config


def state_of(run: Run) -> str:
    """Return a run's state. The file is read again only after it has changed; an active run is always checked."""
    state = _state(run.path, settings.written(run.path / "status.json"))
    if state in (RUNNING, QUEUED):
        return run.state
    return state


@lru_cache(maxsize=5_000)
def _state(path: Path, changed: int) -> str:
    return Run(path).state


def folders() -> list[str]:
    """Return the image folders that runs were trained on, latest first."""
    roots = [_read_config(run).data.get("root") for run in library().runs]
    return [str(root) for root in roots if root]


def share_images(first: Run, second: Run, split: str) -> bool:
    """Return whether two runs may have embedded some of the same images of a split.

    `cache.common` finds these images when the runs are compared.
    """
    first_view = view(first)
    second_view = view(second)
    if split not in first_view.splits or split not in second_view.splits:
        return False
    first_data = {**_read_config(first).data, "corrections": None}
    second_data = {**_read_config(second).data, "corrections": None}
    if first_data == second_data:
        return True

    if OUTSIDE in (first_data.get("name"), second_data.get("name")):
        # External embeddings are joined by the images' names. Row numbers are names only within one source.
        first_names, first_place = _names(first.path, split, first_view.stamp)
        second_names, second_place = _names(second.path, split, second_view.stamp)
        if first_names.isdisjoint(second_names):
            return False
        uses_rows = first_place.startswith(ROWS) or second_place.startswith(ROWS)
        return first_place == second_place or not uses_rows

    digest = _images_digest(first.path, split, first_view.stamp)
    return bool(digest) and digest == _images_digest(second.path, split, second_view.stamp)


@lru_cache(maxsize=5_000)
def _images_digest(path: Path, split: str, stamp: float) -> str:
    return str(Run(path).header(split).get("images", ""))


@lru_cache(maxsize=200)
def _names(path: Path, split: str, stamp: float) -> tuple[frozenset[str], str]:
    """Return the names of a split's images, and the source that they are relative to.

    They are read again only after the embeddings have changed.
    """
    try:
        pictures = Run(path).pictures(split)
    except (ValueError, OSError):  # the run does not say which images it embedded
        return frozenset(), ""
    return frozenset(pictures.keys.tolist()), pictures.place


def runs_on_same_images(shown: SplitView) -> dict[str, str]:
    """Return the other runs that embedded the same images of a split: `run:NAME` to name."""
    runs = library()
    current = runs[shown.run.name]
    names = {}
    for run in runs.runs:
        if run.name != current.name and share_images(current, run, shown.split):
            names[f"run:{run.name}"] = run.name
    return names


def at_the_same_step(shown: SplitView, name: str) -> SplitView:
    """Return another run's view of a split, after the same step if it stored that validation, else of the final
    model."""
    other = view(library()[name])
    step = shown.step if shown.step in dict(other.moments) else None
    return split_view(other, shown.split, step)


def chosen_name(config: dict[str, Any], section: str) -> str:
    """Return the name of a section's choice, such as the loss; for external ones, the description by the user."""
    chosen = config.get(section)
    default = lab.runs.SECTIONS[section].default
    if not isinstance(chosen, dict):
        return str(chosen or default)
    if chosen.get("name") == OUTSIDE:
        return str(chosen.get("what", OUTSIDE) or chosen.get("method", ""))
    return str(chosen.get("name", default))


def view(run: Run) -> RunView:
    """Return the facts about a run that pages use."""
    written = {
        path.stem: path.stat().st_mtime
        for path in (run.path / "embeddings").glob("[!.]*.safetensors")
    }
    splits = tuple(split for split in SPLITS if split in written)
    moments = []
    for step, path in run.frames().items():
        with suppress(FileNotFoundError):  # a running training removes old ones
            moments.append((step, path.stat().st_mtime))
    return RunView(
        run.name,
        max(written.values(), default=0.0),
        splits,
        summary(config_of(run)),
        tuple(moments),
    )


def summary(config: dict[str, Any]) -> str:
    """Return loss, encoder and data set in one line. External runs may have no loss."""
    names = [chosen_name(config, section) for section in ("loss", "encoder", "data")]
    return " · ".join(filter(None, names))


def choose_run(moments: bool = False, preferred: Callable[[Run], bool] = bool) -> RunView:
    """Draw the choice of a run in the sidebar. If no run can be shown, draw the first steps and end the page.

    Args:
        moments: also offer runs that still train and have stored a validation.
        preferred: the newest run that meets this is chosen at first.
    """

    def is_ready(run: Run) -> bool:
        return bool(run.splits or (moments and run.frames()))

    runs = library()
    ready = need_run("run", runs, is_ready)
    with st.sidebar:
        if ready:
            first = next((name for name in ready if preferred(runs[name])), None)
            name = page_frame.select("Run", ready, key="run", initial=first)
            address.store("run", name)
        warn(runs)
    if ready:
        return view(runs[name])
    show_first_steps(len(runs.runs), len(runs.broken))
    st.stop()


def need_run(name: str, runs: RunLibrary, shows: Callable[[Run], bool] = bool) -> list[str]:
    """Read the run from the URL. If it does not exist, say so and end the page until the run exists again.

    Args:
        name: the URL parameter and the session key.
        shows: whether the page can show a run.

    Returns:
        the names of the runs that the page can show.
    """

    def ready(runs: RunLibrary) -> list[str]:
        return [run.name for run in runs.runs if shows(run)]

    names = ready(runs)
    if names:
        address.load(name, str, names)
    address.refuse_missing(name, runs.names)
    sentence = runs.why_not(address.missing(name))
    page_frame.need(name, names, sentence, "run", lambda missing: missing in ready(library()))
    return names


def refuse_missing_run(parameter: str) -> None:
    """Refuse a comparison with a run (`run:NAME`) that does not exist any more."""
    code = str(st.session_state.get(parameter) or "")
    if code.startswith("run:"):
        address.refuse_missing(parameter, [f"run:{name}" for name in library().names])


def choose_split(run: RunView, moments: bool = False) -> SplitView:
    """Draw the choice of a split in the sidebar. moments: also offer the stored validations of a training."""
    moments = moments and bool(run.moments)
    splits = [split for split in SPLITS if split in run.splits or (moments and split == VALIDATION)]
    address.load("split", str, splits, default=splits[0])
    words = f"The run {run.name} has no embeddings of a split {address.missing('split')}. Choose another split."
    page_frame.need("split", {split: split.capitalize() for split in splits}, words)
    with st.sidebar:
        split = page_frame.choice(
            "Split", splits, key="split", format_func=str.capitalize, link="split"
        )

    # Of validation images, also earlier steps can be chosen.
    finished = None
    if split in run.splits:
        finished = split_view(run, split)
        if not (moments and split == VALIDATION and finished.collection.same_source):
            return finished
    step = _choose_step(run, finished is not None)
    return split_view(run, split, None if step == FINAL else step)


def _choose_step(run: RunView, finished: bool) -> int:
    """Draw a slider over the steps with a stored validation. It can play, and follows a run that trains."""
    labels = {step: f"{step:,}" for step in dict(run.moments)}
    if finished:
        labels[FINAL] = "the end"
    if state_of(run.folder) == RUNNING:
        changes.follow(_moments, run.name, key=f"moments of {run.name}")
    help = (
        "Shows the embeddings of the validation images after each stored step of the training; the end is the finished "
        "model. While a run trains, the newest step is shown until you move the slider."
    )
    return autoplay.slider(
        "After step", list(labels), key="step", beat=BEAT, format_func=labels.get, help=help
    )


def _moments(name: str) -> tuple[RunView, str] | None:
    """Return what a run has stored and its state, or None if it does not exist any more."""
    runs = library()
    if name not in runs.names:
        return None
    return view(runs[name]), state_of(runs[name])


def need_classes(chosen: SplitView) -> None:
    """End the page if no image has a true match."""
    if not chosen.collection.judged:
        st.info(
            "This page needs at least two images of the same class, and no two of these images are known to be. Browse "
            "and Map work without classes; `lab import` and `lab embed` also read classes."
        )
        st.stop()


def say_left_out(chosen: SplitView) -> None:
    """Say how many images have no class and how they are counted, and what limits the scores."""
    collection = chosen.collection
    if not collection.judged:
        return
    run = chosen.run.folder
    if collection.left_out:
        words = collection.left_out
        if chosen.step is None:
            words = f"{words} {run.outdated(chosen.split)}"
        page_frame.say(words.strip())
    if chosen.step is None:
        for warning in run.score_warnings(chosen.split):
            page_frame.say(warning)


def say_replaced(chosen: SplitView, items: np.ndarray) -> None:
    """Say which of the shown images have changed since the run embedded them."""
    if chosen.step is None:
        run = chosen.run.folder
        keys = joined.replaced(run, chosen.split, chosen.images, items)
        sentence = joined.replaced_sentence(run, chosen.split, keys)
        if sentence:
            page_frame.say(sentence)


def warn(runs: RunLibrary) -> None:
    """List the folders that cannot be read, and the runs that need something that is not installed."""
    _list_problems(
        runs.broken, f"{counted(len(runs.broken), 'folder')} could not be read", "unread"
    )
    verb = "lacks" if len(runs.missing) == 1 else "lack"
    _list_problems(runs.missing, f"{counted(len(runs.missing), 'run')} {verb} a plug-in", "lacking")


def _list_problems(sentences: dict[str, str], label: str, link: str) -> None:
    if sentences:
        with page_frame.expander(label, link=link):
            for name, sentence in sentences.items():
                st.text(f"{name}: {sentence}")


def show_first_steps(unfinished: int = 0, broken: int = 0) -> None:
    """Draw a page without runs: the ways to start, or how to evaluate the unfinished runs."""
    root = settings.runs_root()
    with st.sidebar:
        page_frame.say(f"Folder of runs: {root}")
    if broken:
        st.warning(
            f"{counted(broken, 'folder')} here cannot be read; the list on the left says why."
        )
    if unfinished:
        st.info(
            f"{counted(unfinished, 'run')} in this folder, none with embeddings yet. A run can be browsed after its "
            "first evaluation. To evaluate a run from its last checkpoint:"
        )
        st.code(f"lab evaluate RUN --runs {root}", language="bash")
    else:
        st.info("No runs yet. Start in one of these ways:")
    offer_demo()
    show_starting_points()
    if not unfinished:
        st.caption("From a terminal")
        st.code(f"lab train --data emoji7 --loss recall_at_k --runs {root}", language="bash")


STARTING_POINTS = {
    "Use my pictures": ("train", {"images": "folder"}, "Train on a folder of your images."),
    "Use my embeddings": ("runs", {"bring": "yes"}, "Search and map embeddings of another model."),
    "Learn how it works": ("figures", {}, "Interactive figures. `lab learn` opens eight lessons."),
}
"""Ways to start: label of a link to the page, its URL parameters, and a description."""


def show_starting_points() -> None:
    """Draw the ways to start, side by side."""
    with st.container(key="doors"):
        columns = st.columns(len(STARTING_POINTS), gap="small", border=True)
    for column, (label, (page, query, words)) in zip(columns, STARTING_POINTS.items(), strict=True):
        with column:
            page_frame.link_to(page, label, query)
            st.caption(words)


def offer_demo() -> None:
    """Draw a button that copies the example data here and adds the demo's trainings to the queue."""
    with page_frame.refusals():
        if st.button(
            "Start the demo", key="start the demo", type="primary", icon=":material/play_arrow:"
        ):
            examples.copy_into(settings.runs_root())
            queueing.enqueue(examples.configs(), "demo")
            st.switch_page("views/home/page.py")
