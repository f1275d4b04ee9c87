"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import lab.runs
from app.answers import candidates, comparison_choice, ranked_answer
from app.answers.comparison_choice import ComparisonChoice
from app.components.gallery import gallery
from app.results import cache, cards, filters, run_choice
from app.shared import address, background, page_frame, settings
from app.views.browse import explain, query
from app.views.browse.scene import (
    CLICKS,
    PAIR,
    Scene,
    WeighedList,
    choose_click,
    choose_loss,
    explained_result,
    page_of,
    search_with,
    turn_pages,
)
from lab.core.results import Evidence
from lab.evaluation import comparison
from lab.evaluation.collection import DEPTH, Collection
from lab.evaluation.comparison import OtherRanking
from lab.evaluation.two_stage import FLATTERED
from lab.report import answer

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
        offered = ("search", "why") if other else ("search", "like", "unlike") if source == "upload" else tuple(CLICKS)
        scene = _scene(run, split, collection, other, size, offered)
    with below:
        allowed = scene.chosen.queries(collection.images, collection.query.items)
        chosen = candidates.choose(source, collection, allowed, scene.measured, other)
    if source == "upload":
        query.ask_upload(scene)
        return
    item = candidates.chosen_query(collection, chosen)
    candidates.draw(run, collection, chosen, item, key="candidates", on_pick=lambda _, one: search_with(one))
    if item is None or not cache.searchable(run, split, collection, deep=bool(scene.chosen)):
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
        explain.my_marks(scene)


def _about(run: cache.RunView, split: str, collection: Collection, other: ComparisonChoice | None) -> str:
    about = f"{run.summary} · {split}, {len(collection.query):,} queries in {len(collection.gallery):,} images"
    about += f" · {cache.provenance(run.name, split)}"
    if other is not None and other.view.name != run.name:
        about += f" · {other.view.name}: {cache.provenance(other.view.name, split)}"
    return about


def _scene(
    run: cache.RunView, split: str, whole: Collection, other: ComparisonChoice | None, size: int, clicks: Sequence[str]
) -> Scene:
    """The row of tools over the answers, and what they say."""
    most = max(2, min(MOST_K, len(whole.gallery) - 1))
    page_frame.keep("k", min(K, most), range(1, most + 1), link="k")
    k = st.slider("Top k", 1, most, key="k", width=190, persist_state="session")
    help = "Pulls and pushes on every image of the list"
    with st.popover("How a loss moves it", icon=":material/balance:", help=help):
        loss, knobs = choose_loss(run, k)
    with st.popover("Filter" + (" (on)" if filters.on(whole) else ""), icon=":material/filter_alt:"):
        chosen = filters.choose(run, split, whole)
    return Scene(run, split, whole, other, size, k, chosen, loss, knobs, choose_click(clicks))


def _explain(scene: Scene, item: int) -> None:
    """Why the result that was clicked is alike."""
    if scene.click != "why":
        return
    result = explained_result(scene.collection, item)
    if result is None:
        st.caption("Click a result below to see here which regions of both pictures make it similar to the query.")
    else:
        explain.alike(scene, item, result)


def _offer_files(scene: Scene, item: int, evidence: list[Evidence]) -> None:
    """Downloads of the ranking that is shown; they are made when somebody clicks."""
    collection, weighing, name = scene.collection, scene.weighing(item), f"{scene.run.name}-query-{item}"

    def table() -> bytes:
        columns: dict[str, Callable[[int], object]] = {}
        if len(evidence) > 1:
            there = comparison.ranks(evidence[1])
            columns["other_rank"] = lambda one: ranked_answer.rank_words(there[one]) if one in there else ""
        weighed = weighing and weighing.value
        if weighed and weighed.gradients:
            columns[f"gradient_{scene.loss}"] = lambda one: f"{weighed.of(one) * weighed.gradients.scale:.6g}"
        return answer.table(collection, evidence[0], _part(scene, evidence[0], None).places, columns)

    def offer(label: str, make: Callable[[], bytes], file: str, kind: str, icon: str, help: str | None = None) -> None:
        st.download_button(
            label, make, file, kind, on_click="ignore", icon=f":material/{icon}:", width="stretch", help=help
        )

    with st.popover("Export", icon=":material/download:"):
        offer("Ranking as CSV", table, f"{name}.csv", "text/csv", "table")
        offer(
            "Contact sheet as PNG", lambda: answer.sheet(collection, evidence, scene.size), f"{name}.png", "image/png",
            "image", "The query with its first neighbours, without the filter",
        )  # fmt: skip
        for format, kind in (("png", "image/png"), ("pdf", "application/pdf")):
            offer(
                f"Figure for a paper as {format.upper()}",
                partial(answer.figure, collection, evidence[0], scene.k, format), f"{name}-figure.{format}", kind,
                "article", f"The query and its first {scene.k} (Top k), 17 cm wide at 300 dpi, without the filter",
            )  # fmt: skip
        if lab.runs.open(cache.run_path(scene.run.name)).scores(scene.split):
            offer(
                "Report of the run as HTML", partial(report, scene.run.name, scene.split),
                f"{scene.run.name}-report.html", "text/html", "mail",
                "One page with a table, curves, a map, and the best and worst queries. It opens without a server "
                "and takes some seconds to make. The Runs page makes one for several runs.",
            )  # fmt: skip


def report(name: str, split: str) -> bytes:
    """The run's report as one HTML page that needs no server."""
    import lab.report.page

    run = lab.runs.open(cache.run_path(name))
    table = lab.report.report([run], split=split)
    return lab.report.page.of([run], table, images=lambda one: settings.confine_images(one.dataset())).encode("utf-8")


def _draw_answer(scene: Scene, item: int, tools: DeltaGenerator) -> list[Evidence] | None:
    """One answer; None while the query that the person changed is not embedded yet."""
    run, collection = scene.run, scene.collection
    refined = query.adopt(collection, f"{run.name} {scene.split} {item}")
    if cache.has_encoder(run.name):
        with tools:
            source = cache.thumbnail(run.name, run.stamp, item, cards.LARGE)
            query.ask_part(source, f"the query: {cards.class_name(collection, item)}", refined.part)
    refined = query.show(scene, refined)
    vectors, ready = query.refined_vectors(scene, item, refined)
    if not ready:
        return None
    verdicts = explain.verdicts_of(scene, item)
    evidence = collection.ask(item, bool(scene.chosen), vectors, verdicts)
    weighed = scene.weighed(item)
    _say_why(weighed)
    whole = _part(scene, evidence, weighed)
    depth = min(len(whole.places), DEPTH)
    start, stop = page_of(str(item), depth, scene.size)
    facts = ranked_answer.facts(evidence, scene.k)
    if refined or verdicts:
        facts = ranked_answer.both(ranked_answer.facts(collection.ask(item), scene.k), facts)
    sections = ranked_answer.sections(run, collection, evidence, replace(whole, start=start, stop=stop))
    current = st.session_state.get(PAIR) if scene.click == "why" else None
    gallery(
        [replace(one, cards=[cards.judged(card, verdicts) for card in one.cards], current=current) for one in sections],
        key="results", on_pick=query.on_pick(scene, item), query=cards.query(run, collection, item, facts),
    )  # fmt: skip
    turn_pages(str(item), depth, scene.size)
    return [evidence]


def _draw_two(scene: Scene, other: ComparisonChoice, compared: OtherRanking, item: int) -> list[Evidence]:
    run, collection = scene.run, scene.collection
    if compared.collection.row(item) is None:
        st.info(page_frame.as_text(f"{compared.title} has no answer to this query; choose another one."))
        return [collection.ask(item)]
    ours, theirs = collection.ask(item), compared.ask(item)
    if compared.flattered:
        st.caption(
            f"This run learnt no class anchors, so the means of the gallery's classes stand for them. {FLATTERED}"
        )
    weighed = scene.weighed(item)
    _say_why(weighed)
    same = compared.collection is collection
    theirs_weighed = weighed if same else scene.weighed(item, other.view, compared.collection)
    left, right = _part(scene, ours, weighed), _part(scene, theirs, theirs_weighed)
    depth = max(len(left.places), len(right.places))
    start, stop = page_of(str(item), depth, scene.size)
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
    facts = ranked_answer.both(ranked_answer.facts(ours, scene.k), ranked_answer.facts(theirs, scene.k))
    gallery(
        [section for pair in pairs for section in pair], key="results", on_pick=query.on_pick(scene, item),
        query=cards.query(run, collection, item, facts), columns=True,
    )  # fmt: skip
    turn_pages(str(item), depth, scene.size)
    return [ours, theirs]


def _part(scene: Scene, evidence: Evidence, weighed: WeighedList | None) -> ranked_answer.ShownPart:
    """The neighbours that pass the filter."""
    weight_of = None if weighed is None else weighed.of
    return ranked_answer.part(evidence, scene.chosen, scene.collection.images, scene.k, weight_of)


def _say_why(weighed: WeighedList | None) -> None:
    if weighed is not None:
        gradients = weighed.gradients
        words = "This query has no true match, so no loss moves anything." if gradients is None else gradients.summary
        st.caption(page_frame.as_text(words))


browse()
