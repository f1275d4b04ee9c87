"""Classes: which are confused, as a matrix and as a list of pairs, and how each scores."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app.answers.ranked_answer import ONE_QUERY
from app.components.gallery import Section, gallery
from app.components.matrix import Matrix, matrix
from app.results import cache, cards
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import background, page_frame
from app.views.check import to_browse
from app.views.check.neighbours import DEPTH, ask_k
from lab.core.results import Ranking
from lab.inspect import data_checks
from lab.inspect.data_checks import Confusion

PAIRS = 500
"""Rows of the list."""
SIZES, SIZE = (10, 20, 30, 50), 30
"""Classes in the matrix: what can be chosen, and what is drawn at first."""
CHOSEN = 20
"""Classes that a person may choose."""
_GOAL = "matrix goal"
"""In the session's state: the row and column of the cell that was just clicked."""


def confused(run: RunView, split: str, whole: Collection, ranking: Ranking) -> None:
    """The matrix of the worst classes, and below it the list of all pairs."""
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        k = ask_k()
    confusion = data_checks.confusion(ranking, k)
    if not len(confusion.own):
        st.success("No image has a neighbour of another class here.")
        return
    with tools:
        size, around = _ask_classes(whole, ranking)
    _matrix(run, split, whole, ranking, confusion, k, size, around)
    _pairs(run, split, whole, ranking, confusion, k)


def _ask_classes(whole: Collection, ranking: Ranking) -> tuple[int, list[int]]:
    """How many classes are drawn, and the labels that they are gathered around."""
    names = [str(name) for name in whole.images.class_names]
    known = [str(label) for label in np.unique(ranking.query_labels).tolist()]
    size = page_frame.choice("Classes in the matrix", SIZES, key="matrix size", initial=SIZE, link="size")
    page_frame.keep("around", [], lambda chosen: len(chosen) <= CHOSEN and set(chosen) <= set(known), link="around")
    around = st.multiselect(
        "Around these classes", known, key="around", max_selections=CHOSEN, format_func=lambda label: names[int(label)],
        placeholder="the most confused classes", persist_state="session",
        help="Shows these classes and those that they are confused with, instead of the most confused of all.",
    )  # fmt: skip
    return size, [int(label) for label in around]


def _matrix(
    run: RunView,
    split: str,
    whole: Collection,
    ranking: Ranking,
    confusion: Confusion,
    k: int,
    size: int,
    around: list[int],
) -> None:
    names, of = whole.images.class_names, len(np.union1d(ranking.query_labels, ranking.gallery_labels))
    labels = data_checks.worst_classes(confusion, size, around)
    counted = data_checks.confusion_matrix(ranking, k, labels)
    which = "The chosen classes and those that they are confused with"
    which = which if around else "The most confused classes, the worst pair first"
    note = (
        f"{which}: {len(labels):,} of {of:,}. A cell says what per cent of the {k} nearest neighbours of the row's "
        "images are of the column's class."
    )
    worst = Matrix(
        [str(names[label]) for label in labels.tolist()], counted.counts.tolist(), counted.looked.tolist(),
        "Confusion matrix", note,
    )  # fmt: skip
    matrix(worst, key="confusion matrix", on_pick=_pick)
    goal = st.session_state.pop(_GOAL, None)
    if goal is not None:
        label, other = (int(labels[at]) for at in goal)
        st.switch_page("views/browse/page.py", query_params=_query(run, split, whole, ranking, k, label, other))


def _pick(row: int, column: int) -> None:
    st.session_state[_GOAL] = row, column


def _query(
    run: RunView, split: str, whole: Collection, ranking: Ranking, k: int, label: int, other: int
) -> dict[str, str]:
    """Browse, at the image of one class that has the most neighbours of another, among the images of its class."""
    row = data_checks.most_confused(ranking, k, label, other)
    query = {} if row is None else {"query": str(int(whole.query.items[row]))}
    return {"run": run.name, "split": split, "queries": "class", "class": str(label), "k": str(k), **query}


def _pairs(run: RunView, split: str, whole: Collection, ranking: Ranking, confusion: Confusion, k: int) -> None:
    import pandas as pd

    names = whole.images.class_names
    rows = [
        {
            "class": str(names[label]),
            "taken for": str(names[other]),
            "share of neighbours": round(float(share), 2),
            "neighbours": int(count),
        }
        for label, other, count, share in zip(
            *(one[:PAIRS] for one in (confusion.own, confusion.other, confusion.count, confusion.share)), strict=True
        )
    ]
    more = f"; the first {PAIRS} are listed" if len(confusion.own) > PAIRS else ""
    st.markdown(
        f"**{len(confusion.own):,} pairs of classes are confused, the worst first{more}.** Select a row to see it."
    )
    at = page_frame.choose_row(
        pd.DataFrame(rows), key=f"pairs {run.name} {split}",
        column_config={
            "share of neighbours": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
        },
        alt="Pairs of classes that are confused, the worst first",
    )  # fmt: skip
    if at is not None:
        label, other = int(confusion.own[at]), int(confusion.other[at])
        st.page_link(
            "views/browse/page.py", label=page_frame.as_text(f"Browse images of {names[label]}"),
            icon=":material/image_search:", query_params=_query(run, split, whole, ranking, k, label, other),
        )  # fmt: skip
        _show(run, split, whole, label, other)


def scores(run: RunView, split: str, whole: Collection) -> None:
    """The mean score of each class with its interval, the worst first."""
    import pandas as pd

    column = page_frame.select(
        "Score", whole.columns, key="check by", initial="MAP@R", format=lambda one: ONE_QUERY.get(one, one), link="by"
    )
    measured = background.or_wait(cache.measured("", run.name, split, run.stamp, whole))
    means = data_checks.class_scores(measured[column], whole.query.labels)
    if not len(means.labels):
        st.info("No image here has another one of its class, so no class has a score.")
        return
    names = whole.images.class_names
    table = pd.DataFrame(
        {
            "class": [str(names[label]) for label in means.labels],
            column: means.mean,
            "low": means.low,
            "high": means.high,
            "images": means.queries,
        }
    )
    st.caption(
        f"Mean {column} of the images of each class, the worst first, with its 95% interval (Student's t). "
        "Classes of one image have none. Select a row to see the class."
    )
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in (column, "low", "high")}
    row = page_frame.choose_row(
        table, key=f"classes {run.name} {split} {column}", column_config=numbers, placeholder="",
        alt=f"Mean {column} of each class, the worst first",
    )  # fmt: skip
    if row is not None:
        _show(run, split, whole, int(means.labels[row]))


def _show(run: RunView, split: str, whole: Collection, *labels: int) -> None:
    """Some images of a class, and of the one that it is taken for; a click opens one on the Browse page."""
    sections = []
    for label in labels:
        items = whole.gallery.items[whole.gallery.labels == label][:DEPTH]
        images = [cards.plain(run, whole, int(item)) for item in items]
        sections.append(Section(f"class {label}", str(whole.images.class_names[label]), images, size="small"))
    gallery(sections, key="classes shown", on_pick=to_browse.choose)
    item = st.session_state.get(to_browse.ITEM)
    queries = whole.query.items[whole.query.labels == labels[0]]
    if whole.row(item) is None:
        item = int(queries[0]) if len(queries) else None
    if item is not None:
        to_browse.link(run, split, item)
