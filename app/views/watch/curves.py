"""The curves of a run, or one quantity of several runs on one chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.forms import curve_options
from app.shared import address, charts, page_frame, queueing
from lab.report import curves as panels
from lab.report.curves import Journal, journal, title
from lab.runs import Run
from lab.runs.folder import ENDED, FINISHED
from lab.training.stopwatch import in_words


@dataclass(frozen=True)
class Scene:
    """What the Watch page shows: a run with its records so far. part: of the page. names: of all runs there are."""

    run: Run
    kept: Journal
    part: str
    names: tuple[str, ...]


MOST = 11
"""Runs beside the one that is watched: more lines cannot be told apart."""


def adopt_others(names: Sequence[str]) -> None:
    """Take the runs that stand beside this one from a new address."""
    address.adopt("also", address.reader([]), lambda picked: set(picked) <= set(names), many=True, default=[])


def others(run: Run, names: Sequence[str]) -> list[Run]:
    """The runs that were chosen to stand beside this one, as far as they are there."""
    chosen = [name for name in st.session_state.get("also", []) if name in names and name != run.name]
    folders = (run.path.with_name(name) for name in chosen)
    return [Run(folder) for folder in folders if (folder / "config.yaml").is_file()]


def draw(scene: Scene) -> None:
    """The controls and the charts."""
    run, kept = scene.run, scene.kept
    left, right = st.columns(2)
    with left:
        beside = _choose(run, scene.names)
    journals = {run.name: kept, **{other.name: journal(other.path) for other in beside}}
    known = panels.quantities(list(journals.values()))
    if not known:
        _say_that_there_are_none(run)
        return
    first = " and ".join(p.title for p in panels.of_several(journals, ())) if beside else "all of them"
    with right:
        look: dict[str, Any] = {"format_func": title, "placeholder": first}
        chosen = page_frame.several("Quantities", known, key="quantities", link="quantity", **look)
    options = curve_options.ask()
    for other in beside:
        if (status := other.status)["state"] != FINISHED:
            page_frame.say(f"{other.name}: {queueing.progress_words(status)}")
    drawn = panels.of_several(journals, chosen) if beside else panels.of_one(kept, chosen)
    origins = [] if beside else [run.origin(split) for split in run.splits]
    best = next((one.step for one in origins if one.checkpoint == "best"), None)
    for start in range(0, len(drawn), 2):  # row by row, so that they keep their order where they stand in one column
        for column, panel in zip(st.columns(2 if len(drawn) > 1 else 1), drawn[start : start + 2], strict=False):
            _chart(column, panel, options, best)
    _say_what_stays_linear(drawn, options)
    if kept.spent and not beside:
        st.caption(in_words(kept.spent))


def _choose(run: Run, names: Sequence[str]) -> list[Run]:
    """The picker of other runs; a message where there are none."""
    if len(names) < 2:
        return []
    st.session_state["also"] = [one.name for one in others(run, names)][:MOST]
    options, words = [name for name in names if name != run.name], "other runs, on the same charts"
    page_frame.several("Compare with", options, key="also", most=MOST, link="also", placeholder=words)
    return others(run, names)


def _say_that_there_are_none(run: Run) -> None:
    words = "The curves appear here by themselves once the first training step is done."
    if run.state == FINISHED:
        words = "Nothing was trained here, so there are no curves. Browse and Map show the vectors."
    elif run.state in ENDED:
        words = "This run ended before its first training step, so there are no curves."
    st.info(words)


def _chart(
    column: DeltaGenerator, panel: panels.CurveChart, options: curve_options.CurveOptions, best: int | None
) -> None:
    figure = charts.curves(panel.curves, panel.title, height=250, **options.of(panel.quantity))
    if best is not None and panel.quantity == "validation":
        figure = charts.mark(figure, best, "best checkpoint")
    words = f"{panel.title} over training steps: {', '.join(panel.curves)}"
    column.plotly_chart(figure, key=f"watch {panel.title}", alt=words)


def _say_what_stays_linear(drawn: Sequence[panels.CurveChart], options: curve_options.CurveOptions) -> None:
    linear = [
        panel.title
        for panel in drawn
        if options.of(panel.quantity)["log"]
        and not all(charts.not_negative(values) for _, values in panel.curves.values())
    ]
    if linear:
        page_frame.say(f"Linear, because there are values below 0: {', '.join(linear)}.")
