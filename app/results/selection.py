"""The selected images: one set for all runs on the same images, the same on every page; saved under a name as a tag of
the marks, exported, trained without, or trained on alone."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import streamlit as st

from app.components.gallery import CardSection
from app.forms import knob_forms
from app.results import cache
from app.results.cache import RunView
from app.shared import address, page_frame, settings
from lab.core import files
from lab.core.formats import counted
from lab.data import ImageSet
from lab.evaluation.identity import keys_digest
from lab.runs import free_name, marks
from lab.runs.marks import Mark

LONGEST = 60
"""Characters of a name."""
NOBODY = np.empty(0, np.int64)
_NAME = "selection"
"""In the session's state and in the address: the saved selection that was opened last."""


def read(run: RunView) -> np.ndarray:
    """The selected images of a run's data set, item numbers int64 [n], ascending. The first call on a page opens the
    saved selection that the address names."""
    state = st.session_state
    if address.adopt(_NAME, default="") and state[_NAME] in (there := saved(run)):
        state[_key(run)] = there[state[_NAME]]
    return state.get(_key(run), NOBODY)


def choose(run: RunView, items: Iterable[int], how: Literal["replace", "add", "remove"] = "replace") -> None:
    """Select images: these alone, these too, or these no longer."""
    before, given = read(run), np.unique(np.fromiter(items, np.int64))
    change = {"replace": lambda: given, "add": lambda: np.union1d(before, given)}
    st.session_state[_key(run)] = change.get(how, lambda: np.setdiff1d(before, given))()


def chooser(run: RunView, shown: Iterable[int]) -> Callable[[Iterable[int]], None]:
    """What a gallery of the images `shown` takes as `on_select`; images that it does not show stay as they are."""
    return lambda chosen: choose(run, [*np.setdiff1d(read(run), list(shown)), *chosen])


def choosable(run: RunView, sections: Iterable[CardSection]) -> dict[str, Any]:
    """What a gallery takes besides, so that the cards of its sections can be selected."""
    shown = [card.id for section in sections for card in section.cards]
    return {"selected": read(run).tolist(), "on_select": chooser(run, shown)}


def known(run: RunView) -> dict[int, Mark]:
    """What people say of the images of a run's data set, by item; read again when somebody has marked one."""
    return _known(run, settings.written(settings.runs_root() / marks.FILE))


@lru_cache(maxsize=4)
def _known(run: RunView, changed: int) -> dict[int, Mark]:
    return marks.read(settings.runs_root(), _images(run))


def saved(run: RunView) -> dict[str, np.ndarray]:
    """The saved selections of a run's data set, name to items int64 [n]."""
    by_name: dict[str, list[int]] = {}
    for item, mark in sorted(known(run).items()):
        for name in mark.tags:
            by_name.setdefault(name, []).append(item)
    return {name: np.array(by_name[name], np.int64) for name in sorted(by_name)}


def save(run: RunView, name: str, items: Iterable[int]) -> None:
    """Keep some images under a name, instead of those that had it; none of them deletes the name.

    Raises:
        ValueError: an image cannot be read.
        GuestRefused: a guest asks.
    """
    files.check_allowed()
    at, wanted = known(run), {int(one) for one in items}
    changes: dict[int, Mark | None] = {}
    for item in wanted | {item for item, mark in at.items() if name in mark.tags}:
        mark = at.get(item, Mark())
        tags = {*mark.tags, name} if item in wanted else {*mark.tags} - {name}
        changes[item] = replace(mark, tags=tuple(sorted(tags)))
    marks.write(settings.runs_root(), _images(run), changes)
    st.session_state[_NAME] = name if wanted else ""


def bar(run: RunView, offered: Mapping[str, np.ndarray] | None = None) -> None:
    """The line of tools of the selection; nothing where nothing is selected, saved or offered.

    Args:
        offered: images of the page that one click selects, such as those inside a lasso: items int64 [n] by what they
            are, as in "page".
    """
    items, there, name = read(run), saved(run), st.session_state.get(_NAME, "")
    if name and name not in there:
        page_frame.say_error(f"There is no selection {name} of these images. It may have been deleted or renamed.")
    named = name in there and np.array_equal(items, there[name])
    address.tell(_NAME, name if named else "", "")
    if not (len(items) or there or offered):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="selection bar"):
        words = f"**{counted(len(items), 'image')} selected**" if len(items) else "No images selected"
        st.markdown(f"{words} · {page_frame.as_text(name)}" if named else words, width="content")
        for at, (what, some) in enumerate((offered or {}).items()):
            _draw_offer(run, items, some, what, f"select {at}")
        if len(items) or there:
            _draw_saved(run, items, there, name)
        if len(items):
            _draw_link(run, items)
            help = "A table with path, label, split, tags and answer. The data set `manifest` can read it."
            table = lambda: marks.as_table(_images(run), items.tolist(), known(run))  # noqa: E731
            page_frame.offer("Export", table, "selection.csv", help=help)
            _draw_training(run, items)
            st.button("Clear", icon=":material/close:", key="selection clear", on_click=choose, args=(run, NOBODY))


def _draw_link(run: RunView, items: np.ndarray) -> None:
    """To the selected images; from there to the neighbours of one, where it was embedded."""
    if page_frame.shown() != "Images":
        page_frame.link_to("grid", "Show all", {"run": run.name, "only": "selected"})
    elif len(items) == 1 and (
        at := [name for name, one in _images(run).splits.items() if name in run.splits and items[0] in one.items]
    ):
        page_frame.link_to("browse", "Browse it", {"run": run.name, "split": at[0], "query": str(items[0])})


def _draw_offer(run: RunView, selected: np.ndarray, items: np.ndarray, what: str, key: str) -> None:
    """A button that adds images to the selection, or takes them out where all are in it."""
    held = bool(len(items)) and bool(np.isin(items, selected).all())
    label, how = (f"Unselect {what}", "remove") if held else (f"Select {what}", "add")
    look: dict[str, Any] = {"icon": f":material/{'indeterminate_check_box' if held else 'check_box'}:"}
    help = "Map, Check, Browse and Images share one selection."
    label = f"{label} ({len(items):,})"
    st.button(label, key=key, on_click=choose, args=(run, items, how), disabled=not len(items), help=help, **look)


def _draw_saved(run: RunView, items: np.ndarray, there: Mapping[str, np.ndarray], name: str) -> None:
    """Save the selection under a name; open, change or delete a saved one."""

    def keep(items: np.ndarray) -> None:
        with page_frame.refusals(lambda why: st.toast(f"The selection could not be saved: {why}")):
            save(run, name, items)

    def reopen(name: str) -> None:
        choose(run, there[name])
        st.session_state[_NAME] = name

    with st.popover("Save or open", icon=":material/bookmarks:"):
        for one, saved_items in there.items():
            label = f"Open {page_frame.as_text(one)} ({len(saved_items):,})"
            st.button(label, key=f"open {one}", on_click=reopen, args=(one,), width="stretch")
        help = "A selection is saved beside the runs, as a tag of its images."
        typed = st.text_input(
            "Name", name, max_chars=LONGEST, live=True, help=help, placeholder="of a new or saved one"
        )
        name = " ".join(typed.split())
        before = there.get(name, NOBODY)
        with st.container(horizontal=True):
            for at, (label, kept) in enumerate({f"Save {len(items):,}": items, "Delete": NOBODY}.items()):
                if len(before) or not at:
                    unable = not name or files.guest() or np.array_equal(kept, before)
                    st.button(label, key=f"saved {at}", on_click=keep, args=(kept,), disabled=unable)


def _draw_training(run: RunView, items: np.ndarray) -> None:
    """The two ways to train with the selection, where the run's data set takes corrections."""
    data = run.folder.config.data
    if data.outside or "corrections" not in data.values:
        return
    with st.popover("Train", icon=":material/replay:"):
        st.markdown(page_frame.as_text(marks.where(_images(run), items.tolist(), "selected image")))
        st.caption(
            "Both fill the form of the Train page with this run's settings. Images that are left out are neither "
            "trained on nor tested on; scores over other test images cannot be compared with those of this run."
        )
        without = st.button("Train without these")
        help = "Leaves out all other training images. Validation and test stay as they are."
        only = st.button("Train only on these", help=help)
        with page_frame.refusals():
            if without or only:
                left_out = others_for_training(_images(run), items) if only else items
                train_with(run, dict.fromkeys(left_out.tolist(), Mark("drop")))


def others_for_training(images: ImageSet, items: np.ndarray) -> np.ndarray:
    """The training images besides some, int64 [m].

    Raises:
        ValueError: these are all, so that none would be left to train on.
    """
    training = images.splits["train"].items if "train" in images.splits else NOBODY
    if not np.isin(training, items).any():
        raise ValueError("None of the selected images is for training, so none would be left to train on.")
    return np.setdiff1d(training, items)


def train_with(run: RunView, given: Mapping[int, Mark]) -> None:
    """Open the form of the Train page, with the run's settings and corrections by some marks.

    Raises:
        GuestRefused: the corrections are a file, which a guest may not write.
    """
    files.check_allowed()
    config, root = run.folder.config, settings.runs_root()
    table = marks.corrections(_images(run), given, config.data.values["corrections"])
    path = marks.save_corrections(root, table)
    knob_forms.fill(config.changed("data.corrections", str(path)))
    st.session_state["name"] = free_name(root, run.name)
    st.switch_page("views/train/page.py")


def _images(run: RunView) -> ImageSet:
    return cache.images(run.name, run.stamp)


@lru_cache(maxsize=100)
def _key(run: RunView) -> str:
    """Where the selection of a data set stands in the session's state: the same for runs on the same images."""
    images = _images(run)
    return f"selected of {images.root} {len(images.keys)} {keys_digest(images)}"
