"""Scores by what is known of the images, and the slices that a search found to be the worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.answers.ranked_answer import ONE_QUERY
from app.results import cache, filters
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import background, page_frame
from lab.inspect.slices import Slice, slices_of, worst_slices

MANY = 300
"""Values of a field above which it names images and makes no slices."""
SEARCH = ""
"""What stands for the search among the fields."""


def panel(run: RunView, split: str, whole: Collection) -> None:
    """Draw the choice of a field and the table; the search comes first."""
    columns = fields(whole)
    if not columns:
        st.info(
            "Nothing is known of these images besides their class. A table of images (`--data manifest`) may bring "
            "more columns, such as the camera or the shop, and each becomes a way to slice the scores."
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = page_frame.select(
            "Score",
            whole.columns,
            key="check by",
            initial="MAP@R",
            format=lambda one: ONE_QUERY.get(one, one),
            link="by",
        )
        named = {SEARCH: "The worst, by one field or two together"} | {one: f"By {one}" for one in columns}
        field = page_frame.select("Slices", list(named), key="slice field", format=named.__getitem__, link="field")
    measured = background.or_wait(cache.measured("", run.name, split, run.stamp, whole))[column]
    if field != SEARCH:
        st.caption(
            f"Mean {column} of the queries with each value, the worst first, with its 95% interval (Student's t). "
            "Select a row to browse these queries."
        )
        _table(run, split, whole, slices_of(measured, field, columns[field]), column)
        return
    most = max(3, min(1000, len(measured) // 2))
    page_frame.keep("slice least", min(10, most), range(2, most + 1), link="least")
    least = st.slider("Queries that a slice must have", 2, most, key="slice least", width=280, persist_state="session")
    worst = worst_slices(measured, columns, least)
    if not worst.slices:
        st.info(f"No slice has {least} queries; lower that number.")
        return
    sure = sum(one.high < worst.overall for one in worst.slices)
    st.markdown(
        f"**{sure} of the {len(worst.slices)} listed slices are surely below the mean of all queries, "
        f"{worst.overall:.3f}.**"
    )
    st.caption(
        f"All {worst.tried:,} slices of one or two fields with at least {least} queries were tried. They are ordered "
        "by the upper end of their interval, so that what is surely bad comes first; the intervals hold for all slices "
        "together (95%, Student's t, Bonferroni). Two fields are listed where they are worse than each alone."
    )
    _table(run, split, whole, worst.slices, column)


def fields(whole: Collection) -> dict[str, np.ndarray]:
    """Field to its value for each query, str [q], of those that make slices; of two that say the same, the first."""
    images, items = whole.images, whole.query.items
    columns = {name: filters.column(images, name, items) for name in filters.fields(images) if name != filters.CLASS}
    slicing: dict[str, np.ndarray] = {}
    known: list[np.ndarray] = []
    for name, column in columns.items():
        values, codes = np.unique(column, return_inverse=True)
        if 1 < len(values) <= MANY and not any(np.array_equal(codes, one) for one in known):
            slicing[name] = column
            known.append(codes)
    return slicing


def _table(run: RunView, split: str, whole: Collection, slices: Sequence[Slice], column: str) -> None:
    import pandas as pd

    rows = [
        {
            "slice": " and ".join(f"{field}: {value}" for field, value in one.where),
            column: one.mean,
            "low": one.low,
            "high": one.high,
            "queries": one.queries,
        }
        for one in slices
    ]
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in (column, "low", "high")}
    row = page_frame.choose_row(
        pd.DataFrame(rows), key=f"slices {run.name} {split} {column} {len(rows)}", column_config=numbers,
        placeholder="", alt=f"Mean {column} of slices, the worst first",
    )  # fmt: skip
    if row is not None:
        _link(run, split, slices[row])


def _link(run: RunView, split: str, one: Slice) -> None:
    wanted = filters.Filter({field: frozenset([value]) for field, value in one.where}, side="queries")
    st.page_link(
        "views/browse/page.py", label="Browse the worst queries of this slice", icon=":material/image_search:",
        query_params={"run": run.name, "split": split, "queries": "worst", "filter": wanted.as_address or "",
                      "side": "queries"},
    )  # fmt: skip
