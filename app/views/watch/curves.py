"""The curves of a run, or one quantity of several runs on one chart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.results.run_choice import config_of
from app.shared import address, charts, page_frame, queueing
from lab.report import curves as panels
from lab.report.curves import Journal, journal, title
from lab.report.rows import letters, query_set
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


FIRST = 2
"""Charts of one run that are drawn at once; the others are behind a fold."""
MOST = 11
"""Runs beside the one that is watched: more lines cannot be told apart."""


SMOOTHING = 0.6
"""TensorBoard's, where nobody chose another."""
PLAIN = ("lr", "memory_bytes")
"""Curves without noise: smoothed they would only come late."""
HELP = (
    "Weight of the exponential moving average: each point takes this share from the smoothed point before it and the "
    "rest from the measured value, which stays visible in a fainter line. 0 is off. Curves of fewer than "
    f"{charts.FEW} points, the learning rate and the memory are never smoothed."
)
CurveOptions = Callable[[str], dict[str, Any]]
"""Name of a curve to what `charts.curves` is told of it."""


def _ask_options() -> CurveOptions:
    """How curves are drawn: smoothed as TensorBoard smooths, on linear or logarithmic axes."""
    look: dict[str, Any] = {"step": 0.01, "help": HELP, "width": 260}
    zeros = "Leaves zeros out; a chart with values below 0 stays linear. The gradient norm is always logarithmic."
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        smooth = page_frame.slider("Smoothing", 0.0, 0.99, key="smoothing", initial=SMOOTHING, link="smooth", **look)
        steps = page_frame.toggle("Logarithmic steps", key="log_steps", link="logsteps")
        values = page_frame.toggle("Logarithmic values", key="log_values", link="logvalues", help=zeros)
    return lambda name: {
        "smoothing": 0.0 if name in PLAIN else smooth,
        "log_x": steps,
        "log": values or name == "gradient_norm",
    }


def others(run: Run, names: Sequence[str]) -> list[Run]:
    """The runs that were chosen to stand beside this one, as far as they are there."""
    chosen = [name for name in st.session_state.get("also", []) if name in names and name != run.name]
    folders = (run.path.with_name(name) for name in chosen)
    return [Run(folder) for folder in folders if (folder / "config.yaml").is_file()]


def draw(scene: Scene) -> None:
    """The controls and the charts."""
    run, kept = scene.run, scene.kept
    left, right = st.columns(2) if len(scene.names) > 1 else (None, st.container())
    if left is not None:
        st.session_state["also"] = [one.name for one in others(run, scene.names)][:MOST]
        names, words = [name for name in scene.names if name != run.name], "other runs, on the same charts"
        with left:
            page_frame.multiselect("Compare with", names, key="also", most=MOST, link="also", placeholder=words)
    else:
        address.store("also", [], [])  # the address keeps those that were moved away
    beside = others(run, scene.names)
    journals = {run.name: kept, **{other.name: journal(other.path) for other in beside}}
    known = panels.quantities(list(journals.values()))
    if not known or (len(kept.steps) == 1 and run.state not in ENDED):  # a chart of one point shows nothing
        st.info(_why_none(run))
        return
    first = " and ".join(p.title for p in panels.of_several(journals, ())) if beside else "scores and loss"
    with right:
        look: dict[str, Any] = {"format_func": title, "placeholder": first}
        chosen = page_frame.multiselect("Quantities", known, key="quantities", link="quantity", **look)
    options = _ask_options()
    signs = letters([query_set(config_of(one), "validation") for one in (run, *beside)])
    if any(signs):
        named = ", ".join(f"{one.name} {sign}" for one, sign in zip((run, *beside), signs, strict=True))
        page_frame.say(f"≠ Their data differ, so validation scores may be of different images: {named}.")
    for other in beside:
        if (status := other.status)["state"] != FINISHED:
            page_frame.say(f"{other.name}: {queueing.progress_words(status)}")
    drawn = panels.of_several(journals, chosen) if beside else panels.of_one(kept, chosen)
    drawn.sort(key=lambda panel: all(len(steps) < 2 for steps, _ in panel.curves.values()))
    rest = [] if beside or chosen else drawn[FIRST:]
    _draw_all(drawn[: len(drawn) - len(rest)], options, None if beside else run)
    if rest:
        with page_frame.expander("More: " + ", ".join(panel.title for panel in rest), link="more"):
            if page_frame.is_open("more"):
                _draw_all(rest, options, None)
    if kept.spent and not beside:
        st.caption(in_words(kept.spent))


def _draw_all(drawn: Sequence[panels.CurveChart], options: CurveOptions, run: Run | None) -> None:
    """Two charts a row. run: whose best checkpoint is marked."""
    origins = [run.origin(split) for split in run.splits] if run else []
    best = next((one.step for one in origins if one.checkpoint == "best"), None)
    for start in range(0, len(drawn), 2):  # row by row, so that they keep their order where they stand in one column
        for column, panel in zip(st.columns(2 if len(drawn) > 1 else 1), drawn[start : start + 2], strict=False):
            figure = charts.curves(panel.curves, panel.title, height=250, **options(panel.quantity))
            if best is not None and panel.quantity == "validation":
                figure = charts.mark(figure, best, "best checkpoint")
            words = f"{panel.title} over training steps: {', '.join(panel.curves)}"
            column.plotly_chart(figure, key=f"watch {panel.title}", alt=words)


def _why_none(run: Run) -> str:
    if run.state == FINISHED:
        return "Nothing was trained here, so there are no curves. Browse and Map show the vectors."
    if run.state in ENDED:
        return "This run ended before its first training step, so there are no curves."
    return "The curves appear here by themselves once the second training step is done."
