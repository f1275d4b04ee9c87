"""Queries to choose from: drawn at random, worst by a metric, or those of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from app import frame
from app.collection import Collection
from app.opponents import Opponent
from app.rivals import Rival, changes

SOURCES = {
    "random": "At random",
    "worst": "Worst by a metric",
    "class": "Of one class",
    "upload": "A picture of yours",
}
COMPARED = {
    "improved": "Most improved",
    "regressed": "Most regressed",
    "fixed": "Only fixed",
    "broken": "Only broken",
}
"""Sources that need two answers; fixed and broken go by r@1."""
OFFERED = 20
"""Queries in the strip: one row on a wide screen."""


@dataclass(frozen=True)
class Candidates:
    """Query images to offer, with a value each (or ""), and words around them."""

    items: Sequence[int]
    values: Sequence[str]
    title: str
    note: str = ""
    empty: str = ""


def sources(with_rival: bool) -> dict[str, str]:
    """Where queries can come from, with what people call it."""
    return {**SOURCES, **COMPARED} if with_rival else SOURCES


def choose(source: str, collection: Collection, opponent: Opponent | None, allowed: np.ndarray) -> Candidates:
    """Draw the widgets of a source and return what it offers of the queries `allowed`, bool [q]."""
    if source in COMPARED:
        return _compared(source, collection, opponent.rival, allowed)
    return {"random": _random, "worst": _worst, "class": _class, "upload": _upload}[source](collection, allowed)


NONE_PASS = "No query passes the filter; let more through."


def _random(collection: Collection, allowed: np.ndarray) -> Candidates:
    st.button("Draw again", key="draw", on_click=_draw_again, icon=":material/casino:", width="stretch")
    generator = np.random.default_rng(st.session_state.get("draws", 0))
    rows = np.flatnonzero(allowed)
    count = min(OFFERED, len(rows))
    items = collection.query.items[rows[generator.choice(len(rows), count, replace=False)]].tolist()
    return Candidates(items, [""] * count, "Queries at random", "click one to see its neighbours", NONE_PASS)


def _draw_again() -> None:
    st.session_state["draws"] = st.session_state.get("draws", 0) + 1
    st.session_state.pop("query", None)


def _worst(collection: Collection, allowed: np.ndarray) -> Candidates:
    with st.spinner("Measuring every query once ..."):
        measured = collection.measured
    column = frame.select("Worst by", list(measured), key="worst_by", initial="mAP")
    values = np.where(allowed, measured[column], np.nan)
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")[:OFFERED]
    order = order[~np.isnan(values[order])]
    counted = int((~np.isnan(values)).sum())
    return Candidates(
        collection.query.items[order].tolist(),
        [f"{values[row]:.3f}" for row in order],
        f"Worst queries by {column}",
        f"of {counted:,} queries; ties in the order of the data set",
        "No query here has another image of its class, so no metric counts any." if allowed.all() else NONE_PASS,
    )


def _class(collection: Collection, allowed: np.ndarray) -> Candidates:
    labels, counts = np.unique(collection.query.labels[allowed], return_counts=True)
    if not len(labels):
        return Candidates([], [], "Of one class", empty=NONE_PASS)
    names = [str(collection.images.class_names[label]) for label in labels]
    at = frame.select(
        "Class",
        list(range(len(labels))),
        key="class_at",
        format=lambda i: f"{names[i]} ({counts[i]})" if i < len(names) else "",
    )
    mine = np.flatnonzero((collection.query.labels == labels[at]) & allowed)[: 4 * OFFERED]
    note = f"{counts[at]:,} images" + (f", the first {len(mine)} shown" if len(mine) < counts[at] else "")
    return Candidates(collection.query.items[mine].tolist(), [""] * len(mine), names[at], note)


def _upload(collection: Collection, allowed: np.ndarray) -> Candidates:
    return Candidates([], [], "")


def _compared(source: str, collection: Collection, rival: Rival, allowed: np.ndarray) -> Candidates:
    """Queries by how much the rival changed them."""
    by_rank = source in ("fixed", "broken")
    columns = [name for name in collection.measured if name in rival.measured]
    column = "r@1" if by_rank else frame.select("By", columns, key="changed_by", initial="mAP")
    items, before, after = changes(collection, rival, column)
    if not allowed.all():
        kept = np.isin(items, collection.query.items[allowed])
        items, before, after = items[kept], before[kept], after[kept]
    change = after - before
    if source in ("regressed", "broken"):
        change = -change
    order = np.argsort(-change, kind="stable")
    order = order[change[order] > 0]
    shown = order[: 2 * OFFERED]
    count = f"{len(order):,} of {len(items):,} queries" + (
        f", the first {len(shown)} shown" if len(shown) < len(order) else ""
    )
    said = {
        "improved": f"{column} rose",
        "regressed": f"{column} fell",
        "fixed": "first neighbour wrong before, right now",
        "broken": "first neighbour right before, wrong now",
    }[source]
    values = [""] * len(shown) if by_rank else [f"{after[row] - before[row]:+.3f}" for row in shown]
    empty = f"None: for no query has it come to this ({said})."
    return Candidates(items[shown].tolist(), values, COMPARED[source], f"{said} for {count}", empty)
