"""Compare runs: scores, settings, means over seeds, and the influence of settings on scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from app.components.displays import Meter, meters
from app.components.gallery import CardSection, gallery
from app.results import cache, run_choice
from app.results.cache import RunView
from app.results.cards import of_image
from app.results.run_choice import config_of, library
from app.shared import background, charts, page_frame, queueing
from app.views.runs.management import Row
from lab.core import style
from lab.report import knobs, more_seeds
from lab.report import rows as tables
from lab.report.methods import (
    NEEDED,
    MethodComparison,
    by_setting,
    of_same_queries,
    places_by_setting,
)
from lab.report.same_queries import SameQueries, predecessor, same_queries
from lab.runs import Run, RunConfig, difference

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_COMPARED = 12
"""Most runs whose scores and settings are compared. Seeds and the influence of settings use all selected runs."""

VIEWS = ("Same queries", "Configuration", "Seeds", "Settings")
DISAGREEING = 12
"""Queries to show on which the runs disagree."""

AXES = 6
"""Axes of the chart until the user chooses them. More do not fit."""

WIDE = 30.0
"""Ratio of the highest to the lowest value from which an axis is logarithmic."""

LONGEST = 18
"""Most characters of a value on an axis."""

SCALE = ((0.0, style.VERMILLION), (0.5, "#9A9A9A"), (1.0, style.BLUE))
"""Colours from low to high scores, visible on light and dark pages. The last axis shows the scores, too."""


def compare(chosen: Sequence[Run], rows: Sequence[Row], split: str) -> None:
    """Draw the comparison of some runs. rows: their rows of the table. split: the split of the scores."""
    st.subheader(f"{len(chosen)} runs compared", anchor=False)
    _draw_links(chosen)
    views: Sequence[str] = VIEWS
    if not all(split in run.splits for run in chosen):
        views = VIEWS[1:]
    view = page_frame.choice(
        "What to compare", views, key="compared", link="compared", **page_frame.COMPACT
    )
    if view in VIEWS[:2] and len(chosen) > MAX_COMPARED:
        st.caption(f"The first {MAX_COMPARED} of the {len(chosen)} selected runs.")
        chosen = chosen[:MAX_COMPARED]
    if view == "Same queries":
        # the page may compare all runs without a selection, also of other images
        with page_frame.refusals(st.info):
            _draw_same_queries(chosen, split)
    elif view == "Configuration":
        _draw_differences(chosen)
    elif view == "Seeds":
        _draw_seeds(chosen, rows)
    else:
        draw_knobs(chosen, rows)


def _draw_links(chosen: Sequence[Run]) -> None:
    """Draw links to Browse, for two runs on the same images, and to Watch."""
    with st.container(horizontal=True, vertical_alignment="center"):
        first, *others = chosen[:MAX_COMPARED]
        if len(chosen) == 2:
            other = others[0]
            if any(run_choice.share_images(first, other, split) for split in first.splits):
                page_frame.link_to(
                    "browse", "Browse both", {"run": first.name, "rival": f"run:{other.name}"}
                )
        query = [("watched", first.name), *(("also", other.name) for other in others)]
        page_frame.link_to("watch", "Their curves", query)


@background.job("Measuring the runs on the same queries", keep=4)
def _measured(key: tuple, split: str, _runs: Sequence[Run]) -> SameQueries:
    return same_queries(_runs, split)


@background.job("Computing the confidence intervals", keep=16)
def _differences_to(
    key: tuple, split: str, column: str, base: int, _measurement: SameQueries
) -> dict[int, str]:
    """Return the difference of each other run to the base in words, by the run's index."""
    others = [index for index in range(len(_measurement.names)) if index != base]
    return {index: str(_measurement.difference(column, base, index)) for index in others}


@background.job("Comparing the methods", keep=16)
def _compare_methods(
    key: tuple,
    split: str,
    column: str,
    _measurement: SameQueries,
    _members: Mapping[str, Sequence[int]],
) -> MethodComparison:
    return of_same_queries(_measurement, _members, [column])


@dataclass(frozen=True)
class QueryComparison:
    """The scores of some runs on their common queries.

    key: identifies the runs. column: the metric. base: index of the run to compare with.
    """

    runs: Sequence[Run]
    split: str
    key: tuple
    measurement: SameQueries
    column: str
    base: int

    @property
    def names(self) -> list[str]:
        return list(self.measurement.names)

    @property
    def order(self) -> list[int]:
        """Indices of the runs: the base first, then by score."""
        means = np.nanmean(self.measurement.values[self.column], axis=1)
        return [self.base, *(index for index in np.argsort(-means).tolist() if index != self.base)]


def _draw_same_queries(chosen: Sequence[Run], split: str) -> None:
    """Compare every run with one of them on the common queries: scores, classes, and the largest disagreements."""
    views = [run_choice.view(run) for run in chosen]
    key = tuple((view.name, view.stamp) for view in views)
    measurement = background.if_ready(_measured(key, split, chosen))
    if measurement is None:
        return
    names = list(measurement.names)
    before = predecessor(chosen[0], library().runs)
    initial = names[-1]
    if before and before.name in names:
        initial = before.name
    with st.container(horizontal=True):
        column = page_frame.select(
            "Score", list(measurement.values), key="same score", initial="MAP@R", link="by"
        )
        base_name = page_frame.select(
            "Against", names, key="same base", initial=initial, link="against"
        )
    base = names.index(base_name)
    differences = background.if_ready(_differences_to(key, split, column, base, measurement))
    if differences is None:
        return
    comparison = QueryComparison(chosen, split, key, measurement, column, base)

    # The table of scores, the base first.
    means = np.nanmean(measurement.values[column], axis=1)
    page_frame.say(f"On {measurement.words}.")
    page_frame.say(measurement.note)
    if before and before.name == base_name:
        scores = f"{column} {means[base]:.3f} → {means[0]:.3f} ({differences[0]})"
        st.markdown(page_frame.as_text(f"Trained again with corrections: {scores}."))
    lines = []
    for index in comparison.order:
        difference = differences.get(index, "")
        lines.append(
            {"run": names[index], column: means[index], f"against {base_name}": difference}
        )
    config = {column: st.column_config.NumberColumn(column, format="%.3f")}
    st.dataframe(
        lines,
        hide_index=True,
        column_config=config,
        alt=f"{column} of each run, with intervals over classes",
    )
    _draw_methods(comparison)
    for index in comparison.order[1:]:
        page_frame.say(measurement.helped(column, base, index))
    _draw_classes(comparison)
    _draw_disagreements(comparison, views[0])


def _draw_methods(comparison: QueryComparison) -> None:
    """Compare the methods of the runs over classes and trainings, with a button that trains more of each."""
    members = places_by_setting(comparison.runs, comparison.split)
    if len(members) < 2:
        return
    st.markdown("**Methods**")
    counts = [len(indices) for indices in members.values()]

    # Intervals over trainings need a method with several runs.
    if max(counts) > 1:
        baseline = next(name for name, indices in members.items() if comparison.base in indices)
        ordered = {baseline: members[baseline], **members}  # the baseline first
        column = comparison.column
        key = (comparison.key, baseline)
        methods = background.if_ready(
            _compare_methods(key, comparison.split, column, comparison.measurement, ordered)
        )
        if methods is None:
            return
        head, body = methods.cells()
        lines = [dict(zip(head[1:], line[1:], strict=True)) for line in body]
        st.dataframe(
            lines,
            hide_index=True,
            alt=f"{column} of each method, with intervals over classes and trainings",
        )
        # the notes after them are above already
        for sentence in methods.sentences[: len(lines) - 1]:
            page_frame.say(sentence)
        with st.container(horizontal=True):
            page_frame.download("LaTeX", methods.latex(), "methods.tex", "text/plain")
            page_frame.download("CSV", methods.csv(), "methods.csv")
    if min(counts) < NEEDED:
        page_frame.say(
            f"To compare methods rather than networks, train each {NEEDED} times, with different seeds."
        )
        st.button(
            f"Train up to {NEEDED} of each",
            key="more seeds",
            icon=":material/casino:",
            on_click=page_frame.refusing(_train_more),
            args=(comparison.runs, comparison.split),
        )


def _train_more(chosen: Sequence[Run], split: str) -> None:
    """Add the missing trainings of each method to the queue, unless they exist already."""
    all_runs = library().runs
    missing: dict[str, RunConfig] = {}
    for members in by_setting(chosen, split).values():
        trainings = more_seeds.trainings(members[0], [*members, *all_runs], split)
        missing.update(more_seeds.missing(members[0], trainings, NEEDED))
    if not missing:
        st.toast(
            "These runs exist already. Select them in the table, too: they differ only in the seed."
        )
        return
    group = f"more seeds of {', '.join(run.name for run in chosen)}"
    added = queueing.enqueue_named(list(missing.items()), group)
    names = page_frame.as_text(", ".join(added))
    st.toast(
        f"{len(added)} added to the queue: {names}. Select them, too, when they have finished."
    )


def _draw_disagreements(comparison: QueryComparison, view: RunView) -> None:
    """Draw the queries on which the runs differ most. A click opens Browse with the best and the worst run.

    view: the run whose pictures are drawn.
    """

    def pick(_section: str, item: int) -> None:
        st.session_state["apart item"] = item

    measurement = comparison.measurement
    values = measurement.values[comparison.column]
    images = cache.images(view.name, view.stamp)
    disagreeing = measurement.disagreement(comparison.column)
    index_of = {int(measurement.items[index]): int(index) for index in disagreeing[:DISAGREEING]}

    # A card for each query, with the scores of the first runs.
    cards = []
    for item, index in index_of.items():
        scores = values[:, index]
        words = " · ".join(f"{scores[run]:.2f}" for run in comparison.order[:4])
        if len(comparison.order) > 4:
            words += " …"
        lines = [f"{measurement.names[run]} {scores[run]:.2f}" for run in comparison.order]
        card = of_image(view, images, item, value=words)
        cards.append(replace(card, tooltip="\n".join([card.tooltip, *lines])))
    note = (
        f"{comparison.column} differs on {len(disagreeing):,} queries; scores in the order of the table; click a query "
        "to browse it"
    )
    section = CardSection(
        "apart", "Where they disagree most", cards, note, "The runs agree on every query."
    )
    gallery([section], key="apart", on_pick=pick)

    item = st.session_state.pop("apart item", None)
    if item in index_of:
        index = index_of[item]
        best = int(values[:, index].argmax())
        worst = int(values[:, index].argmin())
        query = {
            "run": measurement.names[best],
            "split": measurement.split,
            "rival": f"run:{measurement.names[worst]}",
            "query": str(measurement.numbers[best, index]),
        }
        st.switch_page("views/browse/page.py", query_params=query)


def _draw_classes(comparison: QueryComparison) -> None:
    """Draw the difference of a run to the base for each class, with its interval over the queries of the class."""
    measurement = comparison.measurement
    base_name = comparison.names[comparison.base]
    with page_frame.expander("Classes", link="classes"):
        others = [name for name in comparison.names if name != base_name]
        name = page_frame.select("Classes of", others, key="same run", link="of")
        by_class = measurement.by_class(
            comparison.column, comparison.base, comparison.names.index(name)
        )
        lines = []
        for label, difference_of_class in by_class.items():
            lines.append(
                {
                    "class": measurement.class_names[label],
                    "queries": difference_of_class.count,
                    "difference": difference_of_class.mean,
                    "low": difference_of_class.low,
                    "high": difference_of_class.high,
                }
            )
        signed = st.column_config.NumberColumn(format="%+.3f")
        config: dict[str, Any] = {"difference": signed, "low": signed, "high": signed}
        alt = (
            f"Difference in {comparison.column} of {name} to {base_name} by class, "
            "with 95 % intervals over the queries of each class"
        )
        st.dataframe(lines, hide_index=True, column_config=config, alt=alt)


def _draw_differences(chosen: Sequence[Run]) -> None:
    """Draw the settings in which some run differs from the first."""
    first = chosen[0]
    base_values: dict[str, str] = {}
    values: dict[tuple[str, str], str] = {}  # by setting and run
    for run in chosen[1:]:
        for path, (base_value, value) in difference(first.config, run.config).items():
            base_values[path] = _word(base_value)
            values[path, run.name] = _word(value)
    if not base_values:
        st.info("These runs have the same configuration.")
        return
    lines = []
    for path, base_value in base_values.items():
        line = {"setting": path, first.name: base_value}
        for run in chosen[1:]:
            line[run.name] = values.get((path, run.name), base_value)
        lines.append(line)
    st.caption("Only settings in which at least one run differs from the first")
    st.dataframe(lines, hide_index=True, alt="Settings in which the runs differ")


def _draw_seeds(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    """Draw mean and standard deviation over runs that differ only in their seed."""
    st.caption(
        "Runs that differ only in their seed share a row: mean and sample standard deviation (n - 1)"
    )
    lines = tables.over_seeds(chosen, rows)
    scores = [name for name in tables.columns(lines) if name not in ("runs", "seeds")]
    numbers = {name: st.column_config.NumberColumn(name, format="%.3f") for name in scores}
    st.dataframe(
        lines, hide_index=True, column_config=numbers, placeholder="", alt="Means over seeds"
    )


def _word(value: Any) -> str:
    return "not set" if value is None else str(value)


def draw_knobs(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    """Draw the influence of settings on a score: a chart, and the importance of each setting.

    rows: the runs' rows of the table.
    """
    scores = tables.columns(rows)
    columns = knobs.varying([config_of(run) for run in chosen])
    if not scores:
        st.info(
            "None of these runs has a score of this split yet. It has one once it is evaluated; Watch shows when."
        )
        return
    if not columns:
        st.info(
            "These runs differ only in their seed. A sweep creates runs with different settings."
        )
        st.page_link("views/train/page.py", label="Sweep over a setting", icon=":material/tune:")
        return
    score = page_frame.select("Score", scores, key="knob_score", initial="MAP@R", link="score")
    values = [row.get(score) for row in rows]
    importance = None
    with page_frame.refusals(st.caption):
        importance = background.if_ready(_importance(repr((columns, values)), columns, values))
    _draw_parallel(columns, score, values, importance)
    if importance:
        page_frame.say(knobs.in_words(importance, score))
    if importance and importance.explained > 0:
        bars = []
        for weight in importance.weights:
            bars.append(
                Meter(", ".join(weight.knobs), max(0.0, weight.share), _trend(weight.trend))
            )
        meters(bars, key="importance")


def _draw_parallel(
    columns: Mapping[str, list[Any]],
    score: str,
    values: Sequence[float | None],
    importance: knobs.Importance | None,
) -> None:
    """Draw the runs as lines over the chosen settings, by default the most important ones. values: their scores."""
    names = []
    if importance:
        for weight in importance.weights:
            names += [name for name in weight.knobs if name in columns]
    names = list(dict.fromkeys([*names, *columns]))
    placeholder = f"the {min(AXES, len(names))} most important settings"
    axes = (
        page_frame.multiselect("Axes", names, key="axes", link="axis", placeholder=placeholder)
        or names[:AXES]
    )
    scored = [index for index, value in enumerate(values) if value is not None]
    if len(scored) < 2:
        st.info("The chart needs two runs with this score.")
        return
    axis_values = {name: [columns[name][index] for index in scored] for name in axes}
    figure = parallel(axis_values, score, [float(value) for value in values if value is not None])
    words = f"One line for each of {len(scored)} runs over {', '.join(axes)} and {score}"
    with st.container(key="figure-room"):
        st.plotly_chart(figure, key="parallel", alt=words)
    st.caption("Drag along an axis to select lines; drag a name to move an axis.")


@background.job("Measuring the importance of each setting", keep=32)
def _importance(
    key: str, _columns: Mapping[str, list[Any]], _scores: Sequence[float | None]
) -> knobs.Importance:
    return knobs.importance(_columns, _scores)


def _trend(trend: float | None) -> str:
    """Describe whether higher values of a setting go with higher scores."""
    if trend is None:
        return "not a number, so it has no direction"
    if abs(trend) < 0.2:
        return f"no clear direction (rank correlation {trend:+.2f})"
    direction = "higher" if trend > 0 else "lower"
    return f"higher values go with {direction} scores (rank correlation {trend:+.2f})"


def parallel(
    columns: Mapping[str, Sequence[Any]], score: str, scores: Sequence[float]
) -> go.Figure:
    """Draw one line per run over parallel axes. The last axis is the score, which also colours the lines."""
    import plotly.graph_objects as go

    axes = [{"label": name, **axis(values)} for name, values in columns.items()]
    lines = go.Parcoords(
        dimensions=[*axes, {"label": score, "values": list(scores)}],
        line={"color": list(scores), "colorscale": SCALE, "showscale": False},
        unselected={"line": {"opacity": 0.06}},
        labelangle=0 if len(axes) < 5 else -12,
        labelfont={"size": 13},
        tickfont={"size": 12},
        rangefont={"size": 1, "color": charts.CLEAR},
    )
    return go.Figure(lines, {"height": 420, "margin": {"l": 70, "r": 60, "t": 70, "b": 24}})


def axis(values: Sequence[Any]) -> dict[str, Any]:
    """Return the positions of values on an axis, and its ticks. Numbers are to scale, everything else is evenly
    spaced."""
    if not knobs.numbers(values):
        words = sorted({_word(value) for value in values})
        positions = [words.index(_word(value)) for value in values]
        labels = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]
        return {"values": positions, "tickvals": list(range(len(words))), "ticktext": labels}

    ticks = sorted(set(values))
    is_log = ticks[0] > 0 and ticks[-1] / ticks[0] >= WIDE
    position = math.log10 if is_log else float
    if len(ticks) > 8 and is_log:
        first_decade = math.floor(math.log10(ticks[0]))
        last_decade = math.ceil(math.log10(ticks[-1]))
        ticks = [10.0**decade for decade in range(first_decade, last_decade + 1)]
    elif len(ticks) > 8:
        ticks = []  # Plotly chooses them
    data: dict[str, Any] = {"values": [position(value) for value in values]}
    if ticks:
        data["tickvals"] = [position(tick) for tick in ticks]
        data["ticktext"] = [f"{tick:g}" for tick in ticks]
    return data
