"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

from app.answers import candidates, comparison_choice, ranked_answer
from app.answers.comparison_choice import ComparisonChoice
from app.components.displays import Regions, regions
from app.components.gallery import gallery
from app.results import cache, cards, filters, pictures, run_choice, selection
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from app.views.browse import query
from app.views.browse.query import Scene
from lab.core.results import Evidence
from lab.evaluation import comparison
from lab.evaluation.collection import DEPTH
from lab.evaluation.comparison import OtherRanking
from lab.report import answer

PER_PAGE, PER_ROWS = (24, 48, 96), (8, 24, 48)
K, MOST_K = 8, 96
SIDE = 440
"""Longest side of explained pictures, in pixels: they are drawn at half of it, sharp on fine screens."""
HOW = {
    True: "The colours are an exact sum: the embedding is pooled from a map of features, and each of its cells adds "
    "its share to the cosine. A cell also reflects its surroundings, which the earlier layers have mixed into it. The "
    "remainder is the bias of the last layer.",
    False: "This encoder's embedding is not a sum over regions, so the colours are gradients with respect to the "
    "pixels, summed along the path from a picture of the mean colour (integrated gradients). The remainder is the "
    "similarity of an empty picture and the error of the numerical sum.",
}


@page_frame.page("Browse", "Which images does a model put next to each other, and which does it miss?")
def browse() -> None:
    _open_on_two()
    view = run_choice.choose_split(run_choice.choose_run(moments=True), moments=True)
    with st.sidebar:
        address.load("query", int, lambda item: view.collection.row(item) is not None)
        other = comparison_choice.choose(view)
        st.divider()
        sources = candidates.sources(view, with_rival=other is not None)
        source = page_frame.radio("Queries", sources, key="source", link="queries")
        below = st.container()
        st.divider()
        key, sizes = ("shown of two", PER_ROWS) if other else ("shown", PER_PAGE)
        size = page_frame.choice("Neighbours on a page", sizes, key=key, link="shown")
        most = max(2, min(MOST_K, len(view.collection.gallery) - 1))
        help = "How many of the first the query's scores count"
        k = page_frame.slider("Top k", 1, most, key="k", initial=min(K, most), link="k", help=help)
    queries, gallery_size = len(view.collection.query), len(view.collection.gallery)
    about = f"{view.run.summary} · {view.split}, {queries:,} queries in {gallery_size:,} images · {view.provenance}"
    if other is not None and other.view.run != view.run:
        about += f" · {other.view.run.name}: {other.view.provenance}"
    page_frame.say(about)
    run_choice.say_left_out(view)
    selection.bar(view.run)
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        offered = ("search", "why") if other else ("search", "like", "unlike") if source == "upload" else query.CLICKS
        scene = _scene(view, other, size, k, [one for one in offered if one != "why" or view.step is None])
    with below:
        allowed = scene.chosen.queries(view.images, view.collection.query.items)
        chosen = candidates.choose(source, view, allowed, other)
    if source == "upload":
        query.ask_upload(scene)
        return
    item = candidates.chosen_query(view, chosen)
    candidates.draw(view, chosen, item, key="candidates", on_pick=lambda _, one: query.search_with(one))
    if item is None or not cache.searchable(view, deep=bool(scene.chosen)):
        return
    if scene.click == "why":
        _explain(scene, item)
    compared = other.compared if other else None
    if other and compared:
        evidence: list[Evidence] | None = _draw_two(scene, other, compared, item)
    else:
        if other and other.waits_for and other.waits_for is not chosen.waits_for:
            background.note(other.waits_for)
        evidence = _draw_answer(scene, item, tools)
    if evidence is None:
        return
    with tools:
        _offer_files(scene, item, evidence)


def _open_on_two() -> None:
    """Without an address, and before anything was chosen: two runs of the same images beside each other, the weaker
    first, at the query that differs most between them."""
    if st.query_params or "run" in st.session_state:
        return
    known = run_choice.library()
    views = [one for one in map(run_choice.view, known.runs) if one.splits]
    split = views[0].splits[0] if views else ""
    first = known[views[0].name] if views else None
    others = (known[one.name] for one in views[1:])
    second = next((one for one in others if first and run_choice.share_images(first, one, split)), None)
    pair = [one for one in (first, second) if one]
    if len(pair) == 2:
        first, second = sorted(
            pair, key=lambda run: (run.scores(split) or {}).get("values", {}).get(candidates.STORED_METRIC, 0)
        )
        st.session_state["run"], st.session_state["rival"] = first.name, f"run:{second.name}"
        st.session_state["source"] = candidates.DIFFER


def _scene(view: SplitView, other: ComparisonChoice | None, size: int, k: int, clicks: Sequence[str]) -> Scene:
    """The row of tools over the answers, and what they say."""
    ways = {one: query.CLICKS[one] for one in clicks}
    click = page_frame.select("A click on a result", ways, key="click", link="click", width=200)
    with st.popover("Filter" + (" (on)" if filters.is_active(view.images) else ""), icon=":material/filter_alt:"):
        chosen = filters.choose(view.images, view.collection.gallery.items, *view.key)
    return Scene(view, other, size, k, chosen, click)


def _explain(scene: Scene, item: int) -> None:
    """Why the result that was clicked is alike: both pictures with what their regions add to the similarity, or the
    sentence that says why not."""
    view = scene.view
    result = address.load_and_store(
        query.PAIR, int, lambda one: one != item and view.collection.position(one) is not None
    )
    if result is None:
        st.caption("Click a result below to see here which regions of both pictures make it similar to the query.")
        return
    found = None
    with page_frame.refusals(st.info):
        found = background.if_ready(cache.alike(view, item, result))
    if found is None:
        return
    drawn = []
    for at, (which, one) in enumerate({"Query": item, "Result": result}.items()):
        pixels = np.zeros((1, 1, 3), np.uint8) if found.pictures is None else found.pictures[at]
        seen = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)  # as the encoder saw it
        drawn.append(
            Regions(
                pictures.thumbnail(seen, SIDE),
                f"{which}: {cards.image_title(view.images, one)}",
                found.maps[at].round(5).tolist(),
                found.words(at),
            )
        )
    words = f"{found.summary} {HOW[found.exact]}"
    if found.matches:
        words += " Lines join the regions whose pairs add most to the cosine."
    if view.collection.similarity != "cosine":
        words += " This run ranks by distance; the picture explains the cosine."
    title = f"Why these two are alike: cosine {found.similarity:.3f}"
    look: dict[str, str | float] = {"largest": found.largest, "unit": "of the cosine", "title": title, "how": words}
    regions(drawn, found.matches, key="regions", **look)


def _offer_files(scene: Scene, item: int, evidence: list[Evidence]) -> None:
    """Downloads of the ranking that is shown; they are made when somebody clicks."""
    view, first, name = scene.view, evidence[0], f"{scene.view.run.name}-query-{item}"

    def table() -> bytes:
        columns: dict[str, Callable[[int], object]] = {}
        if len(evidence) > 1:
            there = comparison.ranks(evidence[1])
            columns["other_rank"] = lambda one: ranked_answer.rank_words(there[one]) if one in there else ""
        return answer.table(view.collection, first, _part(scene, first).places, columns)

    look: dict[str, Any] = {"width": "stretch"}
    with st.popover("Export", icon=":material/download:"):
        page_frame.download("Ranking as CSV", table, f"{name}.csv", icon="table", **look)
        look["help"] = f"The query and its first {scene.k} (Top k), 17 cm wide at 300 dpi, without the filter"
        for format, kind in (("png", "image/png"), ("pdf", "application/pdf")):
            make = partial(answer.figure, view.collection, first, scene.k, format)
            label = f"Figure for a paper as {format.upper()}"
            page_frame.download(label, make, f"{name}-figure.{format}", kind, icon="article", **look)


def _draw_answer(scene: Scene, item: int, tools: DeltaGenerator) -> list[Evidence] | None:
    """One answer; None while the query that the person changed is not embedded yet."""
    view, whole = scene.view, scene.view.collection
    refined = query.adopt(whole, f"{view.run.name} {view.split} {item}")
    if view.has_encoder:
        with tools:
            source = view.run.picture(item, side=cards.LARGE)
            query.ask_part(source, f"the query: {cards.image_title(view.images, item)}", refined.part)
    query.show(scene, refined)
    vectors, ready = query.refined_vectors(scene, item, refined)
    if not ready:
        return None
    evidence = whole.ask(item, bool(scene.chosen), vectors)
    part = _part(scene, evidence)
    depth = min(len(part.places), DEPTH)
    facts = ranked_answer.facts(evidence, scene.k)
    if refined:
        facts = ranked_answer.both(ranked_answer.facts(whole.ask(item), scene.k), facts)
    current = st.session_state.get(query.PAIR) if scene.click == "why" else None
    here = _on_page(part, scene, item, depth)
    sections = [replace(one, current=current) for one in ranked_answer.sections(view, evidence, here)]
    shown = whole.gallery.items[evidence.ranking.neighbours[0][here.here]]
    run_choice.say_replaced(view, np.append(shown, item))
    panel = cards.query(view, item, facts)
    choice = selection.choosable(view.run, sections)
    gallery(sections, key="results", on_pick=query.on_pick(scene), query=panel, **choice)
    query.turn_pages(item, depth, scene.size)
    return [evidence]


def _draw_two(scene: Scene, other: ComparisonChoice, compared: OtherRanking, item: int) -> list[Evidence]:
    view = scene.view
    if other.ours.row(item) is None or compared.collection.row(item) is None:
        st.info(page_frame.as_text(f"{compared.title} has no answer to this query; choose another one."))
        return [view.collection.ask(item)]
    # Both answers are numbered as this run numbers images, so its pictures show them.
    shown, beside = replace(view, collection=other.ours), replace(view, collection=compared.collection)
    ours = other.ours.ask(item)
    theirs = compared.ask(item)
    left, right = _part(scene, ours), _part(scene, theirs)
    if other.code.startswith("rerank:"):
        right = replace(right, measure="score")
    depth = max(len(left.places), len(right.places))
    left, right = (_on_page(one, scene, item, depth) for one in (left, right))
    before = comparison.ranks(ours)
    one, two = (
        ranked_answer.sections(shown, ours, left, view.run.name),
        ranked_answer.sections(beside, theirs, right, compared.title, before, left.last),
    )
    missed = [replace(each[1], title=f"Missed by {each[0].title}", size="small") for each in (one, two)]
    facts = ranked_answer.both(ranked_answer.facts(ours, scene.k), ranked_answer.facts(theirs, scene.k))
    panel, pick = cards.query(view, item, facts), query.on_pick(scene)
    sections = [one[0], two[0], *missed]
    choice = selection.choosable(view.run, sections)
    gallery(sections, key="results", on_pick=pick, query=panel, stacked=True, **choice)
    query.turn_pages(item, depth, scene.size)
    return [ours, theirs]


def _on_page(part: ranked_answer.ShownPart, scene: Scene, item: int, depth: int) -> ranked_answer.ShownPart:
    """The neighbours on this page of `depth` ones."""
    here, count = page_frame.page_slice(query.page_key(item), depth, scene.size), len(part.places)
    return replace(part, start=min(here.start, count), stop=min(here.stop, count))


def _part(scene: Scene, evidence: Evidence) -> ranked_answer.ShownPart:
    """The neighbours that pass the filter."""
    return ranked_answer.part(evidence, scene.chosen, scene.view.images, scene.k)


browse()
