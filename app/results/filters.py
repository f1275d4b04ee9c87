"""Filter images by class, super-class, any other column of the data set, or words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.shared import address, page_frame
from lab.data import ImageSet
from lab.evaluation.filters import Filter, column, fields

if TYPE_CHECKING:
    import pyarrow

SIDES = {"both": "Both", "queries": "Queries", "neighbours": "Neighbours"}
MANY = 2_000
"""Number of values above which a field is filtered by words instead of a list."""


@st.cache_data(max_entries=32, show_spinner=False)
def values(
    _images: ImageSet, _items: np.ndarray, name: str, *key: str | float | None
) -> dict[str, int]:
    """Return the values of a field in a split, with the number of images of each."""
    names, counts = np.unique(column(_images, name, _items), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def is_active(images: ImageSet) -> bool:
    """Return whether this session or a new URL filters anything.

    The URL parameter is an object: field to a list of values, or field to words.
    """
    names = fields(images)
    state = st.session_state

    def is_legal(parameter: dict[str, Any]) -> bool:
        return parameter.keys() <= set(names)

    address.load("filter", address.read_object, is_legal, key="filter given", default={})
    parameter = state.pop("filter given", None)
    if parameter is not None:
        state["filter by"] = list(parameter)
        for name in names:
            value = parameter.get(name, [])
            state[f"filter {name}"] = []
            state[f"filter {name} words"] = ""
            if isinstance(value, list):
                state[f"filter {name}"] = list(map(str, value))
            else:
                state[f"filter {name} words"] = str(value)
    return any(
        state.get(f"filter {name}") or state.get(f"filter {name} words")
        for name in state.get("filter by", [])
    )


def popover(images: ImageSet) -> DeltaGenerator:
    """Draw the menu for the widgets of the filter. Its label says whether images are filtered."""
    label = "Filter (on)" if is_active(images) else "Filter"
    return st.popover(label, icon=":material/filter_alt:")


def _multiselect(label: str, options: page_frame.Options, *, key: str, **kwargs: Any) -> list[str]:
    """Choose any number of options. Earlier choices and values of the URL that are not among them are dropped."""
    st.session_state[key] = [value for value in st.session_state.get(key, []) if value in options]
    return page_frame.multiselect(label, options, key=key, **kwargs)


def choose(
    images: ImageSet, items: np.ndarray, *about: str | float | None, sides: bool = True
) -> Filter:
    """Draw the filter's widgets, inside `popover`.

    Args:
        items: int64 [n], images whose values are counted.
        about: changes when the items do.
        sides: let the user filter queries and neighbours separately.
    """
    chosen = _multiselect("Filter by", fields(images), key="filter by")
    passing: dict[str, frozenset[str]] = {}
    words: dict[str, str] = {}
    for name in chosen:
        counts = values(images, items, name, *about)
        if len(counts) > MANY:
            words[name] = page_frame.text(f"{name} has the words", key=f"filter {name} words")
        else:
            labels = {value: f"{value} ({count:,})" for value, count in counts.items()}
            selected = _multiselect(name, labels, key=f"filter {name}", placeholder="any")
            passing[name] = frozenset(selected)
    side = "both"
    if chosen and sides:
        side = page_frame.choice("For", SIDES, key="filter side", link="side")
    filter_chosen = Filter(passing, words, side)
    address.store("filter", filter_chosen.as_address)
    return filter_chosen


@st.cache_resource(max_entries=4, show_spinner=False)
def texts_of(name: str, stamp: float, _images: ImageSet) -> pyarrow.LargeBinaryArray:
    """Return the text of each image of a run's data set, in lower case: its file, its class and every column.

    Arrow needs 56 MB for a million texts of 50 letters; Python's strings would need twice that.
    """
    import pyarrow

    items = np.arange(len(_images))
    columns = [column(_images, field, items).tolist() for field in fields(_images)]
    texts = []
    for words in zip(map(str, _images.keys), *columns, strict=True):
        texts.append("\n".join(words).lower().encode("utf-8", "replace"))
    return pyarrow.array(texts, pyarrow.large_binary())


def rows_with_words(texts: pyarrow.LargeBinaryArray, words: str) -> np.ndarray:
    """Return the rows int64 [m] of the texts that contain every word."""
    import pyarrow.compute

    rows = np.ones(len(texts), bool)
    for word in words.lower().split():
        rows &= pyarrow.compute.match_substring(texts, word).to_numpy(zero_copy_only=False)
    return np.flatnonzero(rows)
