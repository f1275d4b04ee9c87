"""Two-stage: class anchors first, then only their images: what a query saves against brute force, and what it loses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from app.answers import candidates, ranked_answer
from app.answers.candidates import Candidates
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, run_choice
from app.results.cache import SplitView
from app.shared import address, background, charts, page_frame
from lab.core.formats import counted
from lab.core.knobs.sliders import ROUND
from lab.core.results import Evidence, Ranking
from lab.evaluation import comparison
from lab.evaluation.two_stage import FLATTERED, InvertedGallery, QueryCost
from lab.metrics import positive_ranks

SOURCES = {"random": "Random", "lost": "Most missed matches", "class": "Of one class"}
FIRST = 24
FOUND = 0.95
"""Share of the nearest that the number of probed anchors, as it is at first, finds."""


@dataclass(frozen=True)
class Scene:
    """What the page shows: the first k of a query by two-stage search, and what that costs.

    item: the query. probes: anchors whose images are searched.
    """

    view: SplitView
    inverted: InvertedGallery
    item: int
    probes: int
    k: int
    cost: QueryCost

    def evidence(self, ranking: Ranking) -> Evidence:
        """A ranking of the query."""
        return Evidence(ranking, self.inverted.collection.one(self.item), self.inverted.collection.gallery)


@page_frame.page(
    "Two-stage", "Compare a query with the class anchors first, then only with the images assigned to the nearest ones."
)
def two_stage() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    run_choice.need_classes(view)
    inverted, whole = background.or_wait(cache.inverted(view)), view.collection
    with st.sidebar:
        address.load("query", int, lambda item: whole.row(item) is not None)
        st.divider()
        source = page_frame.radio("Queries", SOURCES, key="raced", link="queries")
        below = st.container()
        st.divider()
        most = max(2, min(96, len(whole.gallery) - 1))
        k = page_frame.slider("Top k", 1, most, key="first", initial=min(FIRST, most), link="first")
    searched = f"{len(whole.query):,} queries in {len(whole.gallery):,} images"
    page_frame.say(f"{view.run.summary} · {view.split}, {searched} · {view.provenance}")
    st.caption(
        f"{inverted.count:,} anchors, learnt by this run, one for each class that it was trained on."
        if inverted.anchors.learnt
        else f"{inverted.count:,} anchors: the means of the classes of this gallery, because this run learnt none "
        f"(class_anchor_margin does). {FLATTERED}"
    )
    if inverted.count < 2:
        st.info("Two-stage search needs at least two anchors; choose a split with more classes.")
        return
    probes, everything = _probes(inverted, k), np.ones(len(whole.query), bool)
    with below:
        chosen = _lost(inverted, probes, k) if source == "lost" else candidates.choose(source, view, everything)
    item = candidates.chosen_query(view, chosen)
    candidates.draw(view, chosen, item, key="raced candidates", on_pick=candidates.pick)
    if item is not None:
        scene = Scene(view, inverted, item, probes, k, inverted.cost(item, probes, k))
        _tell(scene.cost, k)
        _draw_found(scene)
        _draw_charts(scene)
        _draw_lost(scene)


def _probes(inverted: InvertedGallery, k: int) -> int:
    """A slider from one anchor to all, finer among the few; a number from the address is one of its stops."""
    count, enough = inverted.count, inverted.enough(k, FOUND)
    page_frame.keep("probes", enough, range(1, count + 1), link="probes")
    state = st.session_state
    now, rounded = state["probes"], {int(step * 10**power) for power in range(len(str(count))) for step in ROUND}
    stops = {stop for stop in rounded if stop <= count} | {*range(1, min(20, count) + 1), count}
    if now not in {*stops, state.get("probes stop")}:
        state["probes stop"] = now
    stops |= {min(state.get("probes stop", now), count)}
    help = f"{enough:,} find {FOUND:.0%} of the nearest {k}, which is where this begins."
    return st.select_slider("Probed anchors", sorted(stops), key="probes", persist_state="session", help=help)


def _lost(inverted: InvertedGallery, probes: int, k: int) -> Candidates:
    items, lost = inverted.losers(probes, k)
    note = f"{len(items):,} of {len(inverted.sample):,} sampled queries miss some"
    nothing = f"None: with {counted(probes, 'probed anchor')} no query misses a true match among its nearest {k}."
    values = [f"{count} missed" for count in lost[: candidates.OFFERED]]
    title = f"Queries that miss most true matches among their nearest {k}"
    return Candidates(items[: candidates.OFFERED].tolist(), values, title, note, nothing)


def _tell(cost: QueryCost, k: int) -> None:
    """The costs in five numbers."""
    brute, fast = int(cost.brute.comparisons[0]), int(cost.fast.comparisons[0])
    matches, near = int(cost.brute.num_positives[0]), int(cost.brute.hits[0, :k].sum())
    aps = (positive_ranks(ranking).average_precision[0] for ranking in (cost.brute, cost.fast))
    whole, cut = ("–" if np.isnan(ap) else f"{ap:.3f}" for ap in aps)
    lost, matches_lost = int(cost.brute.hits[0, cost.lost].sum()), len(cost.lost_matches)
    facts = {
        "Comparisons": (f"{fast:,}", f"{fast / brute - 1:+.0%} of {brute:,}"),
        "Milliseconds": (f"{cost.fast_ms:.3f}", f"brute force {cost.brute_ms:.3f}"),
        f"True in the first {k}": (f"{near - lost} of {near} found", f"{lost} missed"),
        "All true matches": (f"{matches - matches_lost} in reach", f"{matches_lost} missed"),
        "AP": (cut, f"brute force {whole}"),
    }
    for column, (name, (value, against)), help in zip(st.columns(5), facts.items(), COSTS, strict=True):
        arrow: Any = "auto" if name == "Comparisons" else "off"
        column.metric(name, value, against, delta_color="off", delta_arrow=arrow, help=help.format(k=k))


COSTS = (
    "Similarities computed, those with the anchors included; brute force compares with every image.",
    "Median of repeated searches for the nearest {k} of this query, on this machine, just now.",
    "True matches among the nearest {k} by brute force, and how many of them are assigned to a probed anchor.",
    "Images of the query's class that are assigned to a probed anchor.",
    "Average precision over all true matches; those that are missed count as not found.",
)


def _draw_charts(scene: Scene) -> None:
    inverted, probes, k = scene.inverted, scene.probes, scene.k
    share, at, visits = inverted.curves(k), probes - 1, list(range(1, inverted.count + 1))
    curves = {
        f"nearest {k} that are compared": (visits, share.neighbours.tolist()),
        "true matches that are compared": (visits, share.matches.tolist()),
        "comparisons (share of brute force)": (visits, share.comparisons.tolist()),
    }
    figure = charts.mark(charts.curves(curves, "share", x="probed anchors", log_x=True), probes)
    words = (
        f"With {counted(probes, 'probed anchor')}, {share.neighbours[at]:.1%} of the nearest {k} and "
        f"{share.matches[at]:.1%} of the true matches are compared, for {share.comparisons[at]:.1%} of the comparisons."
    )
    st.markdown(f"**Recall by number of probed anchors**, mean of {share.queries:,} queries")
    st.plotly_chart(figure, key="recall of anchors", alt=words)
    st.caption(words)


def _draw_lost(scene: Scene) -> None:
    view, cost, k = scene.view, scene.cost, scene.k
    brute, unreached = scene.evidence(cost.brute), np.zeros(len(view.collection.gallery), bool)
    unreached[cost.lost_matches] = True
    matches = cards.neighbours(view, brute, cost.lost[cost.brute.hits[0, cost.lost]])
    matches += cards.missed(view, brute, k, ranked_answer.MISSED_SHOWN, unreached)
    nothing, note = "None: all are assigned to the probed anchors.", "with their rank by brute force" if matches else ""
    lost = CardSection("lost matches", "True matches missed", matches, note, nothing)
    gallery([lost], key="lost", on_pick=candidates.pick)


def _draw_found(scene: Scene) -> None:
    fast, before = scene.cost.fast, comparison.ranks(scene.evidence(scene.cost.brute))
    kept = int(min(scene.k, (fast.neighbours[0] >= 0).sum()))
    came = cards.neighbours(scene.view, scene.evidence(fast), np.arange(kept))
    title, found = f"Result of two-stage search: the first {kept}", [cards.moved(card, before) for card in came]
    note = f"of {int(fast.retrieved[0]):,} images compared; arrows show the change from brute force"
    empty = "The probed anchors hold no image but the query; probe more anchors."
    section = CardSection("found", title, found, note, empty)
    gallery([section], key="found", on_pick=candidates.pick, query=cards.query(scene.view, scene.item, []))


two_stage()
