"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.answers import candidates, comparison_choice, ranked_answer
from app.answers.comparison_choice import ComparisonChoice
from app.components.gallery import gallery
from app.results import cache, cards, filters, run_choice
from app.results.cache import SplitView
from app.shared import address, background, page_frame, settings
from app.views.browse import explain, query
from app.views.browse import scene as scenes
from app.views.browse.scene import Scene, WeighedList
from lab.core.results import Evidence
from lab.evaluation import comparison
from lab.evaluation.collection import DEPTH
from lab.evaluation.comparison import OtherRanking
from lab.evaluation.two_stage import FLATTERED
from lab.report import answer
from lab.runs import Run

PER_PAGE = (24, 48, 96)
K, MOST_K = 8, 96


@page_frame.page("Browse", "Which images does a model put next to each other, and which does it miss?")
def browse() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    with st.sidebar:
        address.adopt("query", int, lambda item: view.whole.row(item) is not None)
        other = comparison_choice.choose(view)
        st.divider()
        sources = candidates.sources(with_rival=other is not None)
        source = page_frame.few("Queries", sources, key="source", link="queries")
        below = st.container()
        st.divider()
        size = page_frame.choice("Neighbours on a page", PER_PAGE, key="shown", link="shown")
    _say_about(view, other)
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        offered = ("search", "why") if other else ("search", "like", "unlike") if source == "upload" else None
        scene = _scene(view, other, size, offered or tuple(scenes.CLICKS))
    with below:
        allowed = scene.chosen.queries(view.images, view.whole.query.items)
        chosen = candidates.choose(source, view, allowed, other)
    if source == "upload":
        query.ask_upload(scene)
        return
    item = candidates.chosen_query(view, chosen)
    candidates.draw(view, chosen, item, key="candidates", on_pick=lambda _, one: scenes.search_with(one))
    if item is None or not cache.searchable(view, deep=bool(scene.chosen)):
        return
    _explain(scene, item)
    compared = other.compared if other else None
    if other and compared:
        evidence: list[Evidence] | None = _draw_two(scene, other.view, compared, item)
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


def _say_about(view: SplitView, other: ComparisonChoice | None) -> None:
    queries, gallery = len(view.whole.query), len(view.whole.gallery)
    words = f"{view.run.summary} · {view.split}, {queries:,} queries in {gallery:,} images · {view.provenance}"
    if other is not None and other.view.run != view.run:
        words += f" · {other.view.run.name}: {other.view.provenance}"
    page_frame.say(words)


def _scene(view: SplitView, other: ComparisonChoice | None, size: int, clicks: Sequence[str]) -> Scene:
    """The row of tools over the answers, and what they say."""
    most = max(2, min(MOST_K, len(view.whole.gallery) - 1))
    k = page_frame.slide("Top k", 1, most, key="k", initial=min(K, most), link="k", width=190)
    help = "Pulls and pushes on every image of the list"
    with st.popover("How a loss moves it", icon=":material/balance:", help=help):
        loss, knobs = scenes.choose_loss(view, k)
    with st.popover("Filter" + (" (on)" if filters.on(view) else ""), icon=":material/filter_alt:"):
        chosen = filters.choose(view)
    return Scene(view, other, size, k, chosen, loss, knobs, scenes.choose_click(clicks))


def _explain(scene: Scene, item: int) -> None:
    """Why the result that was clicked is alike."""
    if scene.click != "why":
        return
    result = scenes.explained_result(scene.view, item)
    if result is None:
        st.caption("Click a result below to see here which regions of both pictures make it similar to the query.")
    else:
        explain.alike(scene, item, result)


def _offer_files(scene: Scene, item: int, evidence: list[Evidence]) -> None:
    """Downloads of the ranking that is shown; they are made when somebody clicks."""
    view, first, weighing = scene.view, evidence[0], scene.weighing(item)
    name, run = f"{view.run.name}-query-{item}", view.run.folder

    def table() -> bytes:
        columns: dict[str, Callable[[int], object]] = {}
        if len(evidence) > 1:
            there = comparison.ranks(evidence[1])
            columns["other_rank"] = lambda one: ranked_answer.rank_words(there[one]) if one in there else ""
        weighed = weighing and weighing.value
        if weighed and weighed.gradients:
            columns[f"gradient_{scene.loss}"] = lambda one: f"{weighed.of(one) * weighed.gradients.scale:.6g}"
        return answer.table(view.whole, first, _part(scene, first, None).places, columns)

    def offer(label: str, file: str, kind: str, icon: str, make: Callable[[], bytes], help: str | None = None) -> None:
        page_frame.offer(label, make, file, kind, icon=icon, width="stretch", help=help)

    with st.popover("Export", icon=":material/download:"):
        offer("Ranking as CSV", f"{name}.csv", "text/csv", "table", table)
        sheet = partial(answer.sheet, view.whole, evidence, scene.size)
        help = "The query with its first neighbours, without the filter"
        offer("Contact sheet as PNG", f"{name}.png", "image/png", "image", sheet, help)
        for format, kind in (("png", "image/png"), ("pdf", "application/pdf")):
            figure = partial(answer.figure, view.whole, first, scene.k, format)
            help = f"The query and its first {scene.k} (Top k), 17 cm wide at 300 dpi, without the filter"
            offer(f"Figure for a paper as {format.upper()}", f"{name}-figure.{format}", kind, "article", figure, help)
        if run.scores(view.split):
            help = (
                "One page with a table, curves, a map, and the best and worst queries. It opens without a server "
                "and takes some seconds to make. The Runs page makes one for several runs."
            )
            make = partial(report, run, view.split)
            offer("Report of the run as HTML", f"{view.run.name}-report.html", "text/html", "mail", make, help)


def report(run: Run, split: str) -> bytes:
    """The run's report as one HTML page that needs no server."""
    import lab.report.page

    table = lab.report.report([run], split=split)
    return lab.report.page.of([run], table, images=lambda one: settings.confine_images(one.dataset())).encode("utf-8")


def _draw_answer(scene: Scene, item: int, tools: DeltaGenerator) -> list[Evidence] | None:
    """One answer; None while the query that the person changed is not embedded yet."""
    view, whole = scene.view, scene.view.whole
    refined = query.adopt(whole, f"{view.run.name} {view.split} {item}")
    if cache.has_encoder(view.run.folder):
        with tools:
            source = view.run.picture(item, side=cards.LARGE)
            query.ask_part(source, f"the query: {cards.named(view.images, item)}", refined.part)
    refined = query.show(scene, refined)
    vectors, ready = query.refined_vectors(scene, item, refined)
    if not ready:
        return None
    verdicts = explain.verdicts_of(scene, item)
    evidence = whole.ask(item, bool(scene.chosen), vectors, verdicts)
    weighed = scene.weighed(item)
    _say_why(weighed)
    part = _part(scene, evidence, weighed)
    depth = min(len(part.places), DEPTH)
    facts = ranked_answer.facts(evidence, scene.k)
    if refined or verdicts:
        facts = ranked_answer.both(ranked_answer.facts(whole.ask(item), scene.k), facts)
    current = st.session_state.get(scenes.PAIR) if scene.click == "why" else None
    sections = [
        replace(one, cards=[cards.judged(card, verdicts) for card in one.cards], current=current)
        for one in ranked_answer.sections(view, evidence, _on_page(part, scene, item, depth))
    ]
    panel = cards.query(view, item, facts)
    gallery(sections, key="results", on_pick=query.on_pick(scene, item), query=panel)
    scenes.turn_pages(item, depth, scene.size)
    return [evidence]


def _draw_two(scene: Scene, other: SplitView, compared: OtherRanking, item: int) -> list[Evidence]:
    view = scene.view
    ours = view.whole.ask(item)
    if compared.collection.row(item) is None:
        st.info(page_frame.as_text(f"{compared.title} has no answer to this query; choose another one."))
        return [ours]
    theirs = compared.ask(item)
    if compared.flattered:
        means = "This run learnt no class anchors, so the means of the gallery's classes stand for them."
        st.caption(f"{means} {FLATTERED}")
    weighed = scene.weighed(item)
    _say_why(weighed)
    same = compared.collection is view.whole
    left = _part(scene, ours, weighed)
    right = _part(scene, theirs, weighed if same else scene.weighed(item, other))
    depth = max(len(left.places), len(right.places))
    left, right = (_on_page(one, scene, item, depth) for one in (left, right))
    before = comparison.ranks(ours)
    pairs = zip(
        ranked_answer.sections(view, ours, left, view.run.name),
        ranked_answer.sections(other, theirs, right, compared.title, before, left.last),
        strict=True,
    )
    facts = ranked_answer.both(ranked_answer.facts(ours, scene.k), ranked_answer.facts(theirs, scene.k))
    sections, panel = [section for pair in pairs for section in pair], cards.query(view, item, facts)
    gallery(sections, key="results", on_pick=query.on_pick(scene, item), query=panel, columns=True)
    scenes.turn_pages(item, depth, scene.size)
    return [ours, theirs]


def _on_page(part: ranked_answer.ShownPart, scene: Scene, item: int, depth: int) -> ranked_answer.ShownPart:
    """The neighbours on this page of `depth` ones."""
    here, count = page_frame.part(scenes.page_key(item), depth, scene.size), len(part.places)
    return replace(part, start=min(here.start, count), stop=min(here.stop, count))


def _part(scene: Scene, evidence: Evidence, weighed: WeighedList | None) -> ranked_answer.ShownPart:
    """The neighbours that pass the filter."""
    weight_of = None if weighed is None else weighed.of
    return ranked_answer.part(evidence, scene.chosen, scene.view.images, scene.k, weight_of)


def _say_why(weighed: WeighedList | None) -> None:
    if weighed is not None:
        gradients = weighed.gradients
        nothing = "This query has no true match, so no loss moves anything."
        page_frame.say(nothing if gradients is None else gradients.summary)


browse()
