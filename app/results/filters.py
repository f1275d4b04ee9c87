"""Only some images: by class, super-class, or anything else that the data set knows about them; or by words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from app.shared import address, page_frame
from lab.data import ImageSet
from lab.evaluation.filters import Filter, column, fields

if TYPE_CHECKING:
    import pyarrow

SIDES = {"both": "Both", "queries": "Queries", "neighbours": "Neighbours"}
MANY = 2_000
"""Values above which a field is filtered by words, not from a list."""


@st.cache_data(max_entries=32, show_spinner=False)
def values(_images: ImageSet, _items: np.ndarray, name: str, *key: str | float | None) -> dict[str, int]:
    """The values of a field in a split, with how many images have each."""
    names, counts = np.unique(column(_images, name, _items), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def on(images: ImageSet) -> bool:
    """Whether this session, or a new address, filters anything. The address holds an object of fields, each with the
    values that pass or with words."""
    names, state = fields(images), st.session_state
    legal = lambda sent: sent.keys() <= set(names)  # noqa: E731
    address.adopt("filter", address.read_object, legal, key="filter given", default={})
    sent = state.pop("filter given", None)
    if sent is not None:
        state["filter by"] = list(sent)
        for name in names:
            one = sent.get(name, [])
            state[f"filter {name}"] = list(map(str, one)) if isinstance(one, list) else []
            state[f"filter {name} words"] = "" if isinstance(one, list) else str(one)
    return any(state.get(f"filter {name}") or state.get(f"filter {name} words") for name in state.get("filter by", []))


def _several(label: str, known: page_frame.Options, *, key: str, **look: Any) -> list[str]:
    """Any number of the values that there are; of those from before and from the address, the others go."""
    st.session_state[key] = [value for value in st.session_state.get(key, []) if value in known]
    return page_frame.several(label, known, key=key, **look)


def choose(images: ImageSet, items: np.ndarray, *about: str | float | None, sides: bool = True) -> Filter:
    """Draw the filter's widgets, after `on`.

    Args:
        items: int64 [n], those whose values are counted. about: changes when these do.
        sides: whether these are queries and neighbours, so that either can be filtered.
    """
    chosen = _several("Filter by", fields(images), key="filter by")
    passing: dict[str, frozenset[str]] = {}
    words: dict[str, str] = {}
    for name in chosen:
        known, key = values(images, items, name, *about), f"filter {name}"
        if len(known) > MANY:
            words[name] = page_frame.text(f"{name} has the words", key=f"{key} words")
        else:
            counted = {value: f"{value} ({count:,})" for value, count in known.items()}
            passing[name] = frozenset(_several(name, counted, key=key, placeholder="any"))
    side = "both"
    if chosen and sides:
        side = page_frame.choice("For", SIDES, key="filter side", link="side")
    filter_chosen = Filter(passing, words, side)
    address.tell("filter", filter_chosen.as_address)
    return filter_chosen


@st.cache_resource(max_entries=4, show_spinner=False)
def texts_of(name: str, stamp: float, _images: ImageSet) -> pyarrow.LargeBinaryArray:
    """What is known in words of each image of a run's data set, in small letters: its file, its class and every column;
    56 MB of a million texts of 50 letters, where Python's strings take twice that."""
    import pyarrow

    everything = np.arange(len(_images))
    columns = [column(_images, field, everything).tolist() for field in fields(_images)]
    texts = ("\n".join(words) for words in zip(map(str, _images.keys), *columns, strict=True))
    return pyarrow.array([text.lower().encode("utf-8", "replace") for text in texts], pyarrow.large_binary())


def holding(texts: pyarrow.LargeBinaryArray, words: str) -> np.ndarray:
    """The rows int64 [m] of the texts that have every word."""
    import pyarrow.compute

    rows = np.ones(len(texts), bool)
    for word in words.lower().split():
        rows &= pyarrow.compute.match_substring(texts, word).to_numpy(zero_copy_only=False)
    return np.flatnonzero(rows)
