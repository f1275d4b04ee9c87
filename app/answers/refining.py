"""A query that was changed by the person: a part of the picture, more like these, less like those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

import lab.search
from app.components.crop import Box, checked, crop
from app.components.gallery import Section, gallery
from app.results import cache, cards
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import address, background, page_frame
from app.shared.background import Job

TOGETHER = {
    "rocchio": "Towards liked, away from disliked",
    "mean": "Mean of the query and the liked",
    "best": "Best match of the query or any liked",
}
LIKE, UNLIKE, PART, OF = "like", "unlike", "part", "refined query"
"""In the session's state: images, the part of the picture, and which query all of that belongs to."""
MOST = 100
"""Liked or disliked images of one query."""


@dataclass(frozen=True)
class Refined:
    """What was changed: images that are liked and disliked, the part of the picture, how it is put together."""

    like: tuple[int, ...] = ()
    unlike: tuple[int, ...] = ()
    part: Box | None = None
    together: str = "rocchio"

    def __bool__(self) -> bool:
        return bool(self.like or self.unlike or self.part)


def adopt(whole: Collection, query: str) -> Refined:
    """What the address or the session says of this query, told apart by its words; that of another one is forgotten."""
    state = st.session_state

    def known(those: Sequence[int]) -> bool:
        return all(whole.position(one) is not None for one in those)

    def items(text: str) -> list[int]:
        return [int(one) for one in text.split(",")][:MOST]

    new = [address.adopt(name, items, known, default=[]) for name in (LIKE, UNLIKE)]
    new.append(address.adopt(PART, _read_part, default=None))
    if state.get(OF, query) != query and not any(new):
        forget()
    state[OF] = query
    like, unlike = (tuple(one for one in state.get(name, []) if known([one])) for name in (LIKE, UNLIKE))
    for name, those in ((LIKE, like), (UNLIKE, unlike)):
        address.tell(name, ",".join(map(str, those)) or None)
    part = state.get(PART)
    address.tell(PART, part and ",".join(f"{one:g}" for one in part))
    return Refined(like, unlike, part)


def _read_part(text: str) -> Box:
    box = checked([float(one) for one in text.split(",")])
    if box is None:
        raise ValueError("a part is left, top, right and bottom, between 0 and 1")
    return box


def forget() -> None:
    """Back to the query as it is."""
    for name in (LIKE, UNLIKE, PART):
        st.session_state.pop(name, None)


def turn(which: str, item: int) -> None:
    """A click: like or dislike an image, or not any more."""
    other = UNLIKE if which == LIKE else LIKE
    st.session_state[other] = [one for one in st.session_state.get(other, []) if one != item]
    mine = st.session_state.get(which, [])
    st.session_state[which] = [one for one in mine if one != item] if item in mine else [*mine, item][-MOST:]


def ask_part(source: str, alt: str, part: Box | None) -> None:
    """The popover in which a part of the query's picture is drawn. source: a data URI."""
    # Its words stay the same, or it would close under the hand that draws.
    with st.popover(
        "Part of it", icon=":material/crop:", key="part open", on_change="rerun",
        help="Search with a part of the picture",
    ):  # fmt: skip
        if not st.session_state.get("part open"):
            return
        crop(source, alt, part, key="crop", on_crop=lambda box: st.session_state.update({PART: box}))
        st.button("The whole picture", on_click=_whole, disabled=part is None, icon=":material/crop_free:")


def _whole() -> None:
    st.session_state.pop(PART, None)


def show(run: RunView, whole: Collection, refined: Refined) -> Refined:
    """The liked and disliked images above the results; a click takes one away again."""
    if not refined:
        return refined
    sections = [
        Section(name, title, [cards.plain(run, whole, item) for item in items], "click one to remove it", size="small")
        for name, title, items in ((LIKE, "More like", refined.like), (UNLIKE, "Less like", refined.unlike))
        if items
    ]
    together = refined.together
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if refined.like:
                together = page_frame.select(
                    "Search with", list(TOGETHER), key="together", format=TOGETHER.__getitem__, link="together"
                )
            part = " Only the part of the picture that you drew is searched with." if refined.part else ""
            st.markdown(f"**The query was changed.**{part}")
            st.button("Back to the original query", on_click=forget, icon=":material/undo:")
        if sections:
            gallery(sections, key="refined", on_pick=turn)
    return Refined(refined.like, refined.unlike, refined.part, together)


def vectors(whole: Collection, refined: Refined, unrefined: Sequence[np.ndarray]) -> np.ndarray:
    """What to search with, float32 [n d], the best of which counts.

    Args:
        unrefined: vectors [d] of the query, or of each picture of it.

    Raises:
        ValueError: liked and disliked images cancel the query out.
    """
    unit, queries = whole.similarity == "cosine", np.stack(unrefined)
    like, unlike = whole.vectors_of(refined.like), whole.vectors_of(refined.unlike)
    if len(like) and refined.together != "rocchio":
        queries = np.concatenate([queries, like])
        if refined.together == "mean":
            queries = lab.search.mean_query(queries, unit)[None]
        like = like[:0]
    if not len(like) and not len(unlike):
        return queries
    return np.stack([lab.search.rocchio(one, like, unlike, unit=unit) for one in queries])


def query_vectors(
    run: RunView, split: str, whole: Collection, item: int, refined: Refined
) -> tuple[np.ndarray | None, bool]:
    """What to search with instead of an image's own vector (None: with that), and whether it is there yet."""
    if not refined:
        return None, True
    vector = whole.one(item).vectors[0]
    if refined.part:
        job: Job = cache.embedded_part(run.name, split, run.stamp, item, refined.part, whole.images)
        embedded = background.if_ready(job)
        if embedded is None:
            return None, False
        vector = embedded
    return vectors(whole, refined, [vector]), True
