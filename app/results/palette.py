"""What the palette of every page finds and where it leads: pages, runs, and classes and images of the chosen run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

import lab.runs
from app.components.inputs import Place, keys
from app.results import cache, run_choice, text_search
from app.results.cache import SplitView
from app.shared import page_frame, settings
from lab.evaluation.collection import Collection

if TYPE_CHECKING:
    import pyarrow

MOST = {"run": 8, "class": 6, "image": 6}
"""Runs, classes and images that are offered at once."""
OF_A_RUN = ("browse", "two_stage", "check", "map", "inspect")
"""Pages about one run: a run that is chosen on one of them is shown there."""
_WORDS, _GOAL = "palette words", "palette goal"
"""In the session's state: what was just typed, and what was just chosen."""

Pages = Mapping[str, StreamlitPage]


def letters(pages: Pages) -> dict[str, tuple[str, str]]:
    """Page to its letter and title: the first letter of the title that no page before it has taken."""
    taken: dict[str, tuple[str, str]] = {}
    for name, page in pages.items():
        used = {letter for letter, _ in taken.values()}
        free = (one for one in page.title.lower() if one.isalpha() and one not in used)
        taken[name] = next(free, ""), page.title
    return taken


def listen(pages: Pages) -> None:
    """Listen to the keyboard on the page that is about to be drawn. pages: by their name.

    Only this part of the page is drawn anew while somebody types.
    """
    with st.container(key="palette"):
        st.fragment(page_frame.guarded(_palette))(pages)


def _palette(pages: Pages) -> None:
    state = st.session_state
    words = state.pop(_WORDS, None)
    places = matches(pages, words) if words is not None else []
    ask, choose = (lambda typed: state.update({_WORDS: typed.strip()[:200]})), lambda *one: state.update({_GOAL: one})
    keys(letters(pages), places, words, key="keys", on_ask=ask, on_choose=choose)
    # Only now: a component that was not drawn before the page is left would be unknown to the next choice.
    if goal := state.pop(_GOAL, None):
        _go(pages, *goal)


def _go(pages: Pages, kind: str, name: str) -> None:
    """Turn to what was chosen; the name comes from a browser, and a page reads its own address with care."""
    if kind == "page" and name in pages:
        st.switch_page(pages[name])
    if kind == "run" and name in {run.name for run in lab.runs.list(settings.runs_root())}:
        if not lab.runs.open(cache.run_path(name)).splits:
            st.switch_page(pages["watch"], query_params={"watched": name})
        here = next((one for one in OF_A_RUN if pages[one].title == page_frame.shown()), "browse")
        st.switch_page(pages[here], query_params={"run": name})
    view = _view() if kind in ("class", "image") else None
    if view is not None:
        st.switch_page(pages["browse"], query_params=_query(view, kind, name))


def _query(view: SplitView, kind: str, name: str) -> dict[str, str]:
    """The address of an image as the query, or of a class with its first image."""
    where = {"run": view.run.name, "split": view.split}
    if kind == "image":
        return {**where, "queries": "random", "query": name}
    query = view.whole.query
    first = query.items[query.labels == int(name)][:1].tolist() if name.isdecimal() else []
    return {**where, "queries": "class", "class": name, **({"query": str(first[0])} if first else {})}


def matches(pages: Pages, words: str) -> list[Place]:
    """What fits some words, in the order pages, runs, classes, images; without words pages and the newest runs."""
    listed = [Place("page", name, page.title) for name, page in pages.items() if _fits(page.title, words)]
    known = (run for run in lab.runs.list(settings.runs_root()) if _fits(run.name, words))
    listed += [Place("run", run.name, run.name, run.state) for run in islice(known, MOST["run"])]
    view = _view() if words else None
    return listed if view is None else [*listed, *_inside(view, words)]


def _inside(view: SplitView, words: str) -> list[Place]:
    """Classes and images of a run that fit some words."""
    whole, where = view.whole, f"{view.run.name}, {view.split}"
    labels, counts, names = _class_names(*view.key, whole)
    classes = [
        Place("class", str(labels[row]), str(whole.images.class_names[labels[row]]), f"{counts[row]:,} in {where}")
        for row in text_search.first_rows(names, words, MOST["class"])
    ]
    items = [int(words)] if words.isdecimal() and len(words) < 10 and whole.row(int(words)) is not None else []
    rows = text_search.holding(_file_names(*view.key, whole), words)[: MOST["image"]]
    items = list(dict.fromkeys([*items, *whole.query.items[rows].tolist()]))[: MOST["image"]]
    keys = whole.images.keys
    return [*classes, *(Place("image", str(item), str(keys[item]), f"image {item} of {where}") for item in items)]


@st.cache_resource(max_entries=2, show_spinner=False)
def _class_names(
    name: str, split: str, stamp: float, _whole: Collection
) -> tuple[np.ndarray, np.ndarray, pyarrow.LargeBinaryArray]:
    """Labels and counts, int64 [c], and names of the classes of a split's queries that have a name; images without a
    class, of which there may be a million, are found by their file names."""
    labels, counts = np.unique(_whole.query.labels, return_counts=True)
    names = np.array([str(_whole.images.class_names[label]) for label in labels])
    kept = names != ""
    return labels[kept], counts[kept], text_search.known(names[kept])


@st.cache_resource(max_entries=2, show_spinner=False)
def _file_names(name: str, split: str, stamp: float, _whole: Collection) -> pyarrow.LargeBinaryArray:
    """The names of a split's images."""
    return text_search.known(str(_whole.images.keys[item]) for item in _whole.query.items.tolist())


def _view() -> SplitView | None:
    """The run and split that the pages are about, else of the newest run that can be browsed; None where they cannot be
    read: their own pages say why."""
    state = st.session_state
    known = sorted(lab.runs.list(settings.runs_root()), key=lambda run: run.name != state.get("run"))
    run = next((run for run in known if run.splits), None)
    try:
        about = run and run_choice.view(run)
        if not about:
            return None
        chosen = state.get("split")
        return cache.split_view(about, chosen if chosen in about.splits else about.splits[0])
    except (ValueError, OSError):
        return None


def _fits(title: str, words: str) -> bool:
    title = title.lower()
    return all(word in title for word in words.lower().split())
