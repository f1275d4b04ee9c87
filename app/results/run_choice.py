"""The folder of runs: what is in it, what cannot be read, and which run and split a page is about."""

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
from lab.evaluation.identity import ROWS
from lab.runs import Run, examples, joined
from lab.runs.folder import QUEUED, RUNNING

VALIDATION = "validation"
"""The split whose images a run embeds again and again while it trains."""
THE_END = -1
"""In the place of a step: the finished model."""
BEAT = 1.2
"""Seconds that a moment stays while the training plays."""


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

    def why_not(self, name: str) -> str:
        """Why a run that an address names cannot be shown."""
        if name in self.broken:
            return f"The run {name} cannot be read: {self.broken[name]}"
        if name in self.names:
            return f"The run {name} has no embeddings yet. They come with its first evaluation."
        return f"The run {name} is not in this folder: somebody has renamed or deleted it. Choose another."


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


def folders() -> list[str]:
    """Folders of images that runs here were trained on, latest first."""
    return [str(root) for run in library().runs if (root := _read_config(run).data.get("root"))]


def share_images(one: Run, other: Run, split: str) -> bool:
    """Whether two runs may have embedded some of the same images of a split, so that a choice offers them together.
    Which images these are is found out by `cache.common`, when they are compared."""
    if split not in view(one).splits or split not in view(other).splits:
        return False
    mine, theirs = ({**_read_config(run).data, "corrections": None} for run in (one, other))
    if mine == theirs:
        return True
    if OUTSIDE in (mine.get("name"), theirs.get("name")):
        known = [_names(run.path, split, view(run).stamp) for run in (one, other)]
        of_rows = any(place.startswith(ROWS) for _, place in known)
        return not known[0][0].isdisjoint(known[1][0]) and (known[0][1] == known[1][1] or not of_rows)
    digest = _images_digest(one.path, split, view(one).stamp)
    return bool(digest) and digest == _images_digest(other.path, split, view(other).stamp)


@lru_cache(maxsize=5_000)
def _images_digest(path: Path, split: str, stamp: float) -> str:
    return str(Run(path).header(split).get("images", ""))


@lru_cache(maxsize=200)
def _names(path: Path, split: str, stamp: float) -> tuple[frozenset[str], str]:
    """The names of the images that a run embedded of a split, and what they are relative to; read once as long as the
    embeddings stay."""
    try:
        known = Run(path).pictures(split)
    except (ValueError, OSError):  # nothing tells which images they are
        return frozenset(), ""
    return frozenset(known.keys.tolist()), known.place


def on_the_same_images(shown: SplitView) -> dict[str, str]:
    """Other runs that embedded the same split of the same images, by the code that choices have for them."""
    known = library()
    mine = known[shown.run.name]
    alike = [run for run in known.runs if run.name != mine.name and share_images(mine, run, shown.split)]
    return {f"run:{run.name}": run.name for run in alike}


def at_the_same_step(shown: SplitView, name: str) -> SplitView:
    """Another run's view of the same split: after the same step where it stored that validation, else when finished."""
    other = view(library()[name])
    return split_view(other, shown.split, shown.step if shown.step in dict(other.moments) else None)


def chosen_name(config: dict[str, Any], section: str) -> str:
    """The entry that a configuration chose in a section; of what was made elsewhere, what a person called it."""
    chosen = config.get(section)
    if isinstance(chosen, dict) and chosen.get("name") == OUTSIDE:
        return str(chosen.get("what", OUTSIDE) or chosen.get("method", ""))
    default = lab.runs.SECTIONS[section].default
    return str(chosen.get("name", default) if isinstance(chosen, dict) else chosen or default)


def view(run: Run) -> RunView:
    """What the pages that look at embeddings need to know of a run."""
    stored = {p.stem: p.stat().st_mtime for p in (run.path / "embeddings").glob("[!.]*.safetensors")}
    splits = tuple(split for split in SPLITS if split in stored)
    moments = []
    for step, path in run.frames().items():
        with suppress(FileNotFoundError):  # a training at work removes some of them
            moments.append((step, path.stat().st_mtime))
    return RunView(run.name, max(stored.values(), default=0.0), splits, summary(described(run)), tuple(moments))


def summary(config: dict[str, Any]) -> str:
    """Loss, encoder and data set in one line; a run that was made elsewhere may have no loss."""
    return " · ".join(filter(None, (chosen_name(config, section) for section in ("loss", "encoder", "data"))))


def choose_run(film: bool = False, fits: Callable[[Run], bool] = bool) -> RunView:
    """The run picker of the sidebar. Without a run that can be browsed it says what to do next and ends the page.

    film: runs that are still training, and have stored a validation, can be chosen, too. fits: the newest run that does
    is chosen at first.
    """
    known = library()
    ready = need_run("run", known, lambda run: bool(run.splits or (film and run.frames())))
    with st.sidebar:
        if ready:
            first = next((one for one in ready if fits(known[one])), None)
            name = page_frame.select("Run", ready, key="run", initial=first)
            address.tell("run", name)
        warn(known)
    if ready:
        return view(known[name])
    say_what_next(len(known.runs), len(known.broken))
    st.stop()


def need_run(name: str, known: Library, shows: Callable[[Run], bool] = bool) -> list[str]:
    """Take the run that the address names; where it is not there, or was moved away while the page showed it, say so
    and end the page. When it is back it is shown again.

    Args:
        name: where the run stands in the address and in the session's state. shows: whether a page can show a run.

    Returns:
        the names of the runs that the page can show.
    """

    def ready(known: Library) -> list[str]:
        return [run.name for run in known.runs if shows(run)]

    if names := ready(known):
        address.adopt(name, str, names)
    address.leave(name, known.names)
    sentence = known.why_not(address.missing(name))
    page_frame.need(name, names, sentence, "run", lambda asked: asked in ready(library()))
    return names


def leave_gone(name: str) -> None:
    """Refuse a comparison with a run, `run:NAME`, that was moved away while the page shows it."""
    code = str(st.session_state.get(name) or "")
    if code.startswith("run:"):
        address.leave(name, [f"run:{one}" for one in library().names])


def choose_split(run: RunView, film: bool = False) -> SplitView:
    """The choice of a split, in the sidebar. film: of the validation images every stored moment can be chosen."""
    film = film and bool(run.moments)
    splits = [split for split in SPLITS if split in run.splits or (film and split == VALIDATION)]
    address.adopt("split", str, splits, default=splits[0])
    words = f"The run {run.name} has no embeddings of a split {address.missing('split')}. Choose another."
    page_frame.need("split", {one: one.capitalize() for one in splits}, words)
    with st.sidebar:
        split = page_frame.choice("Split", splits, key="split", format_func=str.capitalize, link="split")
    finished = split_view(run, split) if split in run.splits else None
    if finished and not (film and split == VALIDATION and finished.whole.same_source):
        return finished
    step = _choose_step(run, finished is not None)
    return split_view(run, split, None if step == THE_END else step)


def _choose_step(run: RunView, finished: bool) -> int:
    """The moment of the training, on a slider that can play; a new one of a run at work is shown by itself."""
    stops = [*dict(run.moments), *([THE_END] if finished else [])]
    if state_of(run.folder) == RUNNING:
        changes.follow(_moments, run.name, key=f"moments of {run.name}")
    words = {THE_END: "the end"} | {step: f"{step:,}" for step in dict(run.moments)}
    help = (
        "How the network placed the validation images at each stored moment of its training; the end is the finished "
        "model. While a run trains, the newest moment is shown until you move the slider."
    )
    return autoplay.slider("After step", stops, key="step", beat=BEAT, format_func=words.get, help=help)


def _moments(name: str) -> tuple[RunView, str] | None:
    """Return what a run at work has stored, and its state; None once it was moved away."""
    known = library()
    if name not in known.names:
        return None
    return view(known[name]), state_of(known[name])


def need_classes(chosen: SplitView) -> None:
    """End the page where no image has a true match, so that there is nothing to pull together and nothing to judge."""
    if not chosen.whole.judged:
        st.info(
            "No two of these images are known to be of one class, which this page needs. Browse and Map work without "
            "classes; `lab import` and `lab embed` take them along."
        )
        st.stop()


def say_left_out(chosen: SplitView) -> None:
    """Say how many images of the searched ones have no class and what becomes of them, and what limits the scores."""
    if chosen.whole.left_out and chosen.whole.judged:
        outdated = "" if chosen.step is not None else chosen.run.folder.outdated(chosen.split)
        page_frame.say(" ".join(filter(None, (chosen.whole.left_out, outdated))))
    if chosen.step is None and chosen.whole.judged:
        for words in chosen.run.folder.score_warnings(chosen.split):
            page_frame.say(words)


def say_replaced(chosen: SplitView, items: np.ndarray) -> None:
    """Say which of the images that are shown are other pictures now than those that the scores are of."""
    if chosen.step is None:
        run = chosen.run.folder
        keys = joined.replaced(run, chosen.split, chosen.images, items)
        if told := joined.replaced_sentence(run, chosen.split, keys):
            page_frame.say(told)


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
    offer_demo()
    doors()
    if not unfinished:
        st.caption("From a terminal")
        st.code(f"lab train --data emoji7 --loss recall_at_k --runs {root}", language="bash")


DOORS = {
    "Use my pictures": ("train", {"images": "folder"}, "Train on a folder of your own."),
    "Bring my vectors": ("runs", {"bring": "yes"}, "Search and map what another model made."),
    "Learn how it works": ("figures", {}, "Figures to move. `lab learn` opens eight lessons."),
}
"""Ways to begin: label of a link to its page, what its address says, and what is there."""


def doors() -> None:
    """Draw every way to begin, side by side, each one click away."""
    with st.container(key="doors"):
        columns = st.columns(len(DOORS), gap="small", border=True)
    for column, (label, (page, query, words)) in zip(columns, DOORS.items(), strict=True):
        with column:
            page_frame.link_to(page, label, query)
            st.caption(words)


def offer_demo() -> None:
    """A button that copies the examples here and lets the demo's trainings wait for their turn."""
    with page_frame.refusals():
        if st.button("Start the demo", key="start the demo", type="primary", icon=":material/play_arrow:"):
            examples.copy_into(settings.runs_root())
            queueing.enqueue(examples.configs(), "demo")
            st.switch_page("views/home/page.py")
