"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import origin  # fmt: skip
from app.answers import (
    alike,
    candidates,
    comparison,
    comparison_choice,
    judging,
    ranked_answer,
    refining,
    why_this_rank,
)  # fmt: skip
from app.answers.comparison import OtherRanking, TwoStage
from app.answers.comparison_choice import ComparisonChoice
from app.answers.two_stage_cost import FLATTERED
from app.answers.why_this_rank import Weighed
from app.components.gallery import Section, gallery
from app.results import cache, cards, filters, run_choice
from app.results.collection import DEPTH, Collection
from app.shared import address, background, page_frame
from app.views.browse import clicks, exports, upload
from app.views.browse.scene import BrowseView, Wish, page_of, turn_pages
from lab.core.results import Evidence

PER_PAGE = (24, 48, 96)
K, MOST_K = 8, 96


@page_frame.page("Browse", "Which images does a model put next to each other, and which does it miss?")
def browse() -> None:
    run = run_choice.choose_run()
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format=str.capitalize, link="split")
        collection = cache.collection(run.name, split, run.stamp)
        address.adopt("query", int, lambda item: collection.row(item) is not None)
        other = comparison_choice.choose(run, split, collection)
        st.divider()
        sources = candidates.sources(with_rival=other is not None)
        source = page_frame.few("Queries", list(sources), key="source", format=sources.__getitem__, link="queries")
        below = st.container()
        st.divider()
        size = page_frame.choice("Neighbours on a page", PER_PAGE, key="shown", link="shown")
    st.caption(page_frame.as_text(_about(run, split, collection, other)))
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        offered = ("search", "why") if other else ("search", "like", "unlike") if source == "upload" else clicks.CLICKS
        scene = BrowseView(run, split, collection, other, _wish(run, split, collection, size, list(offered)))
    with below:
        allowed = scene.wish.chosen.queries(collection.images, collection.query.items)
        chosen = candidates.choose(source, collection, allowed, scene.measured, other)
    if source == "upload":
        upload.ask(scene)
        return
    if collection.row(st.session_state.get("query")) is None and chosen.items:
        st.session_state["query"] = chosen.items[0]
    item = st.session_state.get("query")
    if collection.row(item) is None:
        item = None
    address.tell("query", item)
    _draw_candidates(scene, chosen, item)
    if item is None:
        return
    if not cache.searchable(run, split, collection, deep=bool(scene.wish.chosen)):
        return
    compared = other.compared if other else None
    _explain(scene, item)
    evidence: list[Evidence] | None
    if other and compared:
        evidence = _draw_two(scene, other, compared, item)
    else:
        if other and other.waits_for and other.waits_for is not chosen.waits_for:
            background.note(other.waits_for)
        evidence = _draw_answer(scene, item, tools)
    if evidence is None:
        return
    with tools:
        _offer_files(scene, item, evidence)
    if not compared:
        judging.panel(run, split, collection, scene.wish.k)


def _explain(scene: BrowseView, item: int) -> None:
    """Why the result that was clicked is alike."""
    if scene.wish.click != "why":
        return
    result = clicks.pair(scene.collection, item)
    if result is None:
        st.caption("Click a result below to see here which regions of both pictures make it similar to the query.")
        return
    alike.panel(scene.run, scene.split, scene.collection, item, result)


def _about(run: cache.RunView, split: str, collection: Collection, other: ComparisonChoice | None) -> str:
    about = f"{run.summary} · {split}, {len(collection.query):,} queries in {len(collection.gallery):,} images"
    about += f" · {origin.words(run.name, split)}"
    if other is not None and other.view.name != run.name:
        about += f" · {other.view.name}: {origin.words(other.view.name, split)}"
    return about


def _wish(run: cache.RunView, split: str, collection: Collection, size: int, offered: Sequence[str]) -> Wish:
    """The row of tools over the answers."""
    most = max(2, min(MOST_K, len(collection.gallery) - 1))
    page_frame.keep("k", min(K, most), range(1, most + 1), link="k")
    k = st.slider("Top k", 1, most, key="k", width=190, persist_state="session")
    with st.popover(
        "How a loss moves it", icon=":material/balance:", help="Pulls and pushes on every image of the list"
    ):
        why, knobs = why_this_rank.choose(run, k)
    with st.popover("Filter" + (" (on)" if filters.on(collection) else ""), icon=":material/filter_alt:"):
        chosen = filters.choose(run, split, collection)
    return Wish(size, k, chosen, why, knobs, clicks.choose(offered))


def _offer_files(scene: BrowseView, item: int, evidence: list[Evidence]) -> None:
    """Downloads of the ranking that is shown; they are made when somebody clicks."""
    collection, wish, weighing = scene.collection, scene.wish, scene.weighing(item)

    def columns() -> dict:
        columns_of = {}
        if len(evidence) > 1:
            there = comparison.ranks(evidence[1])
            columns_of["other_rank"] = lambda one: ranked_answer.rank_words(there[one]) if one in there else ""
        weighed = weighing and weighing.value
        if weighed and weighed.gradients:
            columns_of[f"gradient_{wish.why}"] = lambda one: f"{weighed.of(one) * weighed.gradients.scale:.6g}"
        return columns_of

    def table() -> bytes:
        listed = ranked_answer.part(evidence[0], wish.chosen, collection.images, 0, len(collection.gallery), wish.k)
        return exports.table(collection, evidence[0], listed.places, columns())

    name = f"{scene.run.name}-query-{item}"
    with st.popover("Export", icon=":material/download:"):
        st.download_button(
            "Ranking as CSV",
            table,
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            icon=":material/table:",
            width="stretch",
        )
        st.download_button(
            "Contact sheet as PNG", lambda: exports.sheet(collection, evidence, wish.size), f"{name}.png", "image/png",
            on_click="ignore", icon=":material/image:", width="stretch",
            help="The query with its first neighbours, without the filter",
        )  # fmt: skip
        for format, kind in (("png", "image/png"), ("pdf", "application/pdf")):
            st.download_button(
                f"Figure for a paper as {format.upper()}",
                partial(exports.figure, collection, evidence[0], wish.k, format), f"{name}-figure.{format}", kind,
                on_click="ignore", icon=":material/article:", width="stretch",
                help=f"The query and its first {wish.k} (Top k), 17 cm wide at 300 dpi, without the filter",
            )  # fmt: skip
        if exports.has_report(scene.run.name, scene.split):
            st.download_button(
                "Report of the run as HTML", partial(exports.report, scene.run.name, scene.split),
                f"{scene.run.name}-report.html", "text/html", on_click="ignore", icon=":material/mail:",
                width="stretch",
                help="One page with a table, curves, a map, and the best and worst queries. It opens without a server "
                "and takes some seconds to make. The Runs page makes one for several runs.",
            )  # fmt: skip


def _draw_candidates(scene: BrowseView, chosen: candidates.Candidates, item: int | None) -> None:
    if chosen.waits_for is not None:
        background.note(chosen.waits_for)
        return
    strip = [
        cards.plain(scene.run, scene.collection, one, value)
        for one, value in zip(chosen.items, chosen.values, strict=True)
    ]
    section = Section(
        "candidates", chosen.title, strip, chosen.note, chosen.empty, size="small", current=item, turns=True
    )
    gallery([section], key="candidates", on_pick=lambda _, item: clicks.search_with(item))


def _draw_answer(scene: BrowseView, item: int, tools: DeltaGenerator) -> list[Evidence] | None:
    """One answer; None while the query that the person changed is not embedded yet."""
    run, collection, wish = scene.run, scene.collection, scene.wish
    refined = refining.adopt(collection, f"{run.name} {scene.split} {item}")
    if cache.has_encoder(run.name):
        with tools:
            source = cache.thumbnail(run.name, run.stamp, item, cards.LARGE)
            refining.ask_part(source, f"the query: {cards.class_name(collection, item)}", refined.part)
    refined = refining.show(run, collection, refined)
    vectors, ready = refining.query_vectors(run, scene.split, collection, item, refined)
    if not ready:
        return None
    verdicts = judging.of_query(run, collection, item)
    evidence = collection.ask(item, bool(wish.chosen), vectors, verdicts)
    weighed = scene.weighed(item)
    _say_why(weighed)
    whole = ranked_answer.part(evidence, wish.chosen, collection.images, 0, wish.size, wish.k, weighed)
    depth = min(len(whole.places), DEPTH)
    start, stop = page_of(str(item), depth, wish.size)
    facts = ranked_answer.facts(evidence, wish.k)
    if refined or verdicts:
        facts = ranked_answer.both(ranked_answer.facts(collection.ask(item), wish.k), facts)
    sections = ranked_answer.sections(run, collection, evidence, replace(whole, start=start, stop=stop))
    gallery(
        [
            replace(
                one,
                cards=[cards.judged(card, verdicts) for card in one.cards],
                current=st.session_state.get(clicks.PAIR) if wish.click == "why" else None,
            )
            for one in sections
        ],
        key="results",
        on_pick=clicks.on_pick(wish.click, run, collection, item),
        query=cards.query(run, collection, item, facts),
    )
    turn_pages(str(item), depth, wish.size)
    return [evidence]


def _draw_two(scene: BrowseView, other: ComparisonChoice, compared: OtherRanking, item: int) -> list[Evidence]:
    run, collection, wish = scene.run, scene.collection, scene.wish
    if compared.collection.row(item) is None:
        st.info(page_frame.as_text(f"{compared.title} has no answer to this query; choose another one."))
        return [collection.ask(item)]
    ours, theirs = collection.ask(item), compared.ask(item)
    if isinstance(compared, TwoStage) and not compared.filed.anchors.learnt:
        st.caption(
            f"This run learnt no class anchors, so the means of the gallery's classes stand for them. {FLATTERED}"
        )
    weighed = scene.weighed(item)
    _say_why(weighed)
    left = ranked_answer.part(ours, wish.chosen, collection.images, 0, wish.size, wish.k, weighed)
    same = compared.collection is collection
    theirs_weighed = weighed if same else scene.weighed(item, other.view, compared.collection)
    right = ranked_answer.part(theirs, wish.chosen, collection.images, 0, wish.size, wish.k, theirs_weighed)
    depth = max(len(left.places), len(right.places))
    start, stop = page_of(str(item), depth, wish.size)
    left, right = (
        replace(one, start=min(start, len(one.places)), stop=min(stop, len(one.places))) for one in (left, right)
    )
    before = comparison.ranks(ours)
    pairs = zip(
        ranked_answer.sections(run, collection, ours, left, whose=run.name),
        ranked_answer.sections(
            other.view, compared.collection, theirs, right, whose=compared.title, before=before, seen=left.last
        ),
        strict=True,
    )
    facts = ranked_answer.both(ranked_answer.facts(ours, wish.k), ranked_answer.facts(theirs, wish.k))
    gallery(
        [section for pair in pairs for section in pair],
        key="results",
        on_pick=clicks.on_pick(wish.click, run, collection, item),
        query=cards.query(run, collection, item, facts),
        columns=True,
    )
    turn_pages(str(item), depth, wish.size)
    return [ours, theirs]


def _say_why(weighed: Weighed | None) -> None:
    if weighed is not None:
        gradients = weighed.gradients
        words = "This query has no true match, so no loss moves anything." if gradients is None else gradients.summary
        st.caption(page_frame.as_text(words))


browse()
