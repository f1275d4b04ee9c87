"""Inspect: what a loss does to every pair of a batch, shown on the images; and what changes if one similarity does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.losses
from app.components.gallery import Bar, Card, Section, gallery
from app.components.meters import Meter, meters
from app.results import cache, cards, run_choice
from app.shared import address, background, page_frame, plot_theme
from app.views.inspect import inspector
from app.views.inspect.inspector import ChosenLoss, Findings
from lab.evaluation.collection import Collection
from lab.runs.building import batches
from lab.runs.building.batches import InspectedBatch

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from lab.inspect import ListGradients, MetricBound


PARTS = {
    "images": "Images of a query", "wrong": "Wrong direction", "dead": "Dead gradients", "bounds": "Bound and gap",
    "change": "Change one similarity",
}  # fmt: skip
"""What the page can show, by the word in its address."""
MOTION = "pair_motion shows what one step does to the pairs instead."  # the inspector's advice to who writes code
NEAREST = 40
FIRST = 12
PAIRS = 18
CHART = {"displaylogo": False}


@dataclass(frozen=True)
class Scene:
    """What the page is about. at: the place of the query in the batch."""

    run: cache.RunView
    split: str
    collection: Collection
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

    def card(self, place: int) -> Card:
        return cards.plain(self.run, self.collection, int(self.items[place]))


@page_frame.page(
    "Inspect",
    "The gradient of any loss on every pair of a batch: which pairs it pulls together, pushes apart or ignores.",
)
def inspect() -> None:
    run = run_choice.choose_run()
    folder = run_choice.library()[run.name]
    offered = batches.offered(folder)
    address.adopt("loss", str, lab.losses.names())
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format=str.capitalize, link="split")
        collection = cache.collection(run.name, split, run.stamp)
        run_choice.need_classes(collection)
        address.adopt("query", int)
        code = page_frame.select(
            "Batch", list(offered), key="batch", format=lambda one: offered.get(one, one), link="batch"
        )
        if code == batches.DRAWN:
            page_frame.keep("sampled", 0, lambda draw: 0 <= draw < 2**31, link="sampled")
            st.button("Draw another batch", icon=":material/casino:", on_click=_draw_another, width="stretch")
        chosen = inspector.choose_loss(folder)
        st.divider()
        part = page_frame.few("Show", list(PARTS), key="show", format=PARTS.__getitem__, link="show")
    item = st.session_state.get("query")
    if code == batches.QUERY and collection.row(item) is None:
        item = st.session_state["query"] = int(collection.query.items[0])
    draw = st.session_state.get("sampled", 0)
    batch, about = inspector.read_batch(run, code, split, draw, item)
    _say(run, collection, batch, offered[code], split)
    inspector.check(batch)
    findings = background.or_wait(inspector.find(run.name, run.stamp, split, about, chosen.code, chosen, batch))
    at = _query_of(batch, findings, code, item)
    address.publish(**inspector.as_address(folder, chosen), query=int(batch.embedded.items[at]))
    scene = Scene(run, split, collection, batch, about, chosen, findings, at)
    if findings.limits:
        words = findings.limits.replace(MOTION, "Shown instead is what one step does to the pairs.")
        st.info(page_frame.as_text(words))
    if findings.weights:
        st.caption(page_frame.as_text(findings.weights))
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


def _say(run: cache.RunView, collection: Collection, batch: InspectedBatch, title: str, split: str) -> None:
    classes = len(np.unique(batch.embedded.labels))
    of = cache.provenance(run.name, split) if batch.step is None else f"embeddings of step {batch.step:,}"
    st.caption(
        page_frame.as_text(f"{run.summary} · {title}: {len(batch):,} images of {classes:,} classes, {of}. {batch.note}")
    )
    if batch.broken:
        st.warning(
            f"{len(batch.broken):,} embeddings of this batch hold NaN or infinity; they are shown here and left out "
            "of what follows."
        )
        broken = [cards.plain(run, collection, item) for item in batch.broken[:NEAREST]]
        gallery([Section("broken", "Not finite", broken, size="small")], key="broken", on_pick=lambda *_: None)


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
    sections = [Section("near", "By similarity to the query", near, note)]
    if len(late):
        ranks = findings.pairs.ranks[at]
        further = [_moved(scene, place, int(ranks[place])) for place in late]
        sections.append(Section("late", "Same class, further down", further))
    panel = cards.query(scene.run, scene.collection, int(scene.items[at]), _facts(scene))
    gallery(sections, key="inspected", on_pick=_pick, query=panel)
    st.text(findings.pairs.summary)


def _strip(scene: Scene) -> None:
    """The images of the batch to choose a query from, the worst first."""
    values = np.where(np.isnan(scene.findings.values), -np.inf, scene.findings.values)
    order = np.argsort(-values, kind="stable")[:NEAREST]
    queries = [
        replace(scene.card(place), value="" if np.isinf(values[place]) else f"{values[place]:.3g}") for place in order
    ]
    note = "ordered by the loss of each as a query; click one to see its gradients"
    current = int(scene.items[scene.at])
    strip = Section("batch", "Queries, worst first", queries, note, size="small", current=current, turns=True)
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
    return replace(scene.card(place), rank=rank, right=right, value=f"{pairs.similarities[at, place]:.3f}", bar=bar)


def _bar(gradient: float, scale: float, same: bool) -> Bar:
    """Direction, size and verdict of one pull or push."""
    share = abs(gradient) / scale if scale > 0 else 0.0
    if share <= 1e-8:
        return Bar(0.0, "· not moved")
    wrong = (gradient > 0) == same
    word = "▲ pull" if gradient < 0 else "▼ push"
    return Bar(share, f"{word} {abs(gradient):.2g}" + (" ✗" if wrong else ""), wrong)


def _facts(scene: Scene) -> list[tuple[str, str, str]]:
    from lab.inspect import average_precision

    pairs, at = scene.findings.pairs, scene.at
    others = _others(pairs.similarities[at], at)
    same, gradients = scene.labels[others] == scene.labels[at], pairs.gradients[at, others]
    active = pairs.active[at, others]
    value = scene.findings.values[at]
    ap = average_precision(pairs.similarities[at, others], same)
    wrong = int((active & np.where(same, gradients > 0, gradients < 0)).sum())
    return [
        ("query's loss", "–" if np.isnan(value) else f"{value:.4g}", "value of the loss for this query alone"),
        ("batch loss", f"{pairs.value:.4g}", "value of the loss for the whole batch"),
        ("AP here", "–" if np.isnan(ap) else f"{ap:.3f}", "average precision among the images of the batch"),
        ("same class", f"{int(same.sum())}", "its true matches in the batch"),
        ("moved", f"{int(active.sum())} of {len(others)}", "images whose similarity to the query has a gradient"),
        ("against label", f"{wrong}", "pairs that go against their label"),
    ]


# --- wrong directions, dead gradients ------------------------------------------------------------------------------


def _wrong(scene: Scene) -> None:
    direction = scene.findings.direction
    st.markdown(f"**{page_frame.as_text(direction.summary)}**")
    left, right = st.columns(2, gap="large")
    with left:
        figure = direction.figure().update_traces(textangle=0).update_xaxes(tickangle=0, tickfont={"size": 11})
        _chart(figure, direction.summary, "wrong direction")
    with right:
        _pair_gallery(
            scene, direction.i, direction.j, "Pairs that go against their label", "strongest first",
            "None: every pair that moves goes the way its label asks.",
        )  # fmt: skip
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
    _pair_gallery(
        scene, dead.queries[rows], dead.positives[rows], "Wrongly ranked, but not pulled closer",
        "query left, its match right, the furthest behind first",
        "None: every true match that stands behind a wrong image is pulled closer.",
    )  # fmt: skip


def _pair_gallery(scene: Scene, first: np.ndarray, second: np.ndarray, title: str, note: str, empty: str) -> None:
    pairs = [_pair_card(scene, int(i), int(j), at) for at, (i, j) in enumerate(zip(first, second, strict=True))][:PAIRS]
    part = f"{note}; {len(pairs)} of {len(first):,} shown, click one to change its similarity" if len(first) else ""
    ends = [(int(scene.items[i]), int(scene.items[j])) for i, j in zip(first[:PAIRS], second[:PAIRS], strict=True)]

    def pick(section: str, at: int) -> None:
        if 0 <= at < len(ends):
            st.session_state["query"], st.session_state["other"] = ends[at]
            st.session_state["show"] = "change"

    gallery([Section("pairs", title, pairs, part, empty, size="pairs")], key=f"pairs {title}", on_pick=pick)


def _pair_card(scene: Scene, i: int, j: int, at: int) -> Card:
    pairs, run = scene.findings.pairs, scene.run
    a, b = int(scene.items[i]), int(scene.items[j])
    names = [cards.class_name(scene.collection, one) for one in (a, b)]
    title = names[0] if names[0] == names[1] else " · ".join(names)
    same = bool(scene.labels[i] == scene.labels[j])
    value = f"{'same class' if same else 'different'}, cosine {pairs.similarities[i, j]:.3f}"
    tooltip = "\n".join([title, *(str(scene.collection.images.keys[one]) for one in (a, b))])
    bar = _bar(float(pairs.gradients[i, j]), pairs.scale, same)
    source = cache.pair_thumbnail(run.name, run.stamp, a, b)
    return Card(at, source, f"{names[0]} and {names[1]}", title, value=value, tooltip=tooltip, bar=bar)


# --- bound and gap -------------------------------------------------------------------------------------------------


def _bound_and_gap(scene: Scene) -> None:
    st.subheader("Does the loss bound the metric's error?", anchor=False)
    if scene.loss.values.get("simix") or scene.loss.wrapped:
        st.caption("Computed without wrappers and SiMix: a mixture of two images has no true metric.")
    try:
        asked = scene.run.name, scene.run.stamp, scene.split, scene.about, scene.loss.code, scene.loss, scene.batch
        bounds = background.if_ready(inspector.bounds(*asked))
    except ValueError as error:
        st.info(page_frame.as_text(str(error)))
    else:
        if bounds is not None:
            _draw_bounds(bounds.of)
            if bounds.weights:
                st.caption(page_frame.as_text(bounds.weights))
    st.subheader("How much better do scores look inside a batch?", anchor=False)
    _gap(scene)


def _draw_bounds(bounds: dict[str, MetricBound]) -> None:
    with st.container(horizontal=True):
        for name, bound in bounds.items():
            words = {"holds": f"✓ 1 − {name}: bound holds", "fails at ties": f"✗ 1 − {name}: fails at ties"}
            text = words.get(bound.badge, f"✗ 1 − {name}: fails for {len(bound.failing)} queries")
            st.badge(text, color="blue" if bound.holds else "red")
    chosen = page_frame.choice("Metric", list(bounds), key="bounded", labelled=False, link="bounded")
    _chart(bounds[chosen].figure(), bounds[chosen].summary, f"bound {chosen}")
    st.text(bounds[chosen].summary)


def _gap(scene: Scene) -> None:
    size = len(scene.batch)
    pool = scene.collection.gallery
    gaps = background.if_ready(inspector.gap(scene.run.name, scene.split, scene.run.stamp, size, pool))
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
    st.plotly_chart(plot_theme.dressed(figure), theme=None, key=f"inspect {key}", alt=alt, config=CHART)


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
    place = _other(scene, others, relevant)
    scores = similarities[others]
    now = float(np.clip(scores[place], -1, 1))
    key = f"similarity {scene.about} {scene.items[at]} {scene.items[others[place]]}"
    name = cards.class_name(scene.collection, int(scene.items[others[place]]))
    page_frame.keep(key, round(now, 3), lambda cosine: -1 <= cosine <= 1, link="cosine")
    moved = st.slider(
        page_frame.as_text(f"Cosine of the query and the marked {name}"), -1.0, 1.0, step=0.005, format="%.3f",
        key=key, help="Only this one similarity changes; the query's other similarities stay.",
    )  # fmt: skip
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
    panel = cards.query(scene.run, scene.collection, int(scene.items[at]), _facts(scene))
    gallery(
        sections, key="changed", on_pick=lambda _, item: st.session_state.update(other=item), query=panel, columns=True
    )
    st.caption(
        "Click an image to change its similarity instead. The loss above is of this one list alone, without wrappers "
        "and SiMix; that beside the query's picture is of the query within its batch."
    )


def _other(scene: Scene, others: np.ndarray, relevant: np.ndarray) -> int:
    """Place in the list of the marked image: the chosen one, else the match that stands furthest behind."""
    items, last = scene.items[others].tolist(), int(np.flatnonzero(relevant)[-1])
    address.adopt("other", int, items, default=None)
    chosen = st.session_state.get("other")
    place = items.index(chosen) if chosen in items else last
    address.tell("other", items[place], items[last])
    return place


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
    scene: Scene, others: np.ndarray, grads: ListGradients, scale: float, place: int, key: str,
    before: ListGradients | None = None,
) -> Section:  # fmt: skip
    ranks = _ranks(grads)
    order = np.argsort(ranks)
    places = order[(ranks[order] <= FIRST) | grads.relevant[order] | (order == place)]
    known = None if before is None else dict(zip(scene.items[others].tolist(), _ranks(before).tolist(), strict=True))
    listed = []
    for one in places:
        right, value = bool(grads.relevant[one]), f"{grads.similarities[one]:.3f}"
        bar = _bar(float(grads.gradients[one]), scale, right)
        card = replace(scene.card(int(others[one])), rank=int(ranks[one]), right=right, value=value, bar=bar)
        listed.append(card if known is None else cards.moved(card, known))
    note = f"the first {FIRST} and every match; {grads.carriers} images carry nine tenths of the gradient"
    return Section(key, key.capitalize(), listed, note, current=int(scene.items[others[place]]))


inspect()
