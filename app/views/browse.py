"""Browse: pick a run, a split and a query; see what the model ranks first, what is wrong, and what it missed.

With a second run, or another search of the same run, both answers stand side by side.
"""

from __future__ import annotations

import streamlit as st

from app import address, answers, cache, candidates, cards, frame, library, opponents, rivals, uploads
from app.collection import Collection
from app.components.gallery import Section, gallery

PER_PAGE = (24, 48, 96)


@frame.page("Browse", "Which images does a model put next to each other, and which does it miss?")
def browse() -> None:
    run = library.choose_run()
    address.adopt("split", str, run.splits)
    with st.sidebar:
        split = frame.choice("Split", run.splits, key="split", format=str.capitalize)
        collection = cache.collection(run.name, split, run.stamp)
        address.adopt("query", int, lambda item: collection.row(item) is not None)
        other = opponents.choose(run, split)
        st.divider()
        sources = candidates.sources(with_rival=other is not None)
        source = frame.few("Queries", sources, key="source", format=sources.get)
        chosen = candidates.choose(source, collection, other)
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
    if collection.row(item) is None:
        item = None
    address.publish(run=run.name, split=split, query=item, rival=opponents.code(other))
    _draw_candidates(run, collection, chosen, item)
    if item is None:
        return
    if other is None:
        _draw_answer(run, collection, item, shown)
    else:
        _draw_two(run, collection, other, item, shown)


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


def _draw_answer(run: cache.RunView, collection: Collection, item: int, shown: int) -> None:
    evidence = collection.ask(item)
    found = int((evidence.ranking.neighbours[0] >= 0).sum())
    start, stop = _page(str(item), found, shown)
    gallery(
        answers.sections(run, collection, evidence, start, stop),
        key="results",
        on_pick=_pick,
        query=cards.query(run, collection, item, answers.facts(evidence)),
    )
    _turn_pages(str(item), found, shown)


def _draw_two(run: cache.RunView, collection: Collection, other: opponents.Opponent, item: int, shown: int) -> None:
    if other.rival.collection.row(item) is None:
        st.info(f"{other.rival.title} has no answer to this query; choose another one.")
        return
    ours, theirs = collection.ask(item), other.rival.ask(item)
    found = int(max((e.ranking.neighbours[0] >= 0).sum() for e in (ours, theirs)))
    start, stop = _page(str(item), found, shown)
    left = answers.sections(run, collection, ours, start, stop, whose=run.name)
    right = answers.sections(
        other.view,
        other.rival.collection,
        theirs,
        start,
        min(stop, int((theirs.ranking.neighbours[0] >= 0).sum())),
        whose=other.rival.title,
        before=rivals.ranks(ours),
    )
    gallery(
        [section for pair in zip(left, right, strict=True) for section in pair],
        key="results",
        on_pick=_pick,
        query=cards.query(run, collection, item, answers.both(answers.facts(ours), answers.facts(theirs))),
        columns=True,
    )
    _turn_pages(str(item), found, shown)


def _page(about: str, found: int, shown: int) -> tuple[int, int]:
    """First and last place (0-based, end left out) on screen. Every query starts on its own first page."""
    page = min(st.session_state.get(f"page of {about}", 1), _pages(found, shown)) - 1
    return page * shown, min((page + 1) * shown, found)


def _pages(found: int, shown: int) -> int:
    return max(1, -(-found // shown))


def _turn_pages(about: str, found: int, shown: int) -> None:
    if _pages(found, shown) > 1:
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.pagination(_pages(found, shown), key=f"page of {about}")


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
    start, stop = _page("upload", len(positions), shown)
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
