"""Inspect: the gradient of a loss for every pair of a batch, shown on the images."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.losses
from app import served
from app.answers import candidates
from app.components.gallery import Bar, Card, CardSection, Query, gallery
from app.results import cards, run_choice
from app.results.cache import SplitView
from app.shared import address, background, charts, page_frame
from app.views.inspect import inspector
from app.views.inspect.inspector import ChosenLoss, LossInspection
from lab.runs.building import batches
from lab.runs.building.batches import InspectedBatch

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Parts of the page, by their value in the URL.
PARTS = {
    "images": "Images of a query",
    "wrong": "Wrong direction",
    "dead": "Dead gradients",
    "bounds": "Bound on a metric",
}
# Advice in the library's message that is for readers who write code.
MOTION = "pair_motion shows what one step does to the pairs instead."
# Most images of a list, and most pairs.
NEAREST = 40
PAIRS = 18
CHART = {"displaylogo": False}


@dataclass(frozen=True)
class InspectScene:
    """What the Inspect page shows.

    batch_key: identifies the batch. row: the query's row in the batch.
    """

    view: SplitView
    batch: InspectedBatch
    batch_key: str
    loss: ChosenLoss
    inspection: LossInspection
    row: int

    @property
    def items(self) -> np.ndarray:
        return self.batch.embedded.items

    @property
    def labels(self) -> np.ndarray:
        return self.batch.embedded.labels

    def card(self, row: int, **fields: Any) -> Card:
        """Return the card of an image of the batch."""
        return cards.card(self.view, self.items[row], **fields)


@page_frame.page(
    "Inspect",
    "The gradient of any loss on every pair of a batch: which pairs it pulls together, pushes apart or ignores.",
)
def inspect() -> None:
    view = run_choice.choose_split(run_choice.choose_run(preferred=inspector.has_pair_gradients))
    run_choice.need_classes(view)
    query = view.collection.query
    folder = view.run.folder
    sources = batches.offered(folder)
    address.load("loss", str, lab.losses.names())
    with st.sidebar:
        code = page_frame.select("Batch", sources, key="batch", link="batch")

        def is_query(item: int) -> bool:
            return code != batches.QUERY or view.collection.row(item) is not None

        has_new_query = address.load("query", int, is_query)
        draw = _choose_draw(code)
        chosen = inspector.choose_loss(folder)
        st.divider()
        part = page_frame.radio("Show", PARTS, key="show", link="show")

    # Read the batch. A batch around a query needs a query with a class.
    item = st.session_state.get("query")
    if code == batches.QUERY and view.collection.row(item) is None:
        item = int(query.items[query.labelled][0])
        st.session_state["query"] = item
    batch = batches.read(folder, code, view.collection, draw, item)
    batch_key = f"{code}/{view.split}/"
    if code == batches.DRAWN:
        batch_key += str(draw)
    batch_key += "/"
    if code == batches.QUERY:
        batch_key += str(item)
    _describe(view, batch, sources[code])
    if has_new_query and item not in batch.embedded.items:
        address.refuse("query")
    inspector.check(batch)

    # Inspect the loss on the batch.
    inspection = background.or_wait(inspector.examine(view, batch_key, chosen.code, chosen, batch))
    row = _query_row(batch, inspection, code, item)
    address.store("loss", chosen.name)
    address.store("query", int(batch.embedded.items[row]))
    if inspection.limits:
        words = inspection.limits.replace(
            MOTION, "The page shows instead what one gradient step does to the pairs."
        )
        st.info(page_frame.as_text(words))
        st.button("Show recall@k on these embeddings", on_click=_choose_recall)
    if inspection.weights:
        page_frame.say(inspection.weights)
    scene = InspectScene(view, batch, batch_key, chosen, inspection, row)
    if part == "images":
        _draw_images(scene)
    elif part == "wrong":
        _draw_wrong(scene)
    elif part == "dead":
        _draw_dead(scene)
    else:
        _draw_bounds(scene)


def _choose_draw(code: str) -> int:
    """Draw the button for another random batch, and return the number of the current one."""

    def draw_another() -> None:
        st.session_state["sampled"] += 1

    if code == batches.DRAWN:
        page_frame.keep("sampled", 0, lambda number: 0 <= number < 2**31, link="sampled")
        st.button(
            "Draw another batch", on_click=draw_another, icon=":material/casino:", width="stretch"
        )
    return st.session_state.get("sampled", 0)


def _choose_recall() -> None:
    st.session_state["loss"] = "recall_at_k"


def _query_row(
    batch: InspectedBatch, inspection: LossInspection, code: str, item: int | None
) -> int:
    """Return the row of the chosen query, or else of the query with the largest loss."""
    if code == batches.QUERY:
        return 0
    rows = np.flatnonzero(batch.embedded.items == item)
    if len(rows):
        return int(rows[0])
    row = 0
    if not np.isnan(inspection.values).all():
        row = int(np.nanargmax(inspection.values))
    st.session_state["query"] = int(batch.embedded.items[row])
    return row


def _describe(view: SplitView, batch: InspectedBatch, title: str) -> None:
    """Draw a line about the batch, and its embeddings with NaN or infinity."""
    classes = len(np.unique(batch.embedded.labels))
    provenance = view.provenance
    if batch.step is not None:
        provenance = f"embeddings of step {batch.step:,}"
    words = f"{title}: {len(batch):,} images of {classes:,} classes, {provenance}. {batch.note}"
    page_frame.say(f"{view.run.summary} · {words}")
    if batch.broken:
        st.warning(
            f"{len(batch.broken):,} embeddings of this batch contain NaN or infinity; they are shown here and left "
            "out of the rest of the page."
        )
        broken = [cards.card(view, item) for item in batch.broken[:NEAREST]]
        gallery(
            [CardSection("broken", "Not finite", broken, size="small")],
            key="broken",
            on_pick=lambda *_: None,
        )


# --- the gradient on the images -----------------------------------------------------------------------------------


def _draw_images(scene: InspectScene) -> None:
    """Draw the images of the batch by their similarity to the query, with the gradient of each pair."""
    _draw_queries(scene)
    pairs = scene.inspection.pairs
    order = _by_similarity(pairs.similarities[scene.row], scene.row)
    near = [_gradient_card(scene, row, rank) for rank, row in enumerate(order[:NEAREST], start=1)]
    unit = "change of the cosine by one step"
    if pairs.kind == "gradient":
        unit = "gradient ∂loss/∂cosine"
    note = f"▲ pulled closer, ▼ pushed away ({unit}); hatched with ✗: against the label"
    sections = [CardSection("near", "By similarity to the query", near, note)]
    rest = order[NEAREST:]
    matches = rest[scene.labels[rest] == scene.labels[scene.row]]
    if len(matches):
        further = [_gradient_card(scene, row, int(pairs.ranks[scene.row][row])) for row in matches]
        sections.append(CardSection("late", "Same class, further down", further))
    gallery(sections, key="inspected", on_pick=candidates.pick, query=_query_panel(scene))
    st.text(pairs.summary)
    st.link_button("Play with this batch", _playground(scene), icon=":material/sports_esports:")


def _playground(scene: InspectScene) -> str:
    """Return the URL of the ranking playground with this batch, and with this loss if the playground has it."""
    from lab import playground

    start = {}
    if scene.loss.name in playground.loss_names():
        start = {"loss": scene.loss.name, "knobs": scene.loss.values, "query": scene.row}
    batch = scene.batch.embedded
    images = scene.view.images
    identity = f"{scene.view.run.name}/{scene.batch_key}/{scene.loss.code}/{scene.row}"
    name = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    return served.playground(name, lambda: playground.of_batch(batch, images, start))


def _draw_queries(scene: InspectScene) -> None:
    """Draw the images of the batch to choose a query from, those with the largest loss first."""
    losses = scene.inspection.values
    order = np.argsort(-np.nan_to_num(losses, nan=-np.inf), kind="stable")[:NEAREST]
    queries = []
    for row in order:
        value = "" if np.isnan(losses[row]) else f"{losses[row]:.3g}"
        queries.append(scene.card(row, value=value))
    section = CardSection(
        "batch",
        "Queries, worst first",
        queries,
        "ordered by the loss of each query; click a query to see its gradients",
        size="small",
        current=int(scene.items[scene.row]),
        turns=True,
    )
    gallery([section], key="inspected batch", on_pick=candidates.pick)


def _by_similarity(similarities: np.ndarray, row: int) -> np.ndarray:
    """Return all rows but one, the most similar first."""
    order = np.argsort(-similarities, kind="stable")
    return order[order != row]


def _gradient_card(scene: InspectScene, row: int, rank: int) -> Card:
    """Return the card of an image with the gradient of its pair with the query."""
    pairs = scene.inspection.pairs
    right = bool(scene.labels[row] == scene.labels[scene.row])
    bar = _bar(float(pairs.gradients[scene.row, row]), pairs.scale, right)
    return scene.card(
        row, rank=rank, right=right, value=f"{pairs.similarities[scene.row, row]:.3f}", bar=bar
    )


def _bar(gradient: float, scale: float, same: bool) -> Bar:
    """Return the bar of a gradient. scale: the largest magnitude. same: whether the pair has the same class."""
    share = abs(gradient) / scale if scale > 0 else 0.0
    if share <= 1e-8:
        return Bar(0.0, "· not moved")
    words = f"▲ pull {-gradient:.2g}" if gradient < 0 else f"▼ push {gradient:.2g}"
    is_wrong = (gradient > 0) == same
    if is_wrong:
        words += " ✗"
    return Bar(share, words, is_wrong)


def _query_panel(scene: InspectScene) -> Query:
    """Return the query's panel with its loss and gradients in the batch."""
    from lab.inspect import average_precision

    pairs = scene.inspection.pairs
    row = scene.row
    others = _by_similarity(pairs.similarities[row], row)
    same = scene.labels[others] == scene.labels[row]
    gradients = pairs.gradients[row, others]
    active = pairs.active[row, others]
    wrong = active & np.where(same, gradients > 0, gradients < 0)
    value = scene.inspection.values[row]
    ap = average_precision(pairs.similarities[row, others], same)
    facts = [
        (
            "query's loss",
            "–" if np.isnan(value) else f"{value:.4g}",
            "value of the loss for this query alone",
        ),
        ("batch loss", f"{pairs.value:.4g}", "value of the loss for the whole batch"),
        (
            "AP here",
            "–" if np.isnan(ap) else f"{ap:.3f}",
            "average precision among the images of the batch",
        ),
        ("same class", f"{int(same.sum())}", "its true matches in the batch"),
        (
            "moved",
            f"{int(active.sum())} of {len(others)}",
            "images whose similarity to the query has a gradient",
        ),
        ("against label", f"{int(wrong.sum())}", "pairs that go against their label"),
    ]
    return cards.query(scene.view, int(scene.items[row]), facts)


# --- wrong directions, dead gradients ------------------------------------------------------------------------------


def _draw_wrong(scene: InspectScene) -> None:
    """Draw the pairs whose gradient goes against their label."""
    direction = scene.inspection.direction
    st.markdown(f"**{page_frame.as_text(direction.summary)}**")
    left, right = st.columns(2, gap="large")
    with left:
        figure = (
            direction.figure()
            .update_traces(textangle=0)
            .update_xaxes(tickangle=0, tickfont={"size": 11})
        )
        _draw_chart(figure, direction.summary, "wrong direction")
    with right:
        title = "Pairs that go against their label"
        empty = "None: every pair that moves goes in the direction of its label."
        _draw_pairs(scene, np.stack([direction.i, direction.j], 1), title, "strongest first", empty)
    st.caption(
        "A wrong direction is not always a fault: a loss that pulls on whole neighbourhoods may need it. In a loss "
        "that is defined pair by pair it is a fault."
    )


def _draw_dead(scene: InspectScene) -> None:
    """Draw the wrongly ranked pairs without a gradient."""
    dead = scene.inspection.dead
    st.markdown(f"**{page_frame.as_text(dead.summary)}**")
    _draw_chart(dead.figure(), dead.summary, "dead gradients")
    rows = np.flatnonzero(dead.dead)
    rows = rows[np.argsort(-dead.gaps[rows], kind="stable")]
    pairs = np.stack([dead.queries[rows], dead.positives[rows]], 1)
    title = "Wrongly ranked, but not pulled closer"
    note = "query left, its match right, the largest gap first"
    empty = "None: every true match behind a wrong image is pulled closer."
    _draw_pairs(scene, pairs, title, note, empty)


def _draw_pairs(scene: InspectScene, pairs: np.ndarray, title: str, note: str, empty: str) -> None:
    """Draw the first pairs of rows [p 2]. A click shows all pairs of the left image."""
    gradients = scene.inspection.pairs
    shown = []
    for index, (i, j) in enumerate(pairs[:PAIRS].tolist()):
        same = bool(scene.labels[i] == scene.labels[j])
        words = "same class" if same else "different"
        value = f"{words}, cosine {gradients.similarities[i, j]:.3f}"
        bar = _bar(float(gradients.gradients[i, j]), gradients.scale, same)
        card = cards.pair(
            scene.view, int(scene.items[i]), int(scene.items[j]), same, value=value, bar=bar
        )
        shown.append(replace(card, id=index))
    words = ""
    if len(pairs):
        words = f"{note}; {len(shown)} of {len(pairs):,} shown, click a pair to see all pairs of its left image"

    def pick(_section: str, index: int) -> None:
        st.session_state["query"] = int(scene.items[pairs[index, 0]])
        st.session_state["show"] = "images"

    gallery(
        [CardSection("pairs", title, shown, words, empty, "pairs")],
        key=f"pairs {title}",
        on_pick=pick,
    )


def _draw_bounds(scene: InspectScene) -> None:
    """Draw whether the loss bounds the error of each metric."""
    if scene.loss.values.get("simix") or scene.loss.wrapped:
        st.caption(
            "Computed without wrappers and SiMix: a mixture of two images has no true metric."
        )
    bounds = None
    with page_frame.refusals(st.info):
        job = inspector.bounds(
            scene.view, scene.batch_key, scene.loss.code, scene.loss, scene.batch
        )
        bounds = background.if_ready(job)
    if bounds is None:
        return
    with st.container(horizontal=True):
        for name, bound in bounds.items():
            words = f"✗ 1 − {name}: fails for {len(bound.failing)} queries"
            if bound.badge == "holds":
                words = f"✓ 1 − {name}: bound holds"
            elif bound.badge == "fails at ties":
                words = f"✗ 1 − {name}: fails at ties"
            st.badge(words, color="blue" if bound.holds else "red")
    metric = page_frame.choice(
        "Metric", list(bounds), key="bounded", link="bounded", **page_frame.COMPACT
    )
    _draw_chart(bounds[metric].figure(), bounds[metric].summary, f"bound {metric}")
    st.text(bounds[metric].summary)


def _draw_chart(figure: go.Figure, alt: str, key: str) -> None:
    figure.update_layout(title=None, margin={"t": 30})
    st.plotly_chart(charts.on_page(figure), theme=None, key=f"inspect {key}", alt=alt, config=CHART)


inspect()
