"""Browse: choose a run, a split and a query, and see the ranking, its errors and the missed matches.

With a second run, or a re-ranking of the same run, both rankings are shown together.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

from app.answers import candidates, comparison_choice, ranked_answer
from app.answers.comparison_choice import ComparisonChoice
from app.components.displays import Regions, regions
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, filters, pictures, run_choice, selection
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from app.views.browse import query
from app.views.browse.query import BrowseScene
from lab.core.results import Evidence
from lab.evaluation import comparison
from lab.evaluation.collection import DEPTH
from lab.evaluation.comparison import OtherRanking
from lab.report import answer
from lab.runs import Run

# Streamlit shows strings of this file on the page, so comments replace the docstrings of constants.

# Neighbours on a page, for one and for two rankings.
PAGE_SIZES = (24, 48, 96)
PAGE_SIZES_OF_TWO = (8, 24, 48)
# Rank k of the metrics: the first value and the largest.
K = 8
MOST_K = 96
# Longest side of explained pictures, in pixels. They are drawn at half of it, so that they are sharp on fine screens.
SIDE = 440
# Explanation of the colours for an exact sum over regions, and for gradients.
HOW = {
    True: "The colours are an exact sum: the embedding is pooled from a map of features, and each of its cells adds "
    "its share to the cosine. A cell also reflects its surroundings, which the earlier layers have mixed into it. The "
    "remainder is the bias of the last layer.",
    False: "This encoder's embedding is not a sum over regions, so the colours are gradients with respect to the "
    "pixels, summed along the path from a picture of the mean colour (integrated gradients). The remainder is the "
    "similarity of an empty picture and the error of the numerical sum.",
}


@page_frame.page(
    "Browse", "Which images does a model put next to each other, and which does it miss?"
)
def browse() -> None:
    _open_on_two()
    view = run_choice.choose_split(run_choice.choose_run(moments=True), moments=True)
    collection = view.collection
    with st.sidebar:
        address.load("query", int, lambda item: collection.row(item) is not None)
        other = comparison_choice.choose(view)
        st.divider()
        sources = candidates.sources(view, with_rival=other is not None)
        source = page_frame.radio("Queries", sources, key="source", link="queries")
        source_widgets = st.container()
        st.divider()
        size = _choose_size(two=other is not None)
        most = max(2, min(MOST_K, len(collection.gallery) - 1))
        help = "Rank up to which the query's metrics count"
        k = page_frame.slider("Top k", 1, most, key="k", initial=min(K, most), link="k", help=help)
    _describe(view, other)
    run_choice.say_left_out(view)
    selection.bar(view.run)
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    with tools:
        scene = _tools(view, other, size, k, source)
    with source_widgets:
        allowed = scene.filter.queries(view.images, collection.query.items)
        chosen = candidates.choose(source, view, allowed, other)

    # Uploaded pictures have their own widgets and results.
    if source == "upload":
        query.ask_upload(scene)
        return

    item = candidates.chosen_query(view, chosen)
    candidates.draw(
        view, chosen, item, key="candidates", on_pick=lambda _, picked: query.search_with(picked)
    )
    if item is None or not cache.searchable(view, deep=bool(scene.filter)):
        return
    if scene.click == "why":
        _explain(scene, item)

    # Draw both rankings, or one while the other is computed.
    compared = None
    if other:
        compared = other.compared
    if other and compared:
        evidence: list[Evidence] | None = _draw_two(scene, other, compared, item)
    else:
        if other and other.waits_for and other.waits_for is not chosen.waits_for:
            background.note(other.waits_for)
        evidence = _draw_one(scene, item, tools)
    if evidence is not None:
        with tools:
            _draw_export(scene, item, evidence)


def _choose_size(two: bool) -> int:
    """Choose the number of neighbours on a page."""
    label = "Neighbours on a page"
    if two:
        return page_frame.choice(label, PAGE_SIZES_OF_TWO, key="shown of two", link="shown")
    return page_frame.choice(label, PAGE_SIZES, key="shown", link="shown")


def _describe(view: SplitView, other: ComparisonChoice | None) -> None:
    """Draw a line about the run, the split and the checkpoint."""
    queries = f"{len(view.collection.query):,} queries in {len(view.collection.gallery):,} images"
    words = f"{view.run.summary} · {view.split}, {queries} · {view.provenance}"
    if other is not None and other.view.run != view.run:
        words += f" · {other.view.run.name}: {other.view.provenance}"
    page_frame.say(words)


def _open_on_two() -> None:
    """Compare two runs on the same images, if the URL and the session have no choice yet.

    The weaker run comes first, and the page opens the query with the largest difference.
    """
    if st.query_params or "run" in st.session_state:
        return
    runs = run_choice.library()
    names = [run.name for run in runs.runs if run_choice.view(run).splits]
    if not names:
        return
    first = runs[names[0]]
    split = run_choice.view(first).splits[0]

    def score(run: Run) -> float:
        return (run.scores(split) or {}).get("values", {}).get(candidates.STORED_METRIC, 0)

    for name in names[1:]:
        if run_choice.share_images(first, runs[name], split):
            weaker, stronger = sorted([first, runs[name]], key=score)
            st.session_state["run"] = weaker.name
            st.session_state["rival"] = f"run:{stronger.name}"
            st.session_state["source"] = candidates.DIFFER
            return


def _tools(
    view: SplitView, other: ComparisonChoice | None, size: int, k: int, source: str
) -> BrowseScene:
    """Draw the row of tools above the ranking, and return what the page shows."""
    clicks = list(query.CLICKS)
    if other:
        clicks = ["search", "why"]
    elif source == "upload":
        clicks = ["search", "like", "unlike"]
    if view.step is not None and "why" in clicks:  # encoders of earlier steps are not stored
        clicks.remove("why")
    labels = {click: query.CLICKS[click] for click in clicks}
    click = page_frame.select("A click on a result", labels, key="click", link="click", width=200)
    with filters.popover(view.images):
        chosen = filters.choose(view.images, view.collection.gallery.items, *view.key)
    return BrowseScene(view, other, size, k, chosen, click)


def _explain(scene: BrowseScene, item: int) -> None:
    """Draw how regions of the query and of the clicked result contribute to their similarity, or why this cannot be
    done."""
    view = scene.view

    def is_result(other: int) -> bool:
        return other != item and view.collection.position(other) is not None

    result = address.load_and_store(query.PAIR, int, is_result)
    if result is None:
        st.caption(
            "Click a result below to see here which regions of both pictures make it similar to the query."
        )
        return
    similarity = None
    with page_frame.refusals(st.info):
        similarity = background.if_ready(cache.alike(view, item, result))
    if similarity is None:
        return

    drawn = []
    for index, (role, image) in enumerate({"Query": item, "Result": result}.items()):
        pixels = np.zeros((1, 1, 3), np.uint8)
        if similarity.pictures is not None:
            pixels = similarity.pictures[index]  # as the encoder receives it
        picture = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        title = f"{role}: {cards.image_title(view.images, image)}"
        values = similarity.maps[index].round(5).tolist()
        drawn.append(
            Regions(pictures.thumbnail(picture, SIDE), title, values, similarity.words(index))
        )
    words = f"{similarity.summary} {HOW[similarity.exact]}"
    if similarity.matches:
        words += " Lines join the regions whose pairs add most to the cosine."
    if view.collection.similarity != "cosine":
        words += " This run ranks by distance; the picture explains the cosine."
    regions(
        drawn,
        similarity.matches,
        key="regions",
        largest=similarity.largest,
        unit="of the cosine",
        title=f"Why these two are alike: cosine {similarity.similarity:.3f}",
        how=words,
    )


def _draw_export(scene: BrowseScene, item: int, evidence: list[Evidence]) -> None:
    """Draw the downloads of the ranking. The files are made when the user clicks."""
    collection = scene.view.collection
    first = evidence[0]
    name = f"{scene.view.run.name}-query-{item}"

    def table() -> bytes:
        columns: dict[str, Callable[[int], object]] = {}
        if len(evidence) > 1:
            other_ranks = comparison.ranks(evidence[1])

            def other_rank(image: int) -> str:
                if image not in other_ranks:
                    return ""
                return ranked_answer.rank_words(other_ranks[image])

            columns["other_rank"] = other_rank
        return answer.table(collection, first, _part(scene, first).places, columns)

    help = f"The query and its first {scene.k} (Top k), 17 cm wide at 300 dpi, without the filter"
    with st.popover("Export", icon=":material/download:"):
        page_frame.download("Ranking as CSV", table, f"{name}.csv", icon="table", width="stretch")
        for suffix, kind in (("png", "image/png"), ("pdf", "application/pdf")):
            figure = partial(answer.figure, collection, first, scene.k, suffix)
            label = f"Figure for a paper as {suffix.upper()}"
            file = f"{name}-figure.{suffix}"
            page_frame.download(
                label, figure, file, kind, icon="article", width="stretch", help=help
            )


def _draw_one(scene: BrowseScene, item: int, tools: DeltaGenerator) -> list[Evidence] | None:
    """Draw one ranking and return it, or None while a changed query is not embedded yet."""
    view = scene.view
    collection = view.collection
    refined = query.load(collection, f"{view.run.name} {view.split} {item}")
    if view.has_encoder:
        with tools:
            source = view.run.picture(item, side=cards.LARGE)
            query.ask_part(
                source, f"the query: {cards.image_title(view.images, item)}", refined.part
            )
    query.show(scene, refined)
    vectors, is_ready = query.refined_vectors(scene, item, refined)
    if not is_ready:
        return None

    # Rank, and compare the metrics with those of the unchanged query.
    evidence = collection.ask(item, bool(scene.filter), vectors)
    facts = ranked_answer.facts(evidence, scene.k)
    if refined:
        facts = ranked_answer.both(ranked_answer.facts(collection.ask(item), scene.k), facts)

    # Draw the page of neighbours that pass the filter.
    part = _part(scene, evidence)
    depth = min(len(part.places), DEPTH)
    shown = _on_page(part, scene, item, depth)
    sections = ranked_answer.sections(view, evidence, shown)
    if scene.click == "why":
        current = st.session_state.get(query.PAIR)
        sections = [replace(section, current=current) for section in sections]
    items = collection.gallery.items[evidence.ranking.neighbours[0][shown.here]]
    run_choice.say_replaced(view, np.append(items, item))
    _draw_results(scene, item, facts, sections, depth)
    return [evidence]


def _draw_two(
    scene: BrowseScene, other: ComparisonChoice, compared: OtherRanking, item: int
) -> list[Evidence]:
    """Draw two rankings of a query and return them. Both use the item numbers, and so the pictures, of this run."""
    view = scene.view
    if other.ours.row(item) is None or compared.collection.row(item) is None:
        st.info(
            page_frame.as_text(
                f"{compared.title} has no ranking of this query; choose another query."
            )
        )
        return [view.collection.ask(item)]
    evidence = other.ours.ask(item)
    other_evidence = compared.ask(item)
    part = _part(scene, evidence)
    other_part = _part(scene, other_evidence)
    if other.code.startswith("rerank:"):
        other_part = replace(other_part, measure="score")
    depth = max(len(part.places), len(other_part.places))
    part = _on_page(part, scene, item, depth)
    other_part = _on_page(other_part, scene, item, depth)

    # The cards of both rankings are those of this run.
    own_view = replace(view, collection=other.ours)
    other_view = replace(view, collection=compared.collection)
    before = comparison.ranks(evidence)
    near, missed = ranked_answer.sections(own_view, evidence, part, view.run.name)
    other_near, other_missed = ranked_answer.sections(
        other_view, other_evidence, other_part, compared.title, before, part.last
    )
    missed = replace(missed, title=f"Missed by {near.title}", size="small")
    other_missed = replace(other_missed, title=f"Missed by {other_near.title}", size="small")
    facts = ranked_answer.both(
        ranked_answer.facts(evidence, scene.k),
        ranked_answer.facts(other_evidence, scene.k),
    )
    _draw_results(scene, item, facts, [near, other_near, missed, other_missed], depth, stacked=True)
    return [evidence, other_evidence]


def _draw_results(
    scene: BrowseScene,
    item: int,
    facts: ranked_answer.Facts,
    sections: list[CardSection],
    depth: int,
    stacked: bool = False,
) -> None:
    """Draw the query with its facts, the sections of results, and the page numbers. depth: number of neighbours."""
    gallery(
        sections,
        key="results",
        on_pick=query.on_pick(scene),
        query=cards.query(scene.view, item, facts),
        stacked=stacked,
        **selection.choosable(scene.view.run, sections),
    )
    query.draw_page_buttons(item, depth, scene.size)


def _on_page(
    part: ranked_answer.ShownPart, scene: BrowseScene, item: int, depth: int
) -> ranked_answer.ShownPart:
    """Return the neighbours on this page. depth: number of neighbours on all pages."""
    page = page_frame.page_slice(query.page_key(item), depth, scene.size)
    count = len(part.places)
    return replace(part, start=min(page.start, count), stop=min(page.stop, count))


def _part(scene: BrowseScene, evidence: Evidence) -> ranked_answer.ShownPart:
    """Return the neighbours that pass the filter."""
    return ranked_answer.part(evidence, scene.filter, scene.view.images, scene.k)


browse()
