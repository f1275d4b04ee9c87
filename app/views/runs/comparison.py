"""Runs against each other: curves, settings, means over seeds, and what their knobs have to do with their scores."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.forms import curve_options
from app.results.metrics_reader import Journal, journal, scaled, title
from app.results.run_choice import data_of
from app.shared import charts, page_frame
from app.views.runs import knob_view, tables
from lab.runs import Run, difference

MAX_COMPARED = 12
"""Runs whose curves and settings stand side by side; knobs and seeds are looked at over all that are selected."""
VIEWS = ("Curves", "Configuration", "Seeds", "Knobs")


def compare(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    """Draw the runs against each other. rows: of the table, one a run."""
    st.subheader(f"{len(chosen)} runs compared", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        _link_both(chosen)
        _link_watch(chosen)
    view = page_frame.choice("What to compare", VIEWS, key="compared", labelled=False, link="compared")
    if view in ("Curves", "Configuration") and len(chosen) > MAX_COMPARED:
        st.caption(f"The first {MAX_COMPARED} of the {len(chosen)} selected runs.")
        chosen, rows = chosen[:MAX_COMPARED], rows[:MAX_COMPARED]
    {"Curves": _curves, "Configuration": _differences, "Seeds": _seeds, "Knobs": knob_view.draw}[view](chosen, rows)


def _link_both(chosen: list[Run]) -> None:
    """Two runs on the same images can be browsed side by side."""
    if len(chosen) == 2 and data_of(chosen[0]) == data_of(chosen[1]) and set(chosen[0].splits) & set(chosen[1].splits):
        st.page_link(
            "views/browse/page.py", label="Browse both", icon=":material/image_search:",
            query_params={"run": chosen[0].name, "rival": f"run:{chosen[1].name}"},
        )  # fmt: skip


def _link_watch(chosen: list[Run]) -> None:
    """On Watch the charts of the selected runs go on while these train."""
    first, *others = [run.name for run in chosen[:MAX_COMPARED]]
    st.page_link(
        "views/watch/page.py", label="Watch together", icon=":material/monitoring:",
        query_params=[("watched", first), *(("also", name) for name in others)],
    )  # fmt: skip


def _curves(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    journals = {run.name: journal(run.path) for run in chosen}
    names = list(dict.fromkeys(name for one in journals.values() for name in one.names))
    if not names:
        st.info("None of these runs has made a step yet; look again once one has.")
        return
    groups = tables.seed_groups(chosen)
    page_frame.keep("mean", False, link="mean")
    first = [name for name in ("MAP@R", "loss") if name in names]
    page_frame.keep("curves", first, lambda picked: set(picked) <= set(names), link="curves")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = st.multiselect("Curves", names, key="curves", format_func=title)
        together = len(groups) < len(chosen) and st.toggle(
            "Mean over seeds", key="mean", persist_state="session",
            help="Draws runs that differ only in their seed as one line with a band of one sample deviation (n - 1)",
        )  # fmt: skip
    options = curve_options.ask()
    columns = st.columns(2)
    for at, name in enumerate(picked):
        if together:
            figure = charts.bands(_by_group(groups, journals, name), title(name), **options.of(name))
            words = "mean and deviation over seeds"
        else:
            named = {run: scaled(one, name) for run, one in journals.items() if name in one.names}
            figure, words = charts.curves(named, title(name), **options.of(name)), "one line per run"
        columns[at % 2].plotly_chart(figure, key=f"curve of {name}", alt=f"{title(name)} over training steps, {words}")


def _by_group(groups: list[list[Run]], journals: dict[str, Journal], name: str) -> dict[str, list[charts.Curve]]:
    """The curves of one name, by what a group of runs that differ only in their seed is called."""
    curves_of: dict[str, list[charts.Curve]] = {}
    for group in groups:
        mine = [journals[run.name] for run in group]
        curves: list[charts.Curve] = [scaled(one, name) for one in mine if name in one.names]
        if curves:
            curves_of[f"{group[0].name}, mean of {len(curves)}" if len(curves) > 1 else group[0].name] = curves
    return curves_of


def _differences(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    first = chosen[0]
    differences = {run.name: difference(first.config, run.config) for run in chosen[1:]}
    paths = list(dict.fromkeys(path for one in differences.values() for path in one))
    if not paths:
        st.info("These runs have the same configuration.")
        return
    lines = []
    for path in paths:
        base = next(one[path][0] for one in differences.values() if path in one)
        others = {name: _word(one[path][1]) if path in one else _word(base) for name, one in differences.items()}
        lines.append({"knob": path, first.name: _word(base), **others})
    st.caption("Only settings in which at least one run differs from the first")
    st.dataframe(pd.DataFrame(lines), hide_index=True, alt="Settings in which the runs differ")


def _seeds(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    st.caption("Runs that differ only in their seed share a row: mean and sample standard deviation (n - 1)")
    lines = tables.over_seeds(chosen, rows)
    scores = [name for name in tables.columns(lines) if name not in ("runs", "seeds")]
    numbers = {name: st.column_config.NumberColumn(name, format="%.3f") for name in scores}
    st.dataframe(pd.DataFrame(lines), hide_index=True, column_config=numbers, placeholder="", alt="Means over seeds")


def _word(value: Any) -> str:
    return "not set" if value is None else str(value)
