"""Runs against each other: scores, settings, means over seeds, and what the settings have to do with the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from lab.data import ImageSet
from lab.report import knobs, more_seeds
from lab.report import rows as tables
from lab.report.methods import NEEDED, MethodComparison, by_setting, of_same_queries, places_by_setting
from lab.report.same_queries import SameQueries, predecessor, same_queries
from lab.runs import Run, RunConfig, difference

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_COMPARED = 12
"""Runs whose scores and settings stand side by side; knobs and seeds are looked at over all that are selected."""
VIEWS = ("Same queries", "Configuration", "Seeds", "Settings")
DISAGREEING = 12
"""Queries that are shown where the runs disagree."""
AXES = 6
"""Knobs that are drawn until somebody chooses: more do not fit beside each other."""
WIDE = 30.0
"""Highest over lowest value from which on an axis is logarithmic."""
LONGEST = 18
"""Characters of a value on an axis."""
SCALE = ((0.0, style.VERMILLION), (0.5, "#9A9A9A"), (1.0, style.BLUE))
"""From low scores to high ones, seen on a light and on a dark page; the last axis says the same."""


def compare(chosen: Sequence[Run], rows: Sequence[Row], split: str) -> None:
    """Draw the runs against each other. rows: of the table, one a run. split: whose scores the table shows."""
    st.subheader(f"{len(chosen)} runs compared", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        one, other = chosen[0], chosen[-1]
        common = (name for name in one.splits if run_choice.share_images(one, other, name))
        if len(chosen) == 2 and next(common, None):
            page_frame.link_to("browse", "Browse both", {"run": one.name, "rival": f"run:{other.name}"})
        first, *others = [run.name for run in chosen[:MAX_COMPARED]]  # their charts go on there while these train
        page_frame.link_to("watch", "Their curves", [("watched", first), *(("also", name) for name in others)])
    embedded = all(split in one.splits for one in chosen)
    views = VIEWS if embedded else VIEWS[1:]
    view = page_frame.choice("What to compare", views, key="compared", link="compared", **page_frame.COMPACT)
    if view in VIEWS[:2] and len(chosen) > MAX_COMPARED:
        st.caption(f"The first {MAX_COMPARED} of the {len(chosen)} selected runs.")
        chosen, rows = chosen[:MAX_COMPARED], rows[:MAX_COMPARED]
    if view == "Same queries":
        with page_frame.refusals(st.info):  # runs of different images may stand beside each other without being asked
            _same_queries(chosen, split)
        return
    {"Configuration": _differences, "Seeds": _seeds, "Settings": draw_knobs}[view](chosen, rows)


@background.job("Measuring the runs on the same queries", keep=4)
def _measured(key: tuple, split: str, _runs: Sequence[Run]) -> SameQueries:
    return same_queries(_runs, split)


@background.job("Working out the intervals", keep=16)
def _against(key: tuple, split: str, column: str, base: int, _found: SameQueries) -> dict[int, str]:
    """Place of each other run to its difference to the base in words."""
    others = [at for at in range(len(_found.names)) if at != base]
    return {at: str(_found.difference(column, base, at)) for at in others}


@background.job("Comparing the methods", keep=16)
def _compared_methods(
    key: tuple, split: str, column: str, _found: SameQueries, _places: Mapping[str, Sequence[int]]
) -> MethodComparison:
    return of_same_queries(_found, _places, [column])


def _same_queries(chosen: Sequence[Run], split: str) -> None:
    """Every run against one of them on the queries that all have: scores, classes, and where they disagree most."""
    views = [run_choice.view(run) for run in chosen]
    key = tuple((one.name, one.stamp) for one in views)
    if (found := background.if_ready(_measured(key, split, chosen))) is None:
        return
    images, names = cache.images(*key[0]), list(found.names)
    before = predecessor(chosen[0], library().runs)
    initial = before.name if before and before.name in names else names[-1]
    with st.container(horizontal=True):
        column = page_frame.select("Score", list(found.values), key="same score", initial="MAP@R", link="by")
        base = names.index(page_frame.select("Against", names, key="same base", initial=initial, link="against"))
    if (told := background.if_ready(_against(key, split, column, base, found))) is None:
        return
    means = np.nanmean(found.values[column], axis=1)
    order = [base, *(int(at) for at in np.argsort(-means) if at != base)]
    page_frame.say(f"On {found.words}.")
    page_frame.say(found.note)
    if before and before.name == names[base]:
        words = f"Trained again with corrections: {column} {means[base]:.3f} → {means[0]:.3f} ({told[0]})."
        st.markdown(page_frame.as_text(words))
    look = {column: st.column_config.NumberColumn(column, format="%.3f")}
    lines = [{"run": names[at], column: means[at], f"against {names[base]}": told.get(at, "")} for at in order]
    st.dataframe(lines, hide_index=True, column_config=look, alt=f"{column} of each run, with intervals")
    _methods(found, chosen, split, column, base, key)
    for at in order[1:]:
        page_frame.say(found.helped(column, base, at))
    _classes(found, column, base)
    _disagreements(found, column, order, views[0], images)


def _methods(found: SameQueries, chosen: Sequence[Run], split: str, column: str, base: int, key: tuple) -> None:
    """The methods behind the runs, over classes and trainings, and a button that trains more of each."""
    places = places_by_setting(chosen, split)
    if len(places) < 2:
        return
    st.markdown("**Methods**")
    if any(len(members) > 1 for members in places.values()):
        first = next(name for name, members in places.items() if base in members)
        ordered = {first: places[first], **places}  # the baseline first
        compared = background.if_ready(_compared_methods((key, first), split, column, found, ordered))
        if compared is None:
            return
        head, body = compared.cells()
        lines = [dict(zip(head[1:], line[1:], strict=True)) for line in body]
        st.dataframe(lines, hide_index=True, alt=f"{column} of each method over its trainings, with intervals")
        for sentence in compared.sentences[: len(lines) - 1]:  # the notes after them stand above already
            page_frame.say(sentence)
        with st.container(horizontal=True):
            page_frame.download("LaTeX", compared.latex(), "methods.tex", "text/plain")
            page_frame.download("CSV", compared.csv(), "methods.csv")
    if min(len(members) for members in places.values()) < NEEDED:
        page_frame.say(f"To compare methods and not networks, train each {NEEDED} times, with other seeds.")
        st.button(
            f"Train up to {NEEDED} of each",
            key="more seeds",
            icon=":material/casino:",
            on_click=page_frame.refusing(_train_more),
            args=(chosen, split),
        )


def _train_more(chosen: Sequence[Run], split: str) -> None:
    """Put the trainings that the methods lack into the queue; select those that have finished already."""
    known = library().runs
    lacking: dict[str, RunConfig] = {}
    for members in by_setting(chosen, split).values():
        trainings = more_seeds.trainings(members[0], [*members, *known], split)
        lacking.update(more_seeds.missing(members[0], trainings, NEEDED))
    if not lacking:
        st.toast("They have been trained already. Select them in the table, too: runs that differ in the seed alone.")
        return
    made = queueing.enqueue_named(list(lacking.items()), f"more seeds of {', '.join(run.name for run in chosen)}")
    names = page_frame.as_text(", ".join(made))
    st.toast(f"{len(made)} added to the queue: {names}. Select them, too, when they have finished.")


def _disagreements(found: SameQueries, column: str, order: list[int], shown: RunView, images: ImageSet) -> None:
    """Queries on which the runs differ most; a click browses one, in the best and the worst run. order: of the runs."""
    places, cards = found.disagreement(column), []
    place_of = {int(found.items[at]): int(at) for at in places[:DISAGREEING]}
    for item, place in place_of.items():
        scores = found.values[column][:, place]
        words = " · ".join(f"{scores[at]:.2f}" for at in order[:4]) + " …" * (len(order) > 4)
        card = of_image(shown, images, item, value=words)
        each = [f"{found.names[at]} {scores[at]:.2f}" for at in order]
        cards.append(replace(card, tooltip="\n".join([card.tooltip, *each])))
    note = f"{column} differs on {len(places):,} queries; scores in the order of the table; click one to browse it"
    section = CardSection("apart", "Where they disagree most", cards, note, "The runs agree on every query.")
    gallery([section], key="apart", on_pick=lambda _, item: st.session_state.update({"apart item": item}))
    if (item := st.session_state.pop("apart item", None)) in place_of:
        place = place_of[item]
        scores = found.values[column][:, place]
        best, worst = int(scores.argmax()), int(scores.argmin())
        query = {
            "run": found.names[best],
            "split": found.split,
            "rival": f"run:{found.names[worst]}",
            "query": str(found.numbers[best, place]),
        }
        st.switch_page("views/browse/page.py", query_params=query)


def _classes(found: SameQueries, column: str, base: int) -> None:
    """The difference of one run to the base for each class, with its interval."""
    with page_frame.expander("Classes", link="classes"):
        others = [name for name in found.names if name != found.names[base]]
        name = page_frame.select("Classes of", others, key="same run", link="of")
        by_class = found.by_class(column, base, found.names.index(name))
        lines = [
            {
                "class": found.class_names[label],
                "queries": one.count,
                "difference": one.mean,
                "low": one.low,
                "high": one.high,
            }
            for label, one in by_class.items()
        ]
        look = {name: st.column_config.NumberColumn(name, format="%+.3f") for name in ("difference", "low", "high")}
        alt = f"Difference in {column} of {name} to {found.names[base]} by class, with 95 % intervals (Student's t)"
        st.dataframe(lines, hide_index=True, column_config=look, alt=alt)


def _differences(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
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
        lines.append({"setting": path, first.name: _word(base), **others})
    st.caption("Only settings in which at least one run differs from the first")
    st.dataframe(lines, hide_index=True, alt="Settings in which the runs differ")


def _seeds(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    st.caption("Runs that differ only in their seed share a row: mean and sample standard deviation (n - 1)")
    lines = tables.over_seeds(chosen, rows)
    scores = [name for name in tables.columns(lines) if name not in ("runs", "seeds")]
    numbers = {name: st.column_config.NumberColumn(name, format="%.3f") for name in scores}
    st.dataframe(lines, hide_index=True, column_config=numbers, placeholder="", alt="Means over seeds")


def _word(value: Any) -> str:
    return "not set" if value is None else str(value)


def draw_knobs(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    """The chart and the weights. rows: of the table, one a run."""
    scores = tables.columns(rows)
    columns = knobs.varying([config_of(run) for run in chosen])
    if not scores:
        st.info("None of these runs has a score of this split yet. It has one once it is evaluated; Watch shows when.")
        return
    if not columns:
        st.info("These runs differ in no setting but their seed. A sweep makes runs that do.")
        st.page_link("views/train/page.py", label="Sweep over a setting", icon=":material/tune:")
        return
    score = page_frame.select("Score", scores, key="knob_score", initial="MAP@R", link="score")
    values = [row.get(score) for row in rows]
    weighed = None
    with page_frame.refusals(st.caption):
        weighed = background.if_ready(_importance(repr((columns, values)), columns, values))
    order = [name for one in weighed.weights for name in one.knobs] if weighed else []
    known = list(dict.fromkeys([*(name for name in order if name in columns), *columns]))
    words = f"the {min(AXES, len(known))} most important settings"
    axes = page_frame.multiselect("Axes", known, key="axes", link="axis", placeholder=words) or known[:AXES]
    scored = [at for at, value in enumerate(values) if value is not None]
    if len(scored) < 2:
        st.info("The chart needs two runs with this score.")
    else:
        axis_values = {name: [columns[name][at] for at in scored] for name in axes}
        figure = parallel(axis_values, score, [float(value) for value in values if value is not None])
        words = f"One line for each of {len(scored)} runs over {', '.join(axes)} and {score}"
        with st.container(key="figure-room"):
            st.plotly_chart(figure, key="parallel", alt=words)
        st.caption("Drag along an axis to pick out lines; drag a name to move an axis.")
    if weighed:
        page_frame.say(knobs.in_words(weighed, score))
    if weighed and weighed.explained > 0:
        bars = [Meter(", ".join(one.knobs), max(0.0, one.share), _trend(one.trend)) for one in weighed.weights]
        meters(bars, key="importance")


@background.job("Measuring the importance of each setting", keep=32)
def _importance(key: str, _columns: Mapping[str, list[Any]], _scores: Sequence[float | None]) -> knobs.Importance:
    return knobs.importance(_columns, _scores)


def _trend(trend: float | None) -> str:
    """Which way a setting goes with the score, in words."""
    if trend is None:
        return "not a number, so it has no direction"
    if abs(trend) < 0.2:
        return f"no clear direction (rank correlation {trend:+.2f})"
    return f"higher values go with {'higher' if trend > 0 else 'lower'} scores (rank correlation {trend:+.2f})"


def parallel(columns: Mapping[str, Sequence[Any]], score: str, scores: Sequence[float]) -> go.Figure:
    """One line a run over parallel axes, the score on the last, where its colour comes from, too."""
    import plotly.graph_objects as go

    axes = [{"label": name, **axis(values)} for name, values in columns.items()]
    drawn = go.Parcoords(
        dimensions=[*axes, {"label": score, "values": list(scores)}],
        line={"color": list(scores), "colorscale": SCALE, "showscale": False},
        unselected={"line": {"opacity": 0.06}},
        labelangle=0 if len(axes) < 5 else -12,
        labelfont={"size": 13},
        tickfont={"size": 12},
        rangefont={"size": 1, "color": charts.CLEAR},
    )
    return go.Figure(drawn, {"height": 420, "margin": {"l": 70, "r": 60, "t": 70, "b": 24}})


def axis(values: Sequence[Any]) -> dict[str, Any]:
    """Places of values on an axis, with the ticks that name them: numbers to scale, everything else evenly."""
    if not knobs.numbers(values):
        words = sorted({_word(value) for value in values})
        labels = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]
        at = [words.index(_word(one)) for one in values]
        return {"values": at, "tickvals": list(range(len(words))), "ticktext": labels}
    ticks = sorted(set(values))
    log = ticks[0] > 0 and ticks[-1] / ticks[0] >= WIDE
    place = math.log10 if log else float
    if len(ticks) > 8:
        ends = (math.floor(math.log10(ticks[0])), math.ceil(math.log10(ticks[-1])) + 1) if log else (0, 0)
        ticks = [10.0**decade for decade in range(*ends)]
    named = {"tickvals": [place(one) for one in ticks], "ticktext": [f"{one:g}" for one in ticks]} if ticks else {}
    return {"values": [place(one) for one in values], **named}
