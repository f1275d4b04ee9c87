"""Confused classes as a matrix and as a list of pairs, and scores of classes and other slices."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from app.answers.ranked_answer import ONE_QUERY
from app.components.displays import matrix
from app.components.gallery import CardSection, gallery
from app.results import cache, cards
from app.shared import background, page_frame
from app.views.check.scene import DEPTH, ITEM, CheckScene, choose, neighbours
from lab.core.results import Ranking, labelled
from lab.evaluation.filters import CLASS, Filter, slicing_fields
from lab.inspect import data_checks
from lab.inspect.data_checks import Confusion

PAIRS = 500
"""Most rows of the list."""

SIZES = (10, 20, 30, 50)
"""Numbers of classes of the matrix to choose from."""

SIZE = 30
"""Number of classes of the matrix at first."""

MOST_CHOSEN = 20
"""Most classes that the user may choose."""

_CLICKED = "matrix goal"
"""Session key: row and column of the cell that was just clicked."""


def confused(scene: CheckScene) -> None:
    """Draw the matrix of the most confused classes, and the list of all pairs."""
    ranking = background.or_wait(neighbours(scene.view))
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        k = page_frame.slider(
            "Neighbours per image", 1, DEPTH, key="check k", initial=5, link="k", width=280
        )
    confusion = data_checks.confusion(ranking, k)
    if not len(confusion.label):
        st.success("No image has a neighbour of another class here.")
        return
    options = {
        str(label): str(scene.names[label]) for label in np.unique(ranking.query_labels).tolist()
    }
    with tools:
        size = page_frame.choice(
            "Classes in the matrix", SIZES, key="matrix size", initial=SIZE, link="size"
        )
        chosen = page_frame.multiselect(
            "Around these classes",
            options,
            key="around",
            most=MOST_CHOSEN,
            link="around",
            placeholder="the most confused classes",
            help="Shows these classes and those that they are confused with, instead of the most confused of all.",
        )
    _matrix(scene, ranking, confusion, k, size, [int(label) for label in chosen])
    _pairs(scene, ranking, confusion, k)


def _matrix(
    scene: CheckScene, ranking: Ranking, confusion: Confusion, k: int, size: int, chosen: list[int]
) -> None:
    """Draw the confusion matrix. A click on a cell opens the Browse page."""

    def pick(row: int, column: int) -> None:
        st.session_state[_CLICKED] = (row, column)

    labels = data_checks.worst_classes(confusion, size, chosen)
    counts = data_checks.confusion_matrix(ranking, k, labels)
    classes = np.unique(np.concatenate([ranking.query_labels, ranking.gallery_labels]))
    subject = "The most confused classes, the worst pair first"
    if chosen:
        subject = "The chosen classes and those that they are confused with"
    note = (
        f"{subject}: {len(labels):,} of {int(labelled(classes).sum()):,}. A cell says what per cent of the {k} nearest "
        "neighbours of the row's images are of the column's class."
    )
    names = [str(scene.names[label]) for label in labels]
    matrix(
        names,
        counts.counts.tolist(),
        counts.looked.tolist(),
        key="confusion matrix",
        on_pick=pick,
        title="Confusion matrix",
        note=note,
    )

    # A cell was clicked: browse the image that is confused most.
    clicked = st.session_state.pop(_CLICKED, None)
    if clicked is not None:
        row, column = clicked
        query = _browse_query(scene, ranking, k, int(labels[row]), int(labels[column]))
        parameters = {"run": scene.view.run.name, "split": scene.view.split, **query}
        st.switch_page("views/browse/page.py", query_params=parameters)


def _browse_query(
    scene: CheckScene, ranking: Ranking, k: int, label: int, other: int
) -> dict[str, str]:
    """Return the URL parameters of Browse for the image of a class with the most neighbours of another class."""
    parameters = {"queries": "class", "class": str(scene.names[label]), "k": str(k)}
    row = data_checks.most_confused(ranking, k, label, other)
    if row is not None:
        query = scene.view.collection.query
        items = query.items[query.labelled]  # the ranking has only these queries
        parameters["query"] = str(int(items[row]))
    return parameters


def _pairs(scene: CheckScene, ranking: Ranking, confusion: Confusion, k: int) -> None:
    """Draw the list of confused pairs, and images of the chosen pair."""
    labels = confusion.label[:PAIRS]
    others = confusion.other[:PAIRS]
    table = {
        "class": [str(scene.names[label]) for label in labels],
        "taken for": [str(scene.names[label]) for label in others],
        "share of neighbours": confusion.share[:PAIRS].round(2),
        "the other way": _reverse_share(confusion)[:PAIRS].round(2),
        "neighbours": confusion.count[:PAIRS],
    }

    # Draw the list. A selected row shows images of both classes.
    count = len(confusion.label)
    more = f"; the first {PAIRS} are listed" if count > PAIRS else ""
    st.markdown(
        f"**{count:,} pairs of classes are confused, the worst first{more}.** Select a row to see it."
    )
    st.caption(
        "Two classes that are taken for each other, both ways, are confused; their labels need not be wrong."
    )
    bar = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    row = page_frame.choose_row(
        table,
        key=f"pairs {_table_key(scene)}",
        column_config={"share of neighbours": bar, "the other way": bar},
        alt="Pairs of classes that are confused, the worst first",
    )
    if row is not None:
        label = int(labels[row])
        other = int(others[row])
        words = page_frame.as_text(f"Browse images of {scene.names[label]}")
        scene.view.link(words, **_browse_query(scene, ranking, k, label, other))
        _show(scene, label, other)


def _reverse_share(confusion: Confusion) -> np.ndarray:
    """Return how often the other class of each pair is taken for the first: float64 [p]."""
    pairs = list(zip(confusion.label.tolist(), confusion.other.tolist(), strict=True))
    shares = dict(zip(pairs, confusion.share, strict=True))
    return np.array([shares.get((other, label), 0.0) for label, other in pairs])


def _table_key(scene: CheckScene) -> str:
    return f"{scene.view.run.name} {scene.view.split}"


def _show(scene: CheckScene, *labels: int) -> None:
    """Draw some images of each class, and a link to Browse for the clicked image."""
    collection = scene.view.collection
    sections = []
    for label in labels:
        items = collection.gallery.items[collection.gallery.labels == label][:DEPTH]
        images = [cards.card(scene.view, item) for item in items]
        sections.append(
            CardSection(f"class {label}", str(scene.names[label]), images, size="small")
        )
    gallery(sections, key="classes shown", on_pick=choose)
    item = st.session_state.get(ITEM)
    if collection.row(item) is None:
        queries = collection.query.items[collection.query.labels == labels[0]]
        item = int(queries[0]) if len(queries) else None
    if item is not None:
        scene.view.link("Browse this image", query=str(item))


def slices(scene: CheckScene) -> None:
    """Draw the mean score of each class, or of the images with each value of another field, the worst first."""
    collection = scene.view.collection
    columns = slicing_fields(scene.view.images, collection.query.items)
    titles = {column: ONE_QUERY.get(column, column) for column in collection.columns}
    labels = {field: f"By {field}" for field in columns}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = page_frame.select("Score", titles, key="check by", initial="MAP@R", link="by")
        field = page_frame.select("Slices", labels, key="slice field", link="field")
    values = columns[field]
    scores = data_checks.slice_scores(background.or_wait(cache.measured(scene.view))[score], values)
    if not len(scores.names):
        st.info("No image here has another image of its class, so there is no score.")
        return
    st.caption(
        f"Mean {score} of the queries with each value, the worst first, with its 95 % interval over these "
        "queries (Student's t), which needs two. Select a row to browse these queries. Further columns of a table of "
        "images (`--data manifest`), such as the camera or the shop, are further ways to slice."
    )
    # The keys are fixed and users' words are titles, because a field may be called "queries".
    table = {
        "value": list(scores.names),
        "mean": scores.mean,
        "low": scores.low,
        "high": scores.high,
        "queries": scores.queries,
    }
    row = page_frame.choose_row(
        table,
        key=f"{field} {_table_key(scene)} {score}",
        alt=f"Mean {score} by {field}, the worst first",
        column_config=_column_config(field, score),
        placeholder="",
    )
    if row is not None:
        value = str(scores.names[row])
        chosen = Filter({field: frozenset([value])}, side="queries")
        query = {"queries": "worst", "filter": chosen.as_address or "", "side": "queries"}
        scene.view.link("Browse the worst queries of this slice", **query)
        if field == CLASS:
            _show(scene, int(collection.query.labels[values == value][0]))


def _column_config(field: str, score: str) -> Mapping[str, Any]:
    config: dict[str, Any] = {"value": st.column_config.Column(field)}
    for key, title in {"mean": score, "low": "low", "high": "high"}.items():
        config[key] = st.column_config.NumberColumn(title, format="%.3f")
    return config
