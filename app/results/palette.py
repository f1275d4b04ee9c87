"""What the palette of every page finds and where it leads: pages, runs, and classes and images of the chosen run."""

from collections.abc import Mapping
from functools import partial
from itertools import islice
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

import lab.runs
from app.components.inputs import Place, keys
from app.results import cache, filters, run_choice
from app.results.cache import SplitView
from app.shared import page_frame, settings

MOST = {"run": 8, "class": 6, "image": 6}
"""Runs, classes and images that are offered at once."""
FIRST = "home"
"""The page that lives at `/`."""
OF_A_RUN = ("grid", "browse", "two_stage", "check", "map", "inspect")
"""Pages about one run: a run that is chosen on one of them is shown there."""
_WORDS, _DRAWN = "palette words", "palette drawn"
"""In the session's state: what was just typed, and how many times pages have been drawn."""

Pages = Mapping[str, StreamlitPage]


def letters(pages: Pages) -> dict[str, str]:
    """Page to its letter: the first of the title that no page before it has taken."""
    taken: dict[str, str] = {}
    for name, page in pages.items():
        free = (one for one in page.title.lower() if one.isalpha() and one not in taken.values())
        taken[name] = next(free, "")
    return taken


def listen(pages: Pages) -> None:
    """Listen to the keyboard on the page that is about to be drawn. pages: by their name.

    Only this part of the page is drawn anew while somebody types.
    """
    st.session_state[_DRAWN] = drawn = st.session_state.get(_DRAWN, 0) + 1
    with st.container(key="palette"):
        st.fragment(page_frame.guarded(_palette))(pages, drawn)


def _palette(pages: Pages, drawn: int) -> None:
    words = st.session_state.pop(_WORDS, None)
    places = matches(pages, words) if words is not None else []
    listed = [(letter, Place("page", pages[name].title, _address(name))) for name, letter in letters(pages).items()]
    keys(
        listed,
        places,
        words,
        drawn,
        key="keys",
        on_ask=lambda typed: st.session_state.update({_WORDS: typed.strip()[:200]}),
    )


def _address(page: str, **query: str) -> str:
    """Where a page is, seen from any other; the first page is the folder itself."""
    return ("./" if page == FIRST else page) + (f"?{urlencode(query)}" if query else "")


def matches(pages: Pages, words: str) -> list[Place]:
    """What fits some words, in the order pages, runs, classes, images; without words pages and the newest runs."""
    here = next((name for name in OF_A_RUN if pages[name].title == page_frame.shown()), "browse")
    listed = [Place("page", page.title, _address(name)) for name, page in pages.items() if _fits(page.title, words)]
    for run in islice((run for run in lab.runs.list(settings.runs_root()) if _fits(run.name, words)), MOST["run"]):
        shown = _address(here, run=run.name) if run.splits else _address("watch", watched=run.name)
        listed.append(Place("run", run.name, shown, run.state))
    view = _view() if words else None
    return listed if view is None else [*listed, *_inside(view, words)]


def _inside(view: SplitView, words: str) -> list[Place]:
    """Classes and images of a run that fit some words."""
    whole, images, where = view.whole, view.images, f"{view.run.name}, {view.split}"
    browse = partial(_address, "browse", run=view.run.name, split=view.split)
    classes = []
    labels, first, counts = np.unique(whole.query.labels, return_index=True, return_counts=True)
    for label, row, count in zip(labels, first, counts, strict=True):
        title = images.class_name(label)  # images without a class, of which there may be many, have none
        if title and _fits(title, words):
            there = browse(**{"queries": "class", "class": title, "query": str(whole.query.items[row])})
            classes.append(Place("class", title, there, f"{count:,} in {where}"))
    classes.sort(key=lambda one: not one.title.lower().startswith(words.lower()))
    items = [int(words)] if words.isdecimal() and len(words) < 10 and whole.row(int(words)) is not None else []
    held = filters.holding(filters.texts_of(view.run.name, view.run.stamp, images), words)
    listed = dict.fromkeys([*items, *np.intersect1d(held, whole.query.items).tolist()])
    places = [
        Place("image", str(images.keys[item]), browse(queries="random", query=str(item)), f"image {item} of {where}")
        for item in islice(listed, MOST["image"])
    ]
    return [*classes[: MOST["class"]], *places]


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
