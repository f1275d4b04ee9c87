"""Classes: which are confused, as a matrix and as a list of pairs; and scores of classes and other slices."""

from typing import Any

import numpy as np
import streamlit as st

from app.answers.ranked_answer import ONE_QUERY
from app.components.displays import matrix
from app.components.gallery import CardSection, gallery
from app.results import cache, cards
from app.shared import background, page_frame
from app.views.check.scene import DEPTH, ITEM, Scene, choose, neighbours
from lab.core.results import Ranking, labelled
from lab.evaluation.filters import CLASS, Filter, slicing_fields
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


def confused(scene: Scene) -> None:
    """The matrix of the worst classes, and below it the list of all pairs."""
    ranking = background.or_wait(neighbours(scene.view))
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        k = page_frame.slider("Neighbours per image", 1, DEPTH, key="check k", initial=5, link="k", width=280)
    confusion = data_checks.confusion(ranking, k)
    if not len(confusion.label):
        st.success("No image has a neighbour of another class here.")
        return
    known = {str(label): str(scene.names[label]) for label in sorted(set(ranking.query_labels.tolist()))}
    with tools:
        size = page_frame.choice("Classes in the matrix", SIZES, key="matrix size", initial=SIZE, link="size")
        around = page_frame.multiselect(
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
    classes = np.unique(np.concatenate([ranking.query_labels, ranking.gallery_labels]))
    of = int(labelled(classes).sum())
    labels = data_checks.worst_classes(confusion, size, around)
    counted = data_checks.confusion_matrix(ranking, k, labels)
    which = "The chosen classes and those that they are confused with"
    which = which if around else "The most confused classes, the worst pair first"
    note = (
        f"{which}: {len(labels):,} of {of:,}. A cell says what per cent of the {k} nearest neighbours of the row's "
        "images are of the column's class."
    )
    names = [str(scene.names[label]) for label in labels]
    pick = lambda row, column: st.session_state.update({_GOAL: (row, column)})  # noqa: E731
    cells, looked = counted.counts.tolist(), counted.looked.tolist()
    matrix(names, cells, looked, key="confusion matrix", on_pick=pick, title="Confusion matrix", note=note)
    goal = st.session_state.pop(_GOAL, None)
    if goal is not None:
        label, other = (int(labels[at]) for at in goal)
        run, split = scene.view.run.name, scene.view.split
        query = {"run": run, "split": split, **_query(scene, ranking, k, label, other)}
        st.switch_page("views/browse/page.py", query_params=query)


def _query(scene: Scene, ranking: Ranking, k: int, label: int, other: int) -> dict[str, str]:
    """Browse, at the image of one class that has the most neighbours of another, among the images of its class."""
    row = data_checks.most_confused(ranking, k, label, other)
    asked = scene.view.collection.query
    items = asked.items[asked.labelled]  # the ranking is of these alone
    query = {} if row is None else {"query": str(int(items[row]))}
    return {"queries": "class", "class": str(scene.names[label]), "k": str(k), **query}


def _pairs(scene: Scene, ranking: Ranking, confusion: Confusion, k: int) -> None:
    labels, others, count = confusion.label[:PAIRS], confusion.other[:PAIRS], len(confusion.label)
    table = {
        "class": [str(scene.names[label]) for label in labels],
        "taken for": [str(scene.names[label]) for label in others],
        "share of neighbours": confusion.share[:PAIRS].round(2),
        "the other way": _other_way(confusion)[:PAIRS].round(2),
        "neighbours": confusion.count[:PAIRS],
    }
    more = f"; the first {PAIRS} are listed" if count > PAIRS else ""
    share = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    st.markdown(f"**{count:,} pairs of classes are confused, the worst first{more}.** Select a row to see it.")
    st.caption("Two classes that are taken for each other, both ways, are confused; their labels need not be wrong.")
    shares = {"share of neighbours": share, "the other way": share}
    alt = "Pairs of classes that are confused, the worst first"
    at = page_frame.choose_row(table, key=f"pairs {_about(scene)}", column_config=shares, alt=alt)
    if at is not None:
        label, other = int(labels[at]), int(others[at])
        words = page_frame.as_text(f"Browse images of {scene.names[label]}")
        scene.view.link(words, **_query(scene, ranking, k, label, other))
        _show(scene, label, other)


def _other_way(confusion: Confusion) -> np.ndarray:
    """How much the other class of each pair is taken for the first, as `share` says it: float64 [p]."""
    pairs = list(zip(confusion.label.tolist(), confusion.other.tolist(), strict=True))
    shares = dict(zip(pairs, confusion.share, strict=True))
    return np.array([shares.get((other, label), 0.0) for label, other in pairs])


def _about(scene: Scene) -> str:
    return f"{scene.view.run.name} {scene.view.split}"


def _show(scene: Scene, *labels: int) -> None:
    """Some images of a class, and of the one that it is taken for; a click opens one on the Browse page."""
    whole, sections = scene.view.collection, []
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
    """The mean score of each class, or of the images with each value of another field, the worst first."""
    whole, titles = (
        scene.view.collection,
        {column: ONE_QUERY.get(column, column) for column in scene.view.collection.columns},
    )
    columns = slicing_fields(scene.view.images, whole.query.items)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = page_frame.select("Score", titles, key="check by", initial="MAP@R", link="by")
        named = {field: f"By {field}" for field in columns}
        field = page_frame.select("Slices", named, key="slice field", link="field")
    found = data_checks.slice_scores(background.or_wait(cache.measured(scene.view))[score], columns[field])
    if not len(found.names):
        st.info("No image here has another one of its class, so there is no score.")
        return
    st.caption(
        f"Mean {score} of the queries with each value, the worst first, with its 95% interval (Student's t), which "
        "takes two queries. Select a row to browse these queries. Further columns of a table of images "
        "(`--data manifest`), such as the camera or the shop, are further ways to slice."
    )
    # Keys are ours and titles are people's: a column of theirs may be called "queries".
    table = {
        "value": list(found.names),
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "queries": found.queries,
    }
    titles = {"mean": score, "low": "low", "high": "high"}
    config: dict[str, Any] = {key: st.column_config.NumberColumn(title, format="%.3f") for key, title in titles.items()}
    config["value"] = st.column_config.Column(field)
    look: dict[str, Any] = {"column_config": config, "placeholder": ""}
    key, alt = f"{field} {_about(scene)} {score}", f"Mean {score} by {field}, the worst first"
    row = page_frame.choose_row(table, key=key, alt=alt, **look)
    if row is not None:
        value = str(found.names[row])
        chosen = Filter({field: frozenset([value])}, side="queries")
        query = {"queries": "worst", "filter": chosen.as_address or "", "side": "queries"}
        scene.view.link("Browse the worst queries of this slice", **query)
        if field == CLASS:
            _show(scene, int(whole.query.labels[columns[CLASS] == value][0]))
