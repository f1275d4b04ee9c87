"""The command palette of every page. It finds pages, runs, and classes and images of the chosen run."""

from collections.abc import Mapping
from itertools import islice
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

import lab.runs
from app.components.inputs import Target, keys
from app.results import cache, filters, run_choice
from app.results.cache import SplitView
from app.shared import page_frame, settings

MOST = {"run": 8, "class": 6, "image": 6}
"""Largest number of results of each kind."""

HOME = "home"
"""The page at `/`."""

RUN_PAGES = ("grid", "browse", "two_stage", "check", "map", "inspect")
"""Pages about one run. A run that is chosen in the palette on one of them is opened there."""

_WORDS = "palette words"
"""Session key of the text just typed."""

_DRAW_COUNT = "palette drawn"
"""Session key: how often pages have been drawn."""

Pages = Mapping[str, StreamlitPage]


def letters(pages: Pages) -> dict[str, str]:
    """Return the letter of each page: the first of its title that no earlier page uses."""
    by_page: dict[str, str] = {}
    for name, page in pages.items():
        by_page[name] = ""
        for letter in page.title.lower():
            if letter.isalpha() and letter not in by_page.values():
                by_page[name] = letter
                break
    return by_page


def listen(pages: Pages) -> None:
    """Listen to the keyboard on the page that is drawn next.

    Only this part of the page is drawn again while the user types.

    Args:
        pages: name to page.
    """
    draw_count = st.session_state.get(_DRAW_COUNT, 0) + 1
    st.session_state[_DRAW_COUNT] = draw_count
    with st.container(key="palette"):
        st.fragment(page_frame.guarded(_palette))(pages, draw_count)


def _palette(pages: Pages, draw_count: int) -> None:
    def remember(typed: str) -> None:
        st.session_state[_WORDS] = typed.strip()[:200]

    words = st.session_state.pop(_WORDS, None)
    results = []
    if words is not None:
        results = search(pages, words)
    shortcuts = []
    for name, letter in letters(pages).items():
        shortcuts.append((letter, Target("page", pages[name].title, _url(name))))
    keys(shortcuts, results, words, draw_count, key="keys", on_ask=remember)


def _url(page: str, **query: str) -> str:
    """Return the URL of a page, relative to any other page."""
    path = "./" if page == HOME else page
    if query:
        return f"{path}?{urlencode(query)}"
    return path


def search(pages: Pages, words: str) -> list[Target]:
    """Return what matches some words: pages, then runs, classes and images. Without words: pages and the newest
    runs."""
    targets = []
    run_page = "browse"
    for name, page in pages.items():
        if _matches(page.title, words):
            targets.append(Target("page", page.title, _url(name)))
        if name in RUN_PAGES and page.title == page_frame.current_title():
            run_page = name

    matching_runs = (
        run for run in lab.runs.list(settings.runs_root()) if _matches(run.name, words)
    )
    for run in islice(matching_runs, MOST["run"]):
        url = _url(run_page, run=run.name) if run.splits else _url("watch", watched=run.name)
        targets.append(Target("run", run.name, url, run.state))

    # Without words there would be too many classes and images.
    if words:
        view = _view()
        if view is not None:
            targets += _classes(view, words)
            targets += _images(view, words)
    return targets


def _classes(view: SplitView, words: str) -> list[Target]:
    """Return the classes of a split that match some words; first those that begin with them."""
    query = view.collection.query
    targets = []
    labels, first_rows, counts = np.unique(query.labels, return_index=True, return_counts=True)
    for label, row, count in zip(labels, first_rows, counts, strict=True):
        title = view.images.class_name(label)  # "" for images without a class
        if title and _matches(title, words):
            parameters = {"queries": "class", "class": title, "query": str(query.items[row])}
            url = _url("browse", run=view.run.name, split=view.split, **parameters)
            targets.append(
                Target("class", title, url, f"{count:,} in {view.run.name}, {view.split}")
            )
    targets.sort(key=lambda target: not target.title.lower().startswith(words.lower()))
    return targets[: MOST["class"]]


def _images(view: SplitView, words: str) -> list[Target]:
    """Return the images of a split that match some words or have them as their number."""
    collection = view.collection
    items = []
    if words.isdecimal() and len(words) < 10 and collection.row(int(words)) is not None:
        items.append(int(words))
    rows = filters.rows_with_words(
        filters.texts_of(view.run.name, view.run.stamp, view.images), words
    )
    items += np.intersect1d(rows, collection.query.items).tolist()
    targets = []
    for item in islice(dict.fromkeys(items), MOST["image"]):
        url = _url("browse", run=view.run.name, split=view.split, queries="random", query=str(item))
        note = f"image {item} of {view.run.name}, {view.split}"
        targets.append(Target("image", str(view.images.keys[item]), url, note))
    return targets


def _view() -> SplitView | None:
    """Return the chosen run and split, or those of the newest run with embeddings, or None if they cannot be read."""
    state = st.session_state
    runs = sorted(lab.runs.list(settings.runs_root()), key=lambda run: run.name != state.get("run"))
    run = next((run for run in runs if run.splits), None)
    if run is None:
        return None
    try:
        view = run_choice.view(run)
        if not view.splits:
            return None
        split = state.get("split")
        if split not in view.splits:
            split = view.splits[0]
        return cache.split_view(view, split)
    except (ValueError, OSError):  # the run's own pages say why
        return None


def _matches(title: str, words: str) -> bool:
    title = title.lower()
    return all(word in title for word in words.lower().split())
