"""Only some images: by class, super-class, or anything else that the data set knows about them."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import address, page_frame
from lab.data import ImageSet

CLASS, SUPER = "class", "super-class"
SIDES = {"both": "Both", "queries": "Queries", "neighbours": "Neighbours"}
MANY = 2_000
"""Values above which a field is filtered by words, not from a list."""


@dataclass(frozen=True)
class Filter:
    """Which values of which fields are let through, and on which side.

    wanted: field to values; fields without values let everything through. words: field to words that a value must hold.
    """

    wanted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    side: str = "both"

    def __bool__(self) -> bool:
        return any(self.wanted.values()) or any(self.words.values())

    def queries(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        """bool [n]: which of these images may be offered as queries."""
        return self._through(images, items) if self.side != "neighbours" else np.ones(len(items), bool)

    def neighbours(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        """bool [n]: which of these images may be shown as neighbours."""
        return self._through(images, items) if self.side != "queries" else np.ones(len(items), bool)

    def _through(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        through = np.ones(len(items), bool)
        for name, values in self.wanted.items():
            if values:
                through &= np.isin(column(images, name, items), list(values))
        for name, words in self.words.items():
            if words:
                through &= np.char.find(np.char.lower(column(images, name, items)), words.lower()) >= 0
        return through

    @property
    def as_address(self) -> str | None:
        """What passes, as an object; None when everything does."""
        wishes: dict[str, Any] = {name: sorted(values) for name, values in self.wanted.items() if values}
        wishes |= {name: words for name, words in self.words.items() if words}
        return json.dumps(wishes, ensure_ascii=False, separators=(",", ":")) if wishes else None


def fields(images: ImageSet) -> list[str]:
    """What images can be filtered by."""
    super_class = [SUPER] if images.super_labels is not None else []
    return [CLASS, *super_class, *images.attributes]


def column(images: ImageSet, name: str, items: np.ndarray) -> np.ndarray:
    """str [n]: one field of some images."""
    if name == CLASS:
        return np.asarray(images.class_names, str)[images.labels[items]]
    if name == SUPER and images.super_labels is not None:
        return np.asarray(images.super_names, str)[images.super_labels[items]]
    return np.asarray(images.attributes[name])[items].astype(str)


@st.cache_data(max_entries=32, show_spinner=False)
def values(_images: ImageSet, _items: np.ndarray, name: str, run: str, split: str, stamp: float) -> dict[str, int]:
    """The values of a field in a split, with how many images have each."""
    names, counts = np.unique(column(_images, name, _items), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _adopt(names: list[str]) -> None:
    """Filter as a new address says: `filter` is an object of fields, each with the values that pass or with words."""

    def read(text: str) -> dict[str, list[str] | str]:
        wishes = json.loads(text)
        if not isinstance(wishes, dict):
            raise ValueError("a filter must be an object")
        return {name: list(map(str, one)) if isinstance(one, list) else str(one) for name, one in wishes.items()}

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
            name, list(known), key=key, format_func=partial(_counted, known), placeholder="any", persist_state="session"
        )
        wanted[name] = frozenset(picked)
    side = "both"
    if chosen:
        side = page_frame.choice("For", list(SIDES), key="filter side", format=SIDES.__getitem__, link="side")
    filter_chosen = Filter(wanted, words, side)
    address.tell("filter", filter_chosen.as_address)
    return filter_chosen
