"""Two-stage: search the nearest class anchors, then only their images, and compare the result with brute force."""

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
# Number k of nearest images at first.
FIRST = 24
# Recall of the nearest k by which the page chooses the first number of probed anchors.
TARGET = 0.95


@dataclass(frozen=True)
class TwoStageScene:
    """What the Two-stage page shows: the first k results of a query, and their cost.

    item: the query. probes: number of anchors whose images are searched.
    """

    view: SplitView
    inverted: InvertedGallery
    item: int
    probes: int
    k: int
    cost: QueryCost

    def evidence(self, ranking: Ranking) -> Evidence:
        """Return a ranking together with the query and the gallery."""
        return Evidence(
            ranking, self.inverted.collection.one(self.item), self.inverted.collection.gallery
        )


@page_frame.page(
    "Two-stage",
    "Compare a query with the class anchors first, then only with the images assigned to the nearest ones.",
)
def two_stage() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    run_choice.need_classes(view)
    inverted = background.or_wait(cache.inverted(view))
    collection = view.collection
    with st.sidebar:
        address.load("query", int, lambda item: collection.row(item) is not None)
        st.divider()
        source = page_frame.radio("Queries", SOURCES, key="raced", link="queries")
        source_widgets = st.container()
        st.divider()
        most = max(2, min(96, len(collection.gallery) - 1))
        k = page_frame.slider("Top k", 1, most, key="first", initial=min(FIRST, most), link="first")
    searched = f"{len(collection.query):,} queries in {len(collection.gallery):,} images"
    page_frame.say(f"{view.run.summary} · {view.split}, {searched} · {view.provenance}")
    if inverted.anchors.learnt:
        st.caption(
            f"{inverted.count:,} anchors, learnt by this run, one for each class that it was trained on."
        )
    else:
        st.caption(
            f"{inverted.count:,} anchors: the class means of this gallery, because this run learnt none "
            f"(class_anchor_margin does). {FLATTERED}"
        )
    if inverted.count < 2:
        st.info("Two-stage search needs at least two anchors; choose a split with more classes.")
        return

    # The number of probed anchors, the queries and the current query.
    probes = _choose_probes(inverted, k)
    with source_widgets:
        if source == "lost":
            chosen = _lost(inverted, probes, k)
        else:
            chosen = candidates.choose(source, view, np.ones(len(collection.query), bool))
    item = candidates.chosen_query(view, chosen)
    candidates.draw(view, chosen, item, key="raced candidates", on_pick=candidates.pick)
    if item is not None:
        scene = TwoStageScene(view, inverted, item, probes, k, inverted.cost(item, probes, k))
        _draw_costs(scene.cost, k)
        _draw_results(scene)
        _draw_chart(scene)
        _draw_missed(scene)


def _choose_probes(inverted: InvertedGallery, k: int) -> int:
    """Choose the number of probed anchors on a slider with finer stops among small numbers."""
    count = inverted.count
    enough = inverted.enough(k, TARGET)
    page_frame.keep("probes", enough, range(1, count + 1), link="probes")
    stops = set(range(1, min(20, count) + 1))
    for power in range(len(str(count))):
        stops.update(int(step * 10**power) for step in ROUND)
    stops = {stop for stop in stops if stop <= count}
    stops.add(count)

    # A number of the URL is an additional stop, and stays one.
    state = st.session_state
    current = state["probes"]
    if current not in stops and current != state.get("probes stop"):
        state["probes stop"] = current
    stops.add(min(state.get("probes stop", current), count))
    help = f"{enough:,} anchors find {TARGET:.0%} of the nearest {k}; the slider starts there."
    return st.select_slider(
        "Probed anchors", sorted(stops), key="probes", persist_state="session", help=help
    )


def _lost(inverted: InvertedGallery, probes: int, k: int) -> Candidates:
    """Return the queries that miss most true matches."""
    items, missed = inverted.losers(probes, k)
    note = f"{len(items):,} of {len(inverted.sample):,} sampled queries miss some"
    empty = f"None: with {counted(probes, 'probed anchor')} no query misses a true match among its nearest {k}."
    values = [f"{count} missed" for count in missed[: candidates.OFFERED]]
    title = f"Queries that miss most true matches among their nearest {k}"
    return Candidates(items[: candidates.OFFERED].tolist(), values, title, note, empty)


def _draw_costs(cost: QueryCost, k: int) -> None:
    """Draw the cost and the result of two-stage search beside those of brute force, as five numbers."""
    brute = int(cost.brute.comparisons[0])
    fast = int(cost.fast.comparisons[0])
    near = int(cost.brute.hits[0, :k].sum())
    near_missed = int(cost.brute.hits[0, cost.lost].sum())
    matches = int(cost.brute.num_positives[0])
    missed = len(cost.lost_matches)
    numbers = st.columns(5)

    def draw(
        index: int, name: str, value: str, brute_force: str, help: str, arrow: Any = "off"
    ) -> None:
        numbers[index].metric(
            name, value, brute_force, delta_color="off", delta_arrow=arrow, help=help
        )

    help = "Similarities computed, including those with the anchors; brute force compares with every image."
    draw(0, "Comparisons", f"{fast:,}", f"{fast / brute - 1:+.0%} of {brute:,}", help, arrow="auto")
    help = (
        f"Median of repeated searches for the nearest {k} of this query, on this machine, just now."
    )
    draw(1, "Milliseconds", f"{cost.fast_ms:.3f}", f"brute force {cost.brute_ms:.3f}", help)
    help = f"True matches among the nearest {k} by brute force, and how many of them are assigned to a probed anchor."
    draw(
        2,
        f"True in the first {k}",
        f"{near - near_missed} of {near} found",
        f"{near_missed} missed",
        help,
    )
    help = "Images of the query's class that are assigned to a probed anchor."
    draw(3, "All true matches", f"{matches - missed} in reach", f"{missed} missed", help)
    help = "Average precision over all true matches; missed matches count as not found."
    draw(
        4,
        "AP",
        _average_precision(cost.fast),
        f"brute force {_average_precision(cost.brute)}",
        help,
    )


def _average_precision(ranking: Ranking) -> str:
    value = positive_ranks(ranking).average_precision[0]
    return "–" if np.isnan(value) else f"{value:.3f}"


def _draw_chart(scene: TwoStageScene) -> None:
    """Draw recall and cost for every number of probed anchors."""
    shares = scene.inverted.curves(scene.k)
    anchors = list(range(1, scene.inverted.count + 1))
    curves = {
        f"nearest {scene.k} that are compared": (anchors, shares.neighbours.tolist()),
        "true matches that are compared": (anchors, shares.matches.tolist()),
        "comparisons (share of brute force)": (anchors, shares.comparisons.tolist()),
    }
    figure = charts.mark(
        charts.curves(curves, "share", x="probed anchors", log_x=True), scene.probes
    )
    index = scene.probes - 1
    words = (
        f"With {counted(scene.probes, 'probed anchor')}, {shares.neighbours[index]:.1%} of the nearest {scene.k} and "
        f"{shares.matches[index]:.1%} of the true matches are compared, for {shares.comparisons[index]:.1%} of the "
        "comparisons."
    )
    st.markdown(f"**Recall by number of probed anchors**, mean of {shares.queries:,} queries")
    st.plotly_chart(figure, key="recall of anchors", alt=words)
    st.caption(words)


def _draw_missed(scene: TwoStageScene) -> None:
    """Draw the true matches that two-stage search misses."""
    cost = scene.cost
    brute = scene.evidence(cost.brute)
    is_missed = np.zeros(len(scene.view.collection.gallery), bool)
    is_missed[cost.lost_matches] = True
    matches = cards.neighbours(scene.view, brute, cost.lost[cost.brute.hits[0, cost.lost]])
    matches += cards.missed(scene.view, brute, scene.k, ranked_answer.MISSED_SHOWN, is_missed)
    note = "with their rank by brute force" if matches else ""
    empty = "None: all are assigned to the probed anchors."
    section = CardSection("lost matches", "True matches missed", matches, note, empty)
    gallery([section], key="lost", on_pick=candidates.pick)


def _draw_results(scene: TwoStageScene) -> None:
    """Draw the results of two-stage search, with arrows for the change of rank from brute force."""
    fast = scene.cost.fast
    before = comparison.ranks(scene.evidence(scene.cost.brute))
    count = int(min(scene.k, (fast.neighbours[0] >= 0).sum()))
    near = cards.neighbours(scene.view, scene.evidence(fast), np.arange(count))
    results = [cards.moved(card, before) for card in near]
    title = f"Result of two-stage search: the first {count}"
    note = f"of {int(fast.retrieved[0]):,} images compared; arrows show the change from brute force"
    empty = "The probed anchors have no image but the query; probe more anchors."
    section = CardSection("found", title, results, note, empty)
    gallery(
        [section],
        key="found",
        on_pick=candidates.pick,
        query=cards.query(scene.view, scene.item, []),
    )


two_stage()
