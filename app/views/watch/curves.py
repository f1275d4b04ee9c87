"""The curves of a run, or curves of several runs on the same charts."""

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
class WatchScene:
    """What the Watch page shows: a run with its records so far.

    part: of the page. names: of all runs.
    """

    run: Run
    journal: Journal
    part: str
    names: tuple[str, ...]


FIRST = 2
"""Charts of one run that are shown at once. The others are in an expander."""

MOST = 11
"""Most runs to compare with. More lines cannot be told apart."""

SMOOTHING = 0.6
"""The default of TensorBoard."""

NOT_SMOOTHED = ("lr", "memory_bytes")
"""Curves without noise. Smoothing would only delay them."""

HELP = (
    "Weight of the exponential moving average: each point takes this share from the smoothed point before it and the "
    "rest from the measured value, which stays visible in a fainter line. 0 is off. Curves of fewer than "
    f"{charts.FEW} points, the learning rate and the memory are never smoothed."
)
CurveOptions = Callable[[str], dict[str, Any]]
"""Name of a curve to its arguments of `charts.curves`."""


def _choose_options() -> CurveOptions:
    """Draw the choice of smoothing and of logarithmic axes."""
    log_help = "Leaves zeros out; a chart with values below 0 stays linear. The gradient norm is always logarithmic."
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        smoothing = page_frame.slider(
            "Smoothing",
            0.0,
            0.99,
            key="smoothing",
            initial=SMOOTHING,
            link="smooth",
            step=0.01,
            help=HELP,
            width=260,
        )
        log_steps = page_frame.toggle("Logarithmic steps", key="log_steps", link="logsteps")
        log_values = page_frame.toggle(
            "Logarithmic values", key="log_values", link="logvalues", help=log_help
        )

    def options(name: str) -> dict[str, Any]:
        return {
            "smoothing": 0.0 if name in NOT_SMOOTHED else smoothing,
            "log_x": log_steps,
            "log": log_values or name == "gradient_norm",
        }

    return options


def others(run: Run, names: Sequence[str]) -> list[Run]:
    """Return the existing runs that the user has chosen to compare with this run."""
    found = []
    for name in st.session_state.get("also", []):
        folder = run.path.with_name(name)
        if name in names and name != run.name and (folder / "config.yaml").is_file():
            found.append(Run(folder))
    return found


def draw(scene: WatchScene) -> None:
    """Draw the choices and the charts."""
    run = scene.run
    right = st.container()
    if len(scene.names) > 1:
        left, right = st.columns(2)
        with left:
            _choose_others(scene)
    else:
        address.store("also", [], [])  # the URL keeps runs that were moved away
    other_runs = others(run, scene.names)
    journals = {run.name: scene.journal}
    for other in other_runs:
        journals[other.name] = journal(other.path)
    quantities = panels.quantities(list(journals.values()))
    # a chart of one point is useless
    if not quantities or (len(scene.journal.steps) == 1 and run.state not in ENDED):
        st.info(_why_none(run))
        return
    placeholder = "scores and loss"
    if other_runs:
        placeholder = " and ".join(panel.title for panel in panels.of_several(journals, ()))
    with right:
        chosen = page_frame.multiselect(
            "Quantities",
            quantities,
            key="quantities",
            link="quantity",
            format_func=title,
            placeholder=placeholder,
        )
    options = _choose_options()
    _describe_others(run, other_runs)

    # Charts with a single step come last. All but the first charts of one run are in an expander.
    drawn = (
        panels.of_several(journals, chosen) if other_runs else panels.of_one(scene.journal, chosen)
    )
    drawn.sort(key=lambda panel: all(len(steps) < 2 for steps, _ in panel.curves.values()))
    first = drawn
    more = []
    if not other_runs and not chosen:
        first = drawn[:FIRST]
        more = drawn[FIRST:]
    _draw_charts(first, options, None if other_runs else run)
    if more:
        with page_frame.expander("More: " + ", ".join(panel.title for panel in more), link="more"):
            if page_frame.is_open("more"):
                _draw_charts(more, options, None)
    if scene.journal.spent and not other_runs:
        st.caption(in_words(scene.journal.spent))


def _choose_others(scene: WatchScene) -> None:
    """Draw the choice of runs to compare with."""
    st.session_state["also"] = [run.name for run in others(scene.run, scene.names)][:MOST]
    names = [name for name in scene.names if name != scene.run.name]
    placeholder = "other runs, on the same charts"
    page_frame.multiselect(
        "Compare with", names, key="also", most=MOST, link="also", placeholder=placeholder
    )


def _describe_others(run: Run, other_runs: Sequence[Run]) -> None:
    """Say whether the data of the runs differ, and how far the other runs have come."""
    runs = [run, *other_runs]
    signs = letters([query_set(config_of(run), "validation") for run in runs])
    if any(signs):
        named = ", ".join(f"{run.name} {sign}" for run, sign in zip(runs, signs, strict=True))
        page_frame.say(
            f"≠ Their data differ, so validation scores may be of different images: {named}."
        )
    for other in other_runs:
        status = other.status
        if status["state"] != FINISHED:
            page_frame.say(f"{other.name}: {queueing.progress_words(status)}")


def _draw_charts(
    drawn: Sequence[panels.CurveChart], options: CurveOptions, run: Run | None
) -> None:
    """Draw the charts, two in a row. run: its best checkpoint is marked."""
    best = None
    if run:
        for split in run.splits:
            origin = run.origin(split)
            if best is None and origin.checkpoint == "best":
                best = origin.step
    # row by row, so that they keep their order in a single column
    for start in range(0, len(drawn), 2):
        columns = st.columns(2 if len(drawn) > 1 else 1)
        for column, panel in zip(columns, drawn[start : start + 2], strict=False):
            figure = charts.curves(panel.curves, panel.title, height=250, **options(panel.quantity))
            if best is not None and panel.quantity == "validation":
                figure = charts.mark(figure, best, "best checkpoint")
            words = f"{panel.title} over training steps: {', '.join(panel.curves)}"
            column.plotly_chart(figure, key=f"watch {panel.title}", alt=words)


def _why_none(run: Run) -> str:
    if run.state == FINISHED:
        return (
            "Nothing was trained here, so there are no curves. Browse and Map show the embeddings."
        )
    if run.state in ENDED:
        return "This run ended before its first training step, so there are no curves."
    return "The curves appear here once the second training step is done."
