"""Classes: which are confused, as a matrix and as a list of pairs, and how each scores; and scores of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.answers.ranked_answer import ONE_QUERY
from app.components.displays import Matrix, matrix
from app.components.gallery import CardSection, gallery
from app.results import cache, cards
from app.shared import background, page_frame
from app.views.check.scene import DEPTH, ITEM, Scene, ask_k, choose
from lab.core.results import Ranking
from lab.evaluation.filters import Filter, slicing_fields
from lab.inspect import data_checks
from lab.inspect.data_checks import Confusion
from lab.inspect.slices import Slice, slices_of, worst_slices

PAIRS = 500
"""Rows of the list."""
SIZES, SIZE = (10, 20, 30, 50), 30
"""Classes in the matrix: what can be chosen, and what is drawn at first."""
CHOSEN = 20
"""Classes that a person may choose."""
_GOAL = "matrix goal"
"""In the session's state: the row and column of the cell that was just clicked."""
SEARCH = ""
"""What stands for the search among the fields."""


def confused(scene: Scene) -> None:
    """The matrix of the worst classes, and below it the list of all pairs."""
    ranking = scene.ranking()
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        k = ask_k()
    confusion = data_checks.confusion(ranking, k)
    if not len(confusion.label):
        st.success("No image has a neighbour of another class here.")
        return
    known = {str(label): str(scene.names[label]) for label in sorted(set(ranking.query_labels.tolist()))}
    with tools:
        size = page_frame.choice("Classes in the matrix", SIZES, key="matrix size", initial=SIZE, link="size")
        around = page_frame.several(
            "Around these classes",
            known,
            key="around",
            most=CHOSEN,
            link="around",
            placeholder="the most confused classes",
            help="Shows these classes and those that they are confused with, instead of the most confused of all.",
        )
    _matrix(scene, ranking, confusion, k, size, [int(label) for label in around])
    _pairs(scene, ranking, confusion, k)


def _matrix(scene: Scene, ranking: Ranking, confusion: Confusion, k: int, size: int, around: list[int]) -> None:
    of = len({*ranking.query_labels.tolist(), *ranking.gallery_labels.tolist()})
    labels = data_checks.worst_classes(confusion, size, around)
    counted = data_checks.confusion_matrix(ranking, k, labels)
    which = "The chosen classes and those that they are confused with"
    which = which if around else "The most confused classes, the worst pair first"
    note = (
        f"{which}: {len(labels):,} of {of:,}. A cell says what per cent of the {k} nearest neighbours of the row's "
        "images are of the column's class."
    )
    names = [str(scene.names[label]) for label in labels]
    drawn = Matrix(names, counted.counts.tolist(), counted.looked.tolist(), "Confusion matrix", note)
    matrix(drawn, key="confusion matrix", on_pick=lambda row, column: st.session_state.update({_GOAL: (row, column)}))
    goal = st.session_state.pop(_GOAL, None)
    if goal is not None:
        label, other = (int(labels[at]) for at in goal)
        run, split = scene.view.run.name, scene.view.split
        query = {"run": run, "split": split, **_query(scene, ranking, k, label, other)}
        st.switch_page("views/browse/page.py", query_params=query)


def _query(scene: Scene, ranking: Ranking, k: int, label: int, other: int) -> dict[str, str]:
    """Browse, at the image of one class that has the most neighbours of another, among the images of its class."""
    row = data_checks.most_confused(ranking, k, label, other)
    query = {} if row is None else {"query": str(int(scene.view.whole.query.items[row]))}
    return {"queries": "class", "class": str(label), "k": str(k), **query}


def _pairs(scene: Scene, ranking: Ranking, confusion: Confusion, k: int) -> None:
    import pandas as pd

    labels, others, count = confusion.label[:PAIRS], confusion.other[:PAIRS], len(confusion.label)
    table = pd.DataFrame(
        {
            "class": [str(scene.names[label]) for label in labels],
            "taken for": [str(scene.names[label]) for label in others],
            "share of neighbours": confusion.share[:PAIRS].round(2),
            "neighbours": confusion.count[:PAIRS],
        }
    )
    more = f"; the first {PAIRS} are listed" if count > PAIRS else ""
    st.markdown(f"**{count:,} pairs of classes are confused, the worst first{more}.** Select a row to see it.")
    shares = {"share of neighbours": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)}
    alt = "Pairs of classes that are confused, the worst first"
    at = page_frame.choose_row(table, key=f"pairs {_about(scene)}", column_config=shares, alt=alt)
    if at is not None:
        label, other = int(labels[at]), int(others[at])
        words = page_frame.as_text(f"Browse images of {scene.names[label]}")
        scene.view.link(words, **_query(scene, ranking, k, label, other))
        _show(scene, label, other)


def _about(scene: Scene) -> str:
    return f"{scene.view.run.name} {scene.view.split}"


def _ask_score(scene: Scene) -> str:
    titles = {column: ONE_QUERY.get(column, column) for column in scene.view.whole.columns}
    return page_frame.select("Score", titles, key="check by", initial="MAP@R", link="by")


def _choose_row(scene: Scene, table: dict[str, Any], score: str, what: str) -> int | None:
    """A table of means with their intervals, of which a row can be chosen. what: the rows are."""
    import pandas as pd

    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in (score, "low", "high")}
    key, alt = f"{what} {_about(scene)} {score} {len(table[score])}", f"Mean {score} of {what}, the worst first"
    return page_frame.choose_row(pd.DataFrame(table), key=key, column_config=numbers, placeholder="", alt=alt)


def scores(scene: Scene) -> None:
    """The mean score of each class with its interval, the worst first."""
    score = _ask_score(scene)
    measured = background.or_wait(cache.measured(scene.view))
    means = data_checks.class_scores(measured[score], scene.view.whole.query.labels)
    if not len(means.labels):
        st.info("No image here has another one of its class, so no class has a score.")
        return
    st.caption(
        f"Mean {score} of the images of each class, the worst first, with its 95% interval (Student's t). "
        "Classes of one image have none. Select a row to see the class."
    )
    table = {"class": [str(scene.names[label]) for label in means.labels], score: means.mean}
    table |= {"low": means.low, "high": means.high, "images": means.queries}
    row = _choose_row(scene, table, score, "classes")
    if row is not None:
        _show(scene, int(means.labels[row]))


def _show(scene: Scene, *labels: int) -> None:
    """Some images of a class, and of the one that it is taken for; a click opens one on the Browse page."""
    whole, sections = scene.view.whole, []
    for label in labels:
        items = whole.gallery.items[whole.gallery.labels == label][:DEPTH]
        images = [cards.card(scene.view, item) for item in items]
        sections.append(CardSection(f"class {label}", str(scene.names[label]), images, size="small"))
    gallery(sections, key="classes shown", on_pick=choose)
    item = st.session_state.get(ITEM)
    if whole.row(item) is None:
        queries = whole.query.items[whole.query.labels == labels[0]]
        item = int(queries[0]) if len(queries) else None
    if item is not None:
        scene.view.link("Browse this image", query=str(item))


def slices(scene: Scene) -> None:
    """Scores by what is known of the images, and the slices that a search found to be the worst."""
    columns = slicing_fields(scene.view.images, scene.view.whole.query.items)
    if not columns:
        st.info(
            "Nothing is known of these images besides their class. A table of images (`--data manifest`) may bring "
            "more columns, such as the camera or the shop, and each becomes a way to slice the scores."
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = _ask_score(scene)
        named = {SEARCH: "The worst, by one field or two together"} | {one: f"By {one}" for one in columns}
        field = page_frame.select("Slices", named, key="slice field", link="field")
    measured = background.or_wait(cache.measured(scene.view))[score]
    if field != SEARCH:
        st.caption(
            f"Mean {score} of the queries with each value, the worst first, with its 95% interval (Student's t). "
            "Select a row to browse these queries."
        )
        _slice_table(scene, slices_of(measured, field, columns[field]), score)
        return
    most = max(3, min(1000, len(measured) // 2))
    words, first = "Queries that a slice must have", min(10, most)
    least = page_frame.slide(words, 2, most, key="slice least", initial=first, link="least", width=280)
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
    _slice_table(scene, worst.slices, score)


def _slice_table(scene: Scene, listed: Sequence[Slice], score: str) -> None:
    table = {"slice": [" and ".join(f"{field}: {value}" for field, value in one.where) for one in listed]}
    columns = {score: "mean", "low": "low", "high": "high", "queries": "queries"}
    table |= {name: [getattr(one, fact) for one in listed] for name, fact in columns.items()}
    row = _choose_row(scene, table, score, "slices")
    if row is not None:
        chosen = Filter({field: frozenset([value]) for field, value in listed[row].where}, side="queries")
        query = {"queries": "worst", "filter": chosen.as_address or "", "side": "queries"}
        scene.view.link("Browse the worst queries of this slice", **query)
