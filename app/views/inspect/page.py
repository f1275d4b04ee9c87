"""Inspect: what a loss does to every pair of a batch, shown on the images."""

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
from app.views.inspect.inspector import ChosenLoss, Findings
from lab.runs.building import batches
from lab.runs.building.batches import InspectedBatch

if TYPE_CHECKING:
    import plotly.graph_objects as go


PARTS = {
    "images": "Images of a query",
    "wrong": "Wrong direction",
    "dead": "Dead gradients",
    "bounds": "Bound on a metric",
}
"""What the page can show, by the word in its address."""
MOTION = "pair_motion shows what one step does to the pairs instead."  # the inspector's advice to who writes code
NEAREST = 40
PAIRS = 18
CHART = {"displaylogo": False}


@dataclass(frozen=True)
class Scene:
    """What the page is about. at: the place of the query in the batch."""

    view: SplitView
    batch: InspectedBatch
    about: str
    loss: ChosenLoss
    findings: Findings
    at: int

    @property
    def items(self) -> np.ndarray:
        return self.batch.embedded.items

    @property
    def labels(self) -> np.ndarray:
        return self.batch.embedded.labels

    def card(self, place: int, **look: Any) -> Card:
        return cards.card(self.view, self.items[place], **look)


@page_frame.page(
    "Inspect",
    "The gradient of any loss on every pair of a batch: which pairs it pulls together, pushes apart or ignores.",
)
def inspect() -> None:
    view = run_choice.choose_split(run_choice.choose_run(preferred=inspector.on_pairs))
    run_choice.need_classes(view)
    folder = view.run.folder
    offered = batches.offered(folder)
    address.load("loss", str, lab.losses.names())
    with st.sidebar:
        code = page_frame.select("Batch", offered, key="batch", link="batch")
        came = address.load("query", int, lambda item: code != batches.QUERY or view.collection.row(item) is not None)
        if code == batches.DRAWN:
            page_frame.keep("sampled", 0, lambda draw: 0 <= draw < 2**31, link="sampled")
            another = {"sampled": st.session_state["sampled"] + 1}
            look: dict[str, Any] = {"icon": ":material/casino:", "width": "stretch"}
            st.button("Draw another batch", on_click=lambda: st.session_state.update(another), **look)
        chosen = inspector.choose_loss(folder)
        st.divider()
        part = page_frame.radio("Show", PARTS, key="show", link="show")
    item = st.session_state.get("query")
    if code == batches.QUERY and view.collection.row(item) is None:
        known = view.collection.query.items[
            view.collection.query.labelled
        ]  # a query without a class asks no loss anything
        item = st.session_state["query"] = int(known[0])
    draw = st.session_state.get("sampled", 0)
    batch = batches.read(folder, code, view.collection, draw, item)
    about = f"{code}/{view.split}/{draw if code == batches.DRAWN else ''}/{item if code == batches.QUERY else ''}"
    _say(view, batch, offered[code])
    if came and item not in batch.embedded.items:
        address.refuse("query")
    inspector.check(batch)
    findings = background.or_wait(inspector.find(view, about, chosen.code, chosen, batch))
    at = _query_of(batch, findings, code, item)
    address.store("loss", chosen.name)
    address.store("query", int(batch.embedded.items[at]))
    scene = Scene(view, batch, about, chosen, findings, at)
    if findings.limits:
        words = findings.limits.replace(MOTION, "Shown instead is what one step does to the pairs.")
        st.info(page_frame.as_text(words))
        st.button("Show recall@k on these embeddings", on_click=lambda: st.session_state.update(loss="recall_at_k"))
    if findings.weights:
        page_frame.say(findings.weights)
    {"images": _images, "wrong": _wrong, "dead": _dead, "bounds": _bound}[part](scene)


def _query_of(batch: InspectedBatch, findings: Findings, code: str, item: int | None) -> int:
    """The place of the query: the one that was chosen, else the one that the loss is worst for."""
    if code == batches.QUERY:
        return 0
    places = np.flatnonzero(batch.embedded.items == item)
    if len(places):
        return int(places[0])
    at = 0 if np.isnan(findings.values).all() else int(np.nanargmax(findings.values))
    st.session_state["query"] = int(batch.embedded.items[at])
    return at


def _say(view: SplitView, batch: InspectedBatch, title: str) -> None:
    classes = len(np.unique(batch.embedded.labels))
    of = view.provenance if batch.step is None else f"embeddings of step {batch.step:,}"
    page_frame.say(f"{view.run.summary} · {title}: {len(batch):,} images of {classes:,} classes, {of}. {batch.note}")
    if batch.broken:
        st.warning(
            f"{len(batch.broken):,} embeddings of this batch hold NaN or infinity; they are shown here and left out "
            "of what follows."
        )
        broken = [cards.card(view, item) for item in batch.broken[:NEAREST]]
        gallery([CardSection("broken", "Not finite", broken, size="small")], key="broken", on_pick=lambda *_: None)


# --- the gradient on the images -----------------------------------------------------------------------------------


def _images(scene: Scene) -> None:
    findings, at = scene.findings, scene.at
    _strip(scene)
    order = _others(findings.pairs.similarities[at], at)
    same = scene.labels == scene.labels[at]
    late = order[NEAREST:][same[order[NEAREST:]]]
    near = [_moved(scene, place, rank) for rank, place in enumerate(order[:NEAREST], start=1)]
    unit = "gradient ∂loss/∂cosine" if findings.pairs.kind == "gradient" else "change of the cosine by one step"
    note = f"▲ pulled closer, ▼ pushed away ({unit}); hatched with ✗: against the label"
    sections = [CardSection("near", "By similarity to the query", near, note)]
    if len(late):
        ranks = findings.pairs.ranks[at]
        further = [_moved(scene, place, int(ranks[place])) for place in late]
        sections.append(CardSection("late", "Same class, further down", further))
    gallery(sections, key="inspected", on_pick=candidates.pick, query=_panel(scene))
    st.text(findings.pairs.summary)
    st.link_button("Play with this batch", _playground(scene), icon=":material/sports_esports:")


def _playground(scene: Scene) -> str:
    """The address of the ranking playground on the batch, with the loss where it has it."""
    from lab import playground

    name, values = scene.loss.name, scene.loss.values
    known = name in playground.loss_names()
    start = {"loss": name, "knobs": values, "query": scene.at} if known else {}
    batch, images = scene.batch.embedded, scene.view.images
    about = f"{scene.view.run.name}/{scene.about}/{scene.loss.code}/{scene.at}"
    code = hashlib.blake2b(about.encode(), digest_size=8).hexdigest()
    return served.playground(code, lambda: playground.of_batch(batch, images, start))


def _strip(scene: Scene) -> None:
    """The images of the batch to choose a query from, the worst first."""
    values = np.where(np.isnan(scene.findings.values), -np.inf, scene.findings.values)
    order = np.argsort(-values, kind="stable")[:NEAREST]
    queries = [scene.card(at, value="" if np.isinf(values[at]) else f"{values[at]:.3g}") for at in order]
    note = "ordered by the loss of each as a query; click one to see its gradients"
    look: dict[str, Any] = {"size": "small", "current": int(scene.items[scene.at]), "turns": True}
    strip = CardSection("batch", "Queries, worst first", queries, note, **look)
    gallery([strip], key="inspected batch", on_pick=candidates.pick)


def _others(similarities: np.ndarray, at: int) -> np.ndarray:
    order = np.argsort(-similarities, kind="stable")
    return order[order != at]


def _moved(scene: Scene, place: int, rank: int) -> Card:
    pairs, at = scene.findings.pairs, scene.at
    right = bool(scene.labels[place] == scene.labels[at])
    bar = _bar(float(pairs.gradients[at, place]), pairs.scale, right)
    return scene.card(place, rank=rank, right=right, value=f"{pairs.similarities[at, place]:.3f}", bar=bar)


def _bar(gradient: float, scale: float, same: bool) -> Bar:
    """Direction, size and verdict of one pull or push."""
    share = abs(gradient) / scale if scale > 0 else 0.0
    if share <= 1e-8:
        return Bar(0.0, "· not moved")
    wrong = (gradient > 0) == same
    word = "▲ pull" if gradient < 0 else "▼ push"
    return Bar(share, f"{word} {abs(gradient):.2g}" + (" ✗" if wrong else ""), wrong)


def _panel(scene: Scene) -> Query:
    """The query with what is known of it within its batch."""
    from lab.inspect import average_precision

    pairs, at = scene.findings.pairs, scene.at
    others = _others(pairs.similarities[at], at)
    same, gradients = scene.labels[others] == scene.labels[at], pairs.gradients[at, others]
    active = pairs.active[at, others]
    value = scene.findings.values[at]
    ap = average_precision(pairs.similarities[at, others], same)
    wrong = int((active & np.where(same, gradients > 0, gradients < 0)).sum())
    facts = [
        ("query's loss", "–" if np.isnan(value) else f"{value:.4g}", "value of the loss for this query alone"),
        ("batch loss", f"{pairs.value:.4g}", "value of the loss for the whole batch"),
        ("AP here", "–" if np.isnan(ap) else f"{ap:.3f}", "average precision among the images of the batch"),
        ("same class", f"{int(same.sum())}", "its true matches in the batch"),
        ("moved", f"{int(active.sum())} of {len(others)}", "images whose similarity to the query has a gradient"),
        ("against label", f"{wrong}", "pairs that go against their label"),
    ]
    return cards.query(scene.view, int(scene.items[at]), facts)


# --- wrong directions, dead gradients ------------------------------------------------------------------------------


def _wrong(scene: Scene) -> None:
    direction = scene.findings.direction
    st.markdown(f"**{page_frame.as_text(direction.summary)}**")
    left, right = st.columns(2, gap="large")
    with left:
        figure = direction.figure().update_traces(textangle=0).update_xaxes(tickangle=0, tickfont={"size": 11})
        _chart(figure, direction.summary, "wrong direction")
    with right:
        title, empty = "Pairs that go against their label", "None: every pair that moves goes the way its label asks."
        _pair_gallery(scene, (direction.i, direction.j), title, "strongest first", empty)
    st.caption(
        "A wrong direction is not always a fault: a loss that pulls on whole neighbourhoods may need it. In a loss "
        "that is defined pair by pair it is a fault."
    )


def _dead(scene: Scene) -> None:
    dead = scene.findings.dead
    st.markdown(f"**{page_frame.as_text(dead.summary)}**")
    _chart(dead.figure(), dead.summary, "dead gradients")
    rows = np.flatnonzero(dead.dead)
    rows = rows[np.argsort(-dead.gaps[rows], kind="stable")]
    title, note = "Wrongly ranked, but not pulled closer", "query left, its match right, the furthest behind first"
    empty = "None: every true match that stands behind a wrong image is pulled closer."
    _pair_gallery(scene, (dead.queries[rows], dead.positives[rows]), title, note, empty)


def _pair_gallery(scene: Scene, pairs: tuple[np.ndarray, np.ndarray], title: str, note: str, empty: str) -> None:
    count, first = len(pairs[0]), np.stack(pairs, 1)[:PAIRS].tolist()
    found, shown = scene.findings.pairs, []
    for at, (i, j) in enumerate(first):
        same = bool(scene.labels[i] == scene.labels[j])
        value = f"{'same class' if same else 'different'}, cosine {found.similarities[i, j]:.3f}"
        bar = _bar(float(found.gradients[i, j]), found.scale, same)
        card = cards.pair(scene.view, int(scene.items[i]), int(scene.items[j]), same, value=value, bar=bar)
        shown.append(replace(card, id=at))
    part = f"{note}; {len(shown)} of {count:,} shown, click one to see all pairs of its left image" if count else ""

    def pick(section: str, at: int) -> None:
        st.session_state["query"], st.session_state["show"] = int(scene.items[first[at][0]]), "images"

    gallery([CardSection("pairs", title, shown, part, empty, "pairs")], key=f"pairs {title}", on_pick=pick)


def _bound(scene: Scene) -> None:
    """Whether the loss bounds the metric's error."""
    if scene.loss.values.get("simix") or scene.loss.wrapped:
        st.caption("Computed without wrappers and SiMix: a mixture of two images has no true metric.")
    bounds = None
    with page_frame.refusals(st.info):
        job = inspector.bounds(scene.view, scene.about, scene.loss.code, scene.loss, scene.batch)
        bounds = background.if_ready(job)
    if bounds is None:
        return
    with st.container(horizontal=True):
        for name, bound in bounds.items():
            words = {"holds": f"✓ 1 − {name}: bound holds", "fails at ties": f"✗ 1 − {name}: fails at ties"}
            text = words.get(bound.badge, f"✗ 1 − {name}: fails for {len(bound.failing)} queries")
            st.badge(text, color="blue" if bound.holds else "red")
    chosen = page_frame.choice("Metric", list(bounds), key="bounded", link="bounded", **page_frame.COMPACT)
    _chart(bounds[chosen].figure(), bounds[chosen].summary, f"bound {chosen}")
    st.text(bounds[chosen].summary)


def _chart(figure: go.Figure, alt: str, key: str) -> None:
    figure.update_layout(title=None, margin={"t": 30})
    st.plotly_chart(charts.on_page(figure), theme=None, key=f"inspect {key}", alt=alt, config=CHART)


inspect()
