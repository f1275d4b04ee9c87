"""Only some images: by class, super-class, or anything else that the data set knows about them."""

from __future__ import annotations

import json
from collections.abc import Container
from functools import partial

import numpy as np
import streamlit as st

from app.results.cache import RunView
from app.shared import address, page_frame
from lab.data import ImageSet
from lab.evaluation.collection import Collection
from lab.evaluation.filters import Filter, column, fields

SIDES = {"both": "Both", "queries": "Queries", "neighbours": "Neighbours"}
MANY = 2_000
"""Values above which a field is filtered by words, not from a list."""


@st.cache_data(max_entries=32, show_spinner=False)
def values(_images: ImageSet, _items: np.ndarray, name: str, run: str, split: str, stamp: float) -> dict[str, int]:
    """The values of a field in a split, with how many images have each."""
    names, counts = np.unique(column(_images, name, _items), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _adopt(names: list[str]) -> None:
    """Filter as a new address says: `filter` is an object of fields, each with the values that pass or with words."""

    def read(text: str) -> dict[str, list[str] | str]:
        choices = json.loads(text)
        if not isinstance(choices, dict):
            raise ValueError("a filter must be an object")
        return {name: list(map(str, one)) if isinstance(one, list) else str(one) for name, one in choices.items()}

    address.adopt("filter", read, lambda sent: sent.keys() <= set(names), key="filter given", default={})
    sent = st.session_state.pop("filter given", None)
    if sent is None:
        return
    st.session_state["filter by"] = list(sent)
    for name in names:
        one = sent.get(name, [])
        st.session_state[f"filter {name}"] = one if isinstance(one, list) else []
        st.session_state[f"filter {name} words"] = one if isinstance(one, str) else ""


def _keep_known(key: str, known: Container[str]) -> None:
    chosen = st.session_state.get(key, [])
    if any(value not in known for value in chosen):
        st.session_state[key] = [value for value in chosen if value in known]
    page_frame.keep(key, [])


def on(collection: Collection) -> bool:
    """Whether this session, or a new address, filters anything."""
    _adopt(fields(collection.images))
    state = st.session_state
    return any(state.get(f"filter {name}") or state.get(f"filter {name} words") for name in state.get("filter by", []))


def _counted(known: dict[str, int], value: str) -> str:
    return f"{value} ({known.get(value, 0):,})"


def choose(run: RunView, split: str, collection: Collection) -> Filter:
    """Draw the filter's widgets, after `on`."""
    images, items = collection.images, collection.gallery.items
    names = fields(images)
    _keep_known("filter by", names)
    chosen = st.multiselect("Filter by", names, key="filter by", persist_state="session")
    wanted: dict[str, frozenset[str]] = {}
    words: dict[str, str] = {}
    for name in chosen:
        known = values(images, items, name, run.name, split, run.stamp)
        key = f"filter {name}"
        if len(known) > MANY:
            page_frame.keep(f"{key} words", "")
            words[name] = st.text_input(f"{name} has the words", key=f"{key} words", persist_state="session")
            continue
        _keep_known(key, known)
        picked = st.multiselect(
            name, list(known), key=key, placeholder="any", persist_state="session",
            format_func=partial(_counted, known),
        )  # fmt: skip
        wanted[name] = frozenset(picked)
    side = "both"
    if chosen:
        side = page_frame.choice("For", list(SIDES), key="filter side", format=SIDES.__getitem__, link="side")
    filter_chosen = Filter(wanted, words, side)
    address.tell("filter", filter_chosen.as_address)
    return filter_chosen
