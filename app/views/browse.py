"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app import address, cache, candidates, cards, frame, library, uploads
from app.collection import Collection, first_wrong, per_query
from app.components.gallery import Query, Section, gallery
from lab.results import UNRANKED, Evidence

PER_PAGE = (24, 48, 96)
MISSED_SHOWN = 24


@frame.page("Browse", "Which images does a model put next to each other, and which does it miss?")
def browse() -> None:
    run = library.choose_run()
    address.adopt("split", str, run.splits)
    with st.sidebar:
        split = frame.choice("Split", run.splits, key="split", format=str.capitalize)
        collection = cache.collection(run.name, split, run.stamp)
        address.adopt("query", int, lambda item: collection.row(item) is not None)
        st.divider()
        source = frame.few("Queries", candidates.SOURCES, key="source", format=candidates.SOURCES.get)
        chosen = candidates.choose(source, collection)
        st.divider()
        shown = frame.choice("Neighbours on a page", PER_PAGE, key="shown")
    st.caption(f"{run.summary} · {split}, {len(collection.query):,} queries in {len(collection.gallery):,} images")
    if source == "upload":
        address.publish(run=run.name, split=split)
        _ask_upload(run, collection, shown)
        return
    if collection.row(st.session_state.get("query")) is None and chosen.items:
        st.session_state["query"] = chosen.items[0]
    item = st.session_state.get("query")
    address.publish(run=run.name, split=split, query=item)
    _draw_candidates(run, collection, chosen, item)
    if item is not None:
        _draw_query(run, collection, item, shown)


def _pick(section: str, item: int) -> None:
    """A card was clicked: its image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def _draw_candidates(run: cache.RunView, collection: Collection, chosen: candidates.Candidates, item: int) -> None:
    strip = [cards.plain(run, collection, one, value) for one, value in zip(chosen.items, chosen.values, strict=True)]
    section = Section(
        "candidates", chosen.title, strip, note=chosen.note, empty=chosen.empty, size="small", current=item
    )
    gallery([section], key="candidates", on_pick=_pick)


def _draw_query(run: cache.RunView, collection: Collection, item: int, shown: int) -> None:
    evidence = collection.ask(item)
    ranking = evidence.ranking
    found = int((ranking.neighbours[0] >= 0).sum())
    start = _page(str(item), found, shown) * shown
    stop = min(start + shown, found)
    ranks, missed = ranking.positives(0)[1], _missed(run, collection, evidence, stop)
    right = int((ranks <= stop).sum())
    neighbours = Section(
        "neighbours",
        f"Nearest {stop}" if start == 0 else f"Neighbours {start + 1} to {stop}",
        cards.neighbours(run, collection, evidence, start, stop),
        note=f"of {int(ranking.retrieved[0]):,} images by {collection.similarity}; "
        f"{right} of {len(ranks)} true matches found",
    )
    late = Section(
        "missed",
        "Missed",
        missed,
        note=_missed_note(len(ranks) - right, len(missed)),
        empty=_nothing_missed(len(ranks), stop),
    )
    gallery([neighbours, late], key="results", on_pick=_pick, query=_query_panel(run, collection, item, evidence))
    _turn_pages(str(item), found, shown)


def _page(about: str, found: int, shown: int) -> int:
    """The page of neighbours on screen, counted from 0. Every query starts on its own first page."""
    return min(st.session_state.get(f"page of {about}", 1), _pages(found, shown)) - 1


def _pages(found: int, shown: int) -> int:
    return max(1, -(-found // shown))


def _turn_pages(about: str, found: int, shown: int) -> None:
    if _pages(found, shown) > 1:
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.pagination(_pages(found, shown), key=f"page of {about}")


def _missed(run: cache.RunView, collection: Collection, evidence: Evidence, stop: int) -> list:
    positions, ranks = evidence.ranking.positives(0)
    late = ranks > stop
    return cards.missed(run, collection, evidence, positions[late][:MISSED_SHOWN], ranks[late][:MISSED_SHOWN])


def _missed_note(missed: int, shown: int) -> str:
    if not missed:
        return ""
    more = f"; the first {shown} are shown" if shown < missed else ""
    return f"{missed} true match{'es' if missed > 1 else ''} further down, with the rank at which each came{more}"


def _nothing_missed(positives: int, stop: int) -> str:
    if positives == 0:
        return "This query has no other image of its class here, so nothing could be found and no metric counts it."
    return f"Nothing: every true match is among the first {stop}."


def _query_panel(run: cache.RunView, collection: Collection, item: int, evidence: Evidence) -> Query:
    ranking, ranks = evidence.ranking, evidence.ranking.positives(0)[1]
    wrong = first_wrong(ranking)
    facts = [
        (column, "–" if np.isnan(values[0]) else f"{values[0]:.3f}", cards.HELP.get(column, ""))
        for column, values in per_query(evidence).items()
    ]
    if len(ranks):
        last = "lost" if ranks[-1] == UNRANKED else f"{ranks[-1]:,}"
        facts += [
            ("first match at", f"{ranks[0]:,}", "rank of the nearest true match"),
            ("last match at", last, "rank by which every true match was found"),
            ("first wrong at", f"{wrong:,}" if wrong else "none", "rank of the nearest image of another class"),
        ]
    return cards.query(run, collection, item, facts)


def _ask_upload(run: cache.RunView, collection: Collection, shown: int) -> None:
    upload = st.file_uploader(
        "A picture from your computer",
        type=list(uploads.EXTENSIONS),
        max_upload_size=uploads.MAX_MEGABYTES,
        key="upload",
        help="It is decoded, embedded and forgotten; its file name is not read.",
    )
    if upload is None:
        st.info("Choose a picture above; the model embeds it and its nearest images appear here.")
        return
    try:
        image = uploads.picture(upload.getvalue())
    except ValueError as error:
        frame.say_error(error)
        return
    scores, positions = collection.ask_vector(cache.embedded(run.name, run.stamp, upload.getvalue()))
    start = _page("upload", len(positions), shown) * shown
    stop = min(start + shown, len(positions))
    section = Section(
        "neighbours",
        f"Nearest {stop}" if start == 0 else f"Neighbours {start + 1} to {stop}",
        cards.unjudged(run, collection, positions[start:stop], scores[start:stop], start),
        note=f"of {len(collection.gallery):,} images by {collection.similarity}; an upload has no class, "
        "so nothing is right or wrong",
    )
    gallery([section], key="results", on_pick=_pick, query=cards.uploaded(image))
    _turn_pages("upload", len(positions), shown)


browse()
