"""The selected images. All pages, and all runs on the same images, share one selection.

A selection can be saved under a name (as a tag of its images), exported, left out of a training, or trained on alone.
"""

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
"""Most characters of a name."""

NO_ITEMS = np.empty(0, np.int64)

_NAME = "selection"
"""Session key and URL parameter: the saved selection that was opened last."""


def read(run: RunView) -> np.ndarray:
    """Return the selected items of a run's data set, int64 [n], ascending.

    The first call on a page opens the saved selection that the URL names.
    """
    state = st.session_state
    if address.load(_NAME, default=""):
        selections = saved(run)
        if state[_NAME] in selections:
            state[_key(run)] = selections[state[_NAME]]
    return state.get(_key(run), NO_ITEMS)


def choose(
    run: RunView, items: Iterable[int], how: Literal["replace", "add", "remove"] = "replace"
) -> None:
    """Replace the selection by some images, add them to it, or remove them from it."""
    chosen = np.unique(np.fromiter(items, np.int64))
    if how == "add":
        chosen = np.union1d(read(run), chosen)
    elif how == "remove":
        chosen = np.setdiff1d(read(run), chosen)
    st.session_state[_key(run)] = chosen


def chooser(run: RunView, shown: Iterable[int]) -> Callable[[Iterable[int]], None]:
    """Return `on_select` of a gallery that shows some images. The selection of other images does not change."""
    return lambda chosen: choose(run, [*np.setdiff1d(read(run), list(shown)), *chosen])


def choosable(run: RunView, sections: Iterable[CardSection]) -> dict[str, Any]:
    """Return the arguments of a gallery that let the user select its cards."""
    shown = [card.id for section in sections for card in section.cards]
    return {"selected": read(run).tolist(), "on_select": chooser(run, shown)}


def marks_of(run: RunView) -> dict[int, Mark]:
    """Return the users' marks of images of a run's data set, by item."""
    return _marks_of(run, settings.written(settings.runs_root() / marks.FILE))


@lru_cache(maxsize=4)
def _marks_of(run: RunView, changed: int) -> dict[int, Mark]:
    return marks.read(settings.runs_root(), _images(run))


def saved(run: RunView) -> dict[str, np.ndarray]:
    """Return the saved selections of a run's data set, name to items int64 [n]."""
    by_name: dict[str, list[int]] = {}
    for item, mark in sorted(marks_of(run).items()):
        for name in mark.tags:
            by_name.setdefault(name, []).append(item)
    return {name: np.array(by_name[name], np.int64) for name in sorted(by_name)}


def save(run: RunView, name: str, items: Iterable[int]) -> None:
    """Save some images under a name and replace the previous selection of that name. No images delete the name.

    Raises:
        ValueError: an image cannot be read.
        GuestRefused: the visitor is a guest.
    """
    files.check_allowed()
    marks_before = marks_of(run)
    named = {int(item) for item in items}
    named_before = {item for item, mark in marks_before.items() if name in mark.tags}
    changes: dict[int, Mark | None] = {}
    for item in named | named_before:
        mark = marks_before.get(item, Mark())
        tags = set(mark.tags)
        if item in named:
            tags.add(name)
        else:
            tags.remove(name)
        changes[item] = replace(mark, tags=tuple(sorted(tags)))
    marks.write(settings.runs_root(), _images(run), changes)
    st.session_state[_NAME] = name if named else ""


def bar(run: RunView, offered: Mapping[str, np.ndarray] | None = None) -> None:
    """Draw the tools of the selection, if there is anything to select, open or use.

    Args:
        offered: images of the page that a button selects: noun for them, such as "page", to items int64 [n].
    """
    items = read(run)
    selections = saved(run)
    name = st.session_state.get(_NAME, "")
    if name and name not in selections:
        page_frame.say_error(
            f"There is no selection {name} of these images. It may have been deleted or renamed."
        )

    # The URL names a saved selection while it is not changed.
    is_saved = name in selections and np.array_equal(items, selections[name])
    address.store(_NAME, name if is_saved else "", "")
    if not (len(items) or selections or offered):
        return

    with st.container(horizontal=True, vertical_alignment="center", key="selection bar"):
        words = "No images selected"
        if len(items):
            words = f"**{counted(len(items), 'image')} selected**"
        if is_saved:
            words += f" · {page_frame.as_text(name)}"
        st.markdown(words, width="content")
        for index, (noun, offered_items) in enumerate((offered or {}).items()):
            _draw_offer(run, items, offered_items, noun, f"select {index}")
        if len(items) or selections:
            _draw_saved(run, items, selections, name)
        if len(items):
            _draw_actions(run, items)


def _draw_actions(run: RunView, items: np.ndarray) -> None:
    """Draw what can be done with the selected images."""

    def table() -> Any:
        return marks.as_table(_images(run), items.tolist(), marks_of(run))

    if page_frame.current_title() != "Images":
        page_frame.link_to("grid", "Show all", {"run": run.name, "only": "selected"})
    elif len(items) == 1:
        _draw_browse_link(run, items[0])
    help = "A table with path, label, split, tags and answer. The data set `manifest` can read it."
    page_frame.download("Export", table, "selection.csv", help=help)
    _draw_training(run, items)
    st.button(
        "Clear",
        icon=":material/close:",
        key="selection clear",
        on_click=choose,
        args=(run, NO_ITEMS),
    )


def _draw_browse_link(run: RunView, item: int) -> None:
    """Draw a link to the neighbours of an image, if it was embedded."""
    for name, split in _images(run).splits.items():
        if name in run.splits and item in split.items:
            page_frame.link_to(
                "browse", "Browse it", {"run": run.name, "split": name, "query": str(item)}
            )
            return


def _draw_offer(run: RunView, selected: np.ndarray, items: np.ndarray, noun: str, key: str) -> None:
    """Draw a button that adds images to the selection, or removes them if all are selected."""
    if len(items) and np.isin(items, selected).all():
        label = f"Unselect {noun} ({len(items):,})"
        icon = ":material/indeterminate_check_box:"
        how = "remove"
    else:
        label = f"Select {noun} ({len(items):,})"
        icon = ":material/check_box:"
        how = "add"
    help = "Map, Check, Browse and Images share one selection."
    disabled = not len(items)
    st.button(
        label,
        key=key,
        icon=icon,
        on_click=choose,
        args=(run, items, how),
        disabled=disabled,
        help=help,
    )


def _draw_saved(
    run: RunView, items: np.ndarray, selections: Mapping[str, np.ndarray], name: str
) -> None:
    """Draw the menu that saves the selection under a name, and opens, changes or deletes a saved selection."""

    def save_items(items: np.ndarray) -> None:
        with page_frame.refusals(
            lambda reason: st.toast(f"The selection could not be saved: {reason}")
        ):
            save(run, name, items)

    def reopen(name: str) -> None:
        choose(run, selections[name])
        st.session_state[_NAME] = name

    with st.popover("Save or open", icon=":material/bookmarks:"):
        for saved_name, saved_items in selections.items():
            label = f"Open {page_frame.as_text(saved_name)} ({len(saved_items):,})"
            st.button(
                label,
                key=f"open {saved_name}",
                on_click=reopen,
                args=(saved_name,),
                width="stretch",
            )
        help = "A selection is saved beside the runs, as a tag of its images."
        placeholder = "new or saved selection"

        # Save the selection under the typed name, or delete the selection of that name.
        typed = st.text_input(
            "Name", name, max_chars=LONGEST, live=True, help=help, placeholder=placeholder
        )
        name = " ".join(typed.split())
        before = selections.get(name, NO_ITEMS)
        is_locked = not name or files.guest()
        with st.container(horizontal=True):
            label = f"Save {len(items):,}"
            disabled = is_locked or np.array_equal(items, before)
            st.button(label, key="saved 0", on_click=save_items, args=(items,), disabled=disabled)
            if len(before):
                st.button(
                    "Delete",
                    key="saved 1",
                    on_click=save_items,
                    args=(NO_ITEMS,),
                    disabled=is_locked,
                )


def _draw_training(run: RunView, items: np.ndarray) -> None:
    """Draw the two ways to train with the selection, if the run's data set accepts corrections."""
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
            if without:
                train_with(run, dict.fromkeys(items.tolist(), Mark("drop")))
            elif only:
                others = others_for_training(_images(run), items)
                train_with(run, dict.fromkeys(others.tolist(), Mark("drop")))


def others_for_training(images: ImageSet, items: np.ndarray) -> np.ndarray:
    """Return the training images that are not among `items`, int64 [m].

    Raises:
        ValueError: no item is a training image, so there would be nothing to train on.
    """
    training = NO_ITEMS
    if "train" in images.splits:
        training = images.splits["train"].items
    if not np.isin(training, items).any():
        raise ValueError(
            "None of the selected images is for training, so none would be left to train on."
        )
    return np.setdiff1d(training, items)


def train_with(run: RunView, corrections: Mapping[int, Mark]) -> None:
    """Open the form of the Train page with the run's settings and some corrections.

    Raises:
        GuestRefused: the visitor is a guest, who may not write the table of corrections.
    """
    files.check_allowed()
    config = run.folder.config
    root = settings.runs_root()
    table = marks.corrections(_images(run), corrections, config.data.values["corrections"])
    path = marks.save_corrections(root, table)
    knob_forms.fill(config.changed("data.corrections", str(path)))
    st.session_state["name"] = free_name(root, run.name)
    st.switch_page("views/train/page.py")


def _images(run: RunView) -> ImageSet:
    return cache.images(run.name, run.stamp)


@lru_cache(maxsize=100)
def _key(run: RunView) -> str:
    """Return the session key of the selection. Runs on the same images have the same key."""
    images = _images(run)
    return f"selected of {images.root} {len(images.keys)} {keys_digest(images)}"
