"""Inspect: what a loss does to every pair of a batch, shown on the images; and what changes if one similarity does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.losses
from app.components.displays import Meter, meters
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

    from lab.inspect import ListGradients, MetricBound


PARTS = {
    "images": "Images of a query",
    "wrong": "Wrong direction",
    "dead": "Dead gradients",
    "bounds": "Bound and gap",
    "change": "Change one similarity",
}
"""What the page can show, by the word in its address."""
MOTION = "pair_motion shows what one step does to the pairs instead."  # the inspector's advice to who writes code
NEAREST = 40
FIRST = 12
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
    view = run_choice.choose_split(run_choice.choose_run())
    run_choice.need_classes(view)
    folder = view.run.folder
    offered = batches.offered(folder)
    address.adopt("loss", str, lab.losses.names())
    with st.sidebar:
        address.adopt("query", int)
        code = page_frame.select("Batch", offered, key="batch", link="batch")
        if code == batches.DRAWN:
            page_frame.keep("sampled", 0, lambda draw: 0 <= draw < 2**31, link="sampled")
            st.button("Draw another batch", icon=":material/casino:", on_click=_draw_another, width="stretch")
        chosen = inspector.choose_loss(folder)
        st.divider()
        part = page_frame.few("Show", PARTS, key="show", link="show")
    item = st.session_state.get("query")
    if code == batches.QUERY and view.whole.row(item) is None:
        item = st.session_state["query"] = int(view.whole.query.items[0])
    batch, about = inspector.read_batch(view, code, st.session_state.get("sampled", 0), item)
    _say(view, batch, offered[code])
    inspector.check(batch)
    findings = background.or_wait(inspector.find(view, about, chosen.code, chosen, batch))
    at = _query_of(batch, findings, code, item)
    for name, value in (inspector.as_address(folder, chosen) | {"query": int(batch.embedded.items[at])}).items():
        address.tell(name, value)
    scene = Scene(view, batch, about, chosen, findings, at)
    if findings.limits:
        words = findings.limits.replace(MOTION, "Shown instead is what one step does to the pairs.")
        st.info(page_frame.as_text(words))
    if findings.weights:
        page_frame.say(findings.weights)
    {"images": _images, "wrong": _wrong, "dead": _dead, "bounds": _bound_and_gap, "change": _change}[part](scene)


def _draw_another() -> None:
    st.session_state["sampled"] = st.session_state.get("sampled", 0) + 1


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
    gallery(sections, key="inspected", on_pick=_pick, query=_panel(scene))
    st.text(findings.pairs.summary)


def _strip(scene: Scene) -> None:
    """The images of the batch to choose a query from, the worst first."""
    values = np.where(np.isnan(scene.findings.values), -np.inf, scene.findings.values)
    order = np.argsort(-values, kind="stable")[:NEAREST]
    queries = [scene.card(at, value="" if np.isinf(values[at]) else f"{values[at]:.3g}") for at in order]
    note = "ordered by the loss of each as a query; click one to see its gradients"
    look: dict[str, Any] = {"size": "small", "current": int(scene.items[scene.at]), "turns": True}
    strip = CardSection("batch", "Queries, worst first", queries, note, **look)
    gallery([strip], key="inspected batch", on_pick=_pick)


def _pick(section: str, item: int) -> None:
    st.session_state["query"] = item


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
    count, first = len(pairs[0]), np.stack(pairs, 1)[:PAIRS]
    ends = scene.items[first].tolist()
    shown = [replace(_pair_card(scene, i, j), id=at) for at, (i, j) in enumerate(first.tolist())]
    part = f"{note}; {len(shown)} of {count:,} shown, click one to change its similarity" if count else ""

    def pick(section: str, at: int) -> None:
        if 0 <= at < len(ends):
            st.session_state["query"], st.session_state["other"] = ends[at]
            st.session_state["show"] = "change"

    gallery([CardSection("pairs", title, shown, part, empty, "pairs")], key=f"pairs {title}", on_pick=pick)


def _pair_card(scene: Scene, i: int, j: int) -> Card:
    pairs, same = scene.findings.pairs, bool(scene.labels[i] == scene.labels[j])
    value = f"{'same class' if same else 'different'}, cosine {pairs.similarities[i, j]:.3f}"
    bar = _bar(float(pairs.gradients[i, j]), pairs.scale, same)
    return cards.pair(scene.view, int(scene.items[i]), int(scene.items[j]), same, value=value, bar=bar)


# --- bound and gap -------------------------------------------------------------------------------------------------


def _bound_and_gap(scene: Scene) -> None:
    st.subheader("Does the loss bound the metric's error?", anchor=False)
    if scene.loss.values.get("simix") or scene.loss.wrapped:
        st.caption("Computed without wrappers and SiMix: a mixture of two images has no true metric.")
    try:
        job = inspector.bounds(scene.view, scene.about, scene.loss.code, scene.loss, scene.batch)
        bounds = background.if_ready(job)
    except ValueError as error:
        st.info(page_frame.as_text(str(error)))
    else:
        if bounds is not None:
            _draw_bounds(bounds.of)
            if bounds.weights:
                page_frame.say(bounds.weights)
    st.subheader("How much better do scores look inside a batch?", anchor=False)
    _gap(scene)


def _draw_bounds(bounds: dict[str, MetricBound]) -> None:
    with st.container(horizontal=True):
        for name, bound in bounds.items():
            words = {"holds": f"✓ 1 − {name}: bound holds", "fails at ties": f"✗ 1 − {name}: fails at ties"}
            text = words.get(bound.badge, f"✗ 1 − {name}: fails for {len(bound.failing)} queries")
            st.badge(text, color="blue" if bound.holds else "red")
    chosen = page_frame.choice("Metric", list(bounds), key="bounded", link="bounded", **page_frame.BARE)
    _chart(bounds[chosen].figure(), bounds[chosen].summary, f"bound {chosen}")
    st.text(bounds[chosen].summary)


def _gap(scene: Scene) -> None:
    gaps = background.if_ready(inspector.gap(scene.view, len(scene.batch)))
    if gaps is None:
        return
    inside, gap = float(gaps.batch_ap.mean()), float(gaps.gap.mean())
    bound = float(np.nanmean(gaps.bound))
    words = (
        "AP in batches minus AP over all images: what a loss that only sees batches misses. Where every batch is "
        f"ranked perfectly it is at most the bound, as for {gaps.perfect.mean():.0%} of the queries."
    )
    random = f"Mean over random batches of {int(gaps.batch_sizes[0])} images of the split."
    bars = [
        Meter("AP inside a batch", inside, random, gaps.global_ap, "AP over all images"),
        Meter("Decomposability gap", gap, words, bound, "bound (eq. 8)"),
    ]
    meters(bars, key="gap")


def _chart(figure: go.Figure, alt: str, key: str) -> None:
    figure.update_layout(title=None, margin={"t": 30})
    st.plotly_chart(charts.on_page(figure), theme=None, key=f"inspect {key}", alt=alt, config=CHART)


# --- change one similarity -----------------------------------------------------------------------------------------


def _change(scene: Scene) -> None:
    from lab.inspect import list_gradients

    problem = inspector.list_problem(scene.loss)
    if problem:
        st.info(problem)
        return
    at = scene.at
    similarities = scene.findings.pairs.similarities[at]
    others = _others(similarities, at)
    relevant = scene.labels[others] == scene.labels[at]
    _strip(scene)
    if not relevant.any():
        st.info("This query has no other image of its class in the batch, so no loss moves anything; choose another.")
        return
    items, scores = scene.items[others].tolist(), similarities[others]
    last = items[int(np.flatnonzero(relevant)[-1])]  # the match that stands furthest behind
    other = address.follow("other", int, items, default=last)
    place, name = items.index(other), cards.named(scene.view.images, other)
    now = float(np.clip(scores[place], -1, 1))
    look: dict[str, Any] = {"key": f"similarity {scene.about} {scene.items[at]} {other}", "link": "cosine"}
    look["help"] = "Only this one similarity changes; the query's other similarities stay."
    words = page_frame.as_text(f"Cosine of the query and the marked {name}")
    moved = page_frame.slide(words, -1.0, 1.0, initial=round(now, 3), step=0.005, format="%.3f", **look)
    loss = lab.losses.create(scene.loss.name, **inspector.plain(scene.loss).values)  # as it looks at a single list
    changed = scores.copy()
    if abs(moved - now) > 5e-4:
        changed[place] = moved
    before: ListGradients = list_gradients(loss, scores, relevant)
    after: ListGradients = list_gradients(loss, changed, relevant)
    _tell_change(before, after, place)
    scale = max(before.scale, after.scale)
    sections = [
        _list_section(scene, others, before, scale, place, "before"),
        _list_section(scene, others, after, scale, place, "after", before),
    ]
    pick = lambda _, item: st.session_state.update(other=item)  # noqa: E731
    gallery(sections, key="changed", on_pick=pick, query=_panel(scene), columns=True)
    st.caption(
        "Click an image to change its similarity instead. The loss above is of this one list alone, without wrappers "
        "and SiMix; that beside the query's picture is of the query within its batch."
    )


def _tell_change(before: ListGradients, after: ListGradients, place: int) -> None:
    from lab.inspect import average_precision

    old_ap, new_ap = (average_precision(one.similarities, one.relevant) for one in (before, after))
    values: dict[str, tuple[Any, Any, str]] = {
        "Loss of this list alone": (before.value, after.value, "{:.4f}"),
        "AP": (old_ap, new_ap, "{:.3f}"),
        "Rank of the marked image": (int(_ranks(before)[place]), int(_ranks(after)[place]), "{:d}"),
        "Its gradient": (before.gradients[place], after.gradients[place], "{:.3g}"),
    }
    for column, (name, (old, new, pattern)) in zip(st.columns(4), values.items(), strict=True):
        text = pattern.format(new) if new == old else f"{pattern.format(old)} → {pattern.format(new)}"
        column.metric(name, text)


def _ranks(gradients: ListGradients) -> np.ndarray:
    """int64 [g]: the 1-based place of every image in a list."""
    ranks = np.empty(len(gradients.similarities), np.int64)
    ranks[np.argsort(-gradients.similarities, kind="stable")] = np.arange(1, len(ranks) + 1)
    return ranks


def _list_section(
    scene: Scene,
    others: np.ndarray,
    grads: ListGradients,
    scale: float,
    place: int,
    key: str,
    before: ListGradients | None = None,
) -> CardSection:
    ranks = _ranks(grads)
    order = np.argsort(ranks)
    places = order[(ranks[order] <= FIRST) | grads.relevant[order] | (order == place)]
    known = None if before is None else dict(zip(scene.items[others].tolist(), _ranks(before).tolist(), strict=True))
    listed = []
    for one in places:
        right, value = bool(grads.relevant[one]), f"{grads.similarities[one]:.3f}"
        bar = _bar(float(grads.gradients[one]), scale, right)
        card = scene.card(int(others[one]), rank=int(ranks[one]), right=right, value=value, bar=bar)
        listed.append(card if known is None else cards.moved(card, known))
    note = f"the first {FIRST} and every match; {grads.carriers} images carry nine tenths of the gradient"
    return CardSection(key, key.capitalize(), listed, note, current=int(scene.items[others[place]]))


inspect()
