"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from lab.core.results import Evidence
from lab.dashboard import origin  # fmt: skip
from lab.dashboard.answers import candidates, comparison, comparison_choice, ranked_answer, why_this_rank
from lab.dashboard.answers.comparison import OtherRanking, TwoStage
from lab.dashboard.answers.comparison_choice import ComparisonChoice
from lab.dashboard.answers.two_stage_cost import FLATTERED
from lab.dashboard.answers.why_this_rank import Weighed
from lab.dashboard.components.gallery import Section, gallery
from lab.dashboard.results import cache, cards, filters, run_choice, uploads
from lab.dashboard.results.collection import DEPTH, Collection
from lab.dashboard.results.filters import Filter
from lab.dashboard.shared import address, background, page_frame
from lab.dashboard.shared.background import Job
from lab.dashboard.views.browse import exports

PER_PAGE = (24, 48, 96)
K, MOST_K = 8, 96


@dataclass(frozen=True)
class Wish:
    """What somebody wants to see of every answer: neighbours on a page, the k of the metrics, a filter, and a loss
    with its knobs (no name: none)."""

    size: int
    k: int
    chosen: Filter
    why: str
    knobs: dict


@dataclass(frozen=True)
class BrowseView:
    """What the page is about."""

    run: cache.RunView
    split: str
    collection: Collection
    other: ComparisonChoice | None
    wish: Wish

    def measured(self) -> Job:
        return cache.measured("", self.run.name, self.split, self.run.stamp, self.collection)

    def weighing(self, item: int, view: cache.RunView | None = None, whole: Collection | None = None) -> Job | None:
        """What the loss does to one query's list, here or in another run; None when nobody asks."""
        view, whole, wish = view or self.run, whole or self.collection, self.wish
        code = why_this_rank.code_of(wish.why, wish.knobs)
        about = (view.name, self.split, view.stamp, item, code, wish.why, wish.knobs, whole)
        return why_this_rank.weighed(*about) if wish.why else None

    def weighed(self, item: int, *other: Any) -> Weighed | None:
        weighing = self.weighing(item, *other)
        return None if weighing is None else background.if_ready(weighing)


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
        scene = BrowseView(run, split, collection, other, _wish(run, split, collection, size))
    with below:
        allowed = scene.wish.chosen.queries(collection.images, collection.query.items)
        chosen = candidates.choose(source, collection, allowed, scene.measured, other)
    if source == "upload":
        _ask_upload(scene)
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
    rival = other.rival if other else None
    if other and rival:
        evidence = _draw_two(scene, other, rival, item)
    else:
        if other and other.waits_for and other.waits_for is not chosen.waits_for:
            background.note(other.waits_for)
        evidence = _draw_answer(scene, item)
    with tools:
        _offer_files(scene, item, evidence)


def _about(run: cache.RunView, split: str, collection: Collection, other: ComparisonChoice | None) -> str:
    about = f"{run.summary} · {split}, {len(collection.query):,} queries in {len(collection.gallery):,} images"
    about += f" · {origin.words(run.name, split)}"
    if other is not None and other.view.name != run.name:
        about += f" · {other.view.name}: {origin.words(other.view.name, split)}"
    return about


def _wish(run: cache.RunView, split: str, collection: Collection, size: int) -> Wish:
    """The row of tools over the answers."""
    most = max(2, min(MOST_K, len(collection.gallery) - 1))
    page_frame.keep("k", min(K, most), range(1, most + 1), link="k")
    k = st.slider("Top k", 1, most, key="k", width=240, persist_state="session")
    with st.popover(
        "How a loss moves it", icon=":material/balance:", help="Pulls and pushes on every image of the list"
    ):
        why, knobs = why_this_rank.choose(run, k)
    with st.popover("Filter" + (" (on)" if filters.on(collection) else ""), icon=":material/filter_alt:"):
        chosen = filters.choose(run, split, collection)
    return Wish(size, k, chosen, why, knobs)


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
            "Ranking as CSV", table, f"{name}.csv", "text/csv", on_click="ignore", icon=":material/table:"
        )
        st.download_button(
            "Contact sheet as PNG", lambda: exports.sheet(collection, evidence, wish.size), f"{name}.png", "image/png",
            on_click="ignore", icon=":material/image:", help="The query with its first neighbours, filter or not",
        )  # fmt: skip


def _pick(section: str, item: int) -> None:
    """A card was clicked: its image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def _draw_candidates(scene: BrowseView, chosen: candidates.Candidates, item: int | None) -> None:
    if chosen.waits_for is not None:
        background.note(chosen.waits_for)
        return
    strip = [
        cards.plain(scene.run, scene.collection, one, value)
        for one, value in zip(chosen.items, chosen.values, strict=True)
    ]
    section = Section(
        "candidates", chosen.title, strip, note=chosen.note, empty=chosen.empty, size="small", current=item
    )
    gallery([section], key="candidates", on_pick=_pick)


def _draw_answer(scene: BrowseView, item: int) -> list[Evidence]:
    run, collection, wish = scene.run, scene.collection, scene.wish
    evidence = collection.ask(item, deep=bool(wish.chosen))
    weighed = scene.weighed(item)
    _say_why(weighed)
    whole = ranked_answer.part(evidence, wish.chosen, collection.images, 0, wish.size, wish.k, weighed)
    depth = min(len(whole.places), DEPTH)
    start, stop = _page(str(item), depth, wish.size)
    gallery(
        ranked_answer.sections(run, collection, evidence, replace(whole, start=start, stop=stop)),
        key="results",
        on_pick=_pick,
        query=cards.query(run, collection, item, ranked_answer.facts(evidence, wish.k)),
    )
    _turn_pages(str(item), depth, wish.size)
    return [evidence]


def _draw_two(scene: BrowseView, other: ComparisonChoice, rival: OtherRanking, item: int) -> list[Evidence]:
    run, collection, wish = scene.run, scene.collection, scene.wish
    if rival.collection.row(item) is None:
        st.info(page_frame.as_text(f"{rival.title} has no answer to this query; choose another one."))
        return [collection.ask(item)]
    ours, theirs = collection.ask(item), rival.ask(item)
    if isinstance(rival, TwoStage) and not rival.course.anchors.learnt:
        st.caption(
            f"This run learnt no class anchors, so the means of the gallery's classes stand for them. {FLATTERED}"
        )
    weighed = scene.weighed(item)
    _say_why(weighed)
    left = ranked_answer.part(ours, wish.chosen, collection.images, 0, wish.size, wish.k, weighed)
    same = rival.collection is collection
    theirs_weighed = weighed if same else scene.weighed(item, other.view, rival.collection)
    right = ranked_answer.part(theirs, wish.chosen, collection.images, 0, wish.size, wish.k, theirs_weighed)
    depth = max(len(left.places), len(right.places))
    start, stop = _page(str(item), depth, wish.size)
    left, right = (
        replace(one, start=min(start, len(one.places)), stop=min(stop, len(one.places))) for one in (left, right)
    )
    before = comparison.ranks(ours)
    pairs = zip(
        ranked_answer.sections(run, collection, ours, left, whose=run.name),
        ranked_answer.sections(
            other.view, rival.collection, theirs, right, whose=rival.title, before=before, seen=left.last
        ),
        strict=True,
    )
    facts = ranked_answer.both(ranked_answer.facts(ours, wish.k), ranked_answer.facts(theirs, wish.k))
    gallery(
        [section for pair in pairs for section in pair],
        key="results",
        on_pick=_pick,
        query=cards.query(run, collection, item, facts),
        columns=True,
    )
    _turn_pages(str(item), depth, wish.size)
    return [ours, theirs]


def _say_why(weighed: Weighed | None) -> None:
    if weighed is not None:
        gradients = weighed.gradients
        words = "This query has no true match, so no loss moves anything." if gradients is None else gradients.summary
        st.caption(page_frame.as_text(words))


def _page(about: str, count: int, size: int) -> tuple[int, int]:
    """First and last place (0-based, end left out) on screen. Every query starts on its own first page."""
    page_frame.keep(f"page of {about}", 1, range(1, _pages(count, size) + 1), link="page")
    page = st.session_state[f"page of {about}"] - 1
    return page * size, min((page + 1) * size, count)


def _pages(count: int, size: int) -> int:
    return max(1, -(-count // size))


def _turn_pages(about: str, count: int, size: int) -> None:
    if _pages(count, size) > 1:
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.pagination(_pages(count, size), key=f"page of {about}")


def _ask_upload(scene: BrowseView) -> None:
    run, collection, wish = scene.run, scene.collection, scene.wish
    upload = st.file_uploader(
        "A picture from your computer",
        type=list(uploads.EXTENSIONS),
        max_upload_size=uploads.MAX_MEGABYTES,
        key="upload",
        help=f"JPEG, PNG, WebP, BMP, GIF or TIFF, at most {uploads.MAX_MEGABYTES} MB and "
        f"{uploads.MAX_PIXELS / 1e6:.0f} million pixels; save HEIC photos as JPEG first. It is decoded, embedded and "
        "forgotten; its file name is not read.",
    )
    if upload is None:
        st.info("Choose a picture above; the model embeds it and its nearest images appear here.")
        return
    try:
        image = uploads.picture(upload.getvalue())
    except ValueError as error:
        page_frame.say_error(error)
        return
    data = upload.getvalue()
    digest = hashlib.blake2b(data).hexdigest()
    vector = background.if_ready(cache.embedded(run.name, scene.split, run.stamp, digest, data))
    if vector is None:
        return
    scores, positions = collection.ask_vector(vector)
    passed = wish.chosen.neighbours(collection.images, collection.gallery.items[positions])
    scores, positions = scores[passed], positions[passed]
    start, stop = _page("upload", len(positions), wish.size)
    section = Section(
        "neighbours",
        f"Nearest {stop}" if start == 0 else f"Neighbours {start + 1} to {stop}",
        cards.unjudged(run, collection, positions[start:stop], scores[start:stop], start),
        note=f"of {len(collection.gallery):,} images by {collection.similarity}; an upload has no class, "
        "so nothing is right or wrong",
        empty="No neighbour passes the filter.",
    )
    gallery([section], key="results", on_pick=_pick, query=cards.uploaded(image))
    _turn_pages("upload", len(positions), wish.size)


browse()
