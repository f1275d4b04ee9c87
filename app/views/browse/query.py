"""What the Browse page is about, and queries that a person brings or changes: pictures, words, a part of a picture,
more like these, less like those."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

import lab.search
import lab.threshold
from app import uploads
from app.answers.comparison_choice import ComparisonChoice
from app.components.gallery import CardSection, Query, gallery
from app.components.inputs import Box, checked, crop
from app.results import cache, cards, pictures
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from lab.evaluation.collection import Collection
from lab.evaluation.filters import Filter

CLICKS = {
    "search": "Search with it",
    "why": "Explain the similarity",
    "like": "Find more like it",
    "unlike": "Find less like it",
}
PAIR = "pair"
"""In the session's state: the result that is explained."""
LIKE, UNLIKE, PART, OF = "like", "unlike", "part", "refined query"
"""In the session's state: images, the part of the picture, and which query all of that belongs to."""
MOST = 100
"""Liked or disliked images of one query."""
PICTURES = uploads.KEPT
"""Pictures of one search: the server keeps no more of a session."""


@dataclass(frozen=True)
class Scene:
    """What the page shows.

    size: neighbours on a page. k: of the metrics. chosen: the filter. click: what a click on a result does.
    """

    view: SplitView
    other: ComparisonChoice | None
    size: int
    k: int
    chosen: Filter
    click: str


def search_with(item: int) -> None:
    """An image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def page_key(about: object) -> str:
    """Where the page of an answer stands in the session's state: every query starts on its own first page."""
    return f"page of {about}"


def turn_pages(about: object, count: int, size: int) -> None:
    """The pages' numbers, where there are several."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        page_frame.page_buttons(page_key(about), count, size)


@dataclass(frozen=True)
class Refined:
    """What was changed: images that are liked and disliked, and the part of the picture."""

    like: tuple[int, ...] = ()
    unlike: tuple[int, ...] = ()
    part: Box | None = None

    def __bool__(self) -> bool:
        return bool(self.like or self.unlike or self.part)


def adopt(whole: Collection, query: str) -> Refined:
    """What the address or the session says of this query, told apart by its words; that of another one is forgotten."""
    state = st.session_state

    def known(those: Sequence[int]) -> bool:
        return all(whole.position(one) is not None for one in those)

    def items(text: str) -> list[int]:
        return [int(one) for one in text.split(",")][:MOST]

    new = [address.load(name, items, known, default=[]) for name in (LIKE, UNLIKE)]
    new.append(address.load(PART, _read_part, default=None))
    if state.get(OF, query) != query and not any(new):
        forget()
    state[OF] = query
    like, unlike = (tuple(one for one in state.get(name, []) if known([one])) for name in (LIKE, UNLIKE))
    for name, those in ((LIKE, like), (UNLIKE, unlike)):
        address.store(name, ",".join(map(str, those)) or None)
    part = state.get(PART)
    address.store(PART, part and ",".join(f"{one:g}" for one in part))
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


def _turn(which: str, item: int) -> None:
    """A click: like or dislike an image, or not any more."""
    other = UNLIKE if which == LIKE else LIKE
    st.session_state[other] = [one for one in st.session_state.get(other, []) if one != item]
    mine = st.session_state.get(which, [])
    st.session_state[which] = [one for one in mine if one != item] if item in mine else [*mine, item][-MOST:]


def on_pick(scene: Scene) -> Callable[[str, int], None]:
    """What the gallery of results calls after a click."""

    def pick(_section: str, item: int) -> None:
        if scene.click == "why":
            st.session_state[PAIR] = item
        elif scene.click in (LIKE, UNLIKE):
            _turn(scene.click, item)
        else:
            search_with(item)

    return pick


def ask_part(source: str, alt: str, part: Box | None) -> None:
    """The popover in which a part of the query's picture is drawn. source: a data URI."""
    state, help = st.session_state, "Search with a part of the picture"
    # Its words stay the same, or it would close under the hand that draws.
    with st.popover("Part of it", icon=":material/crop:", key="part open", on_change="rerun", help=help):
        if not state.get("part open"):
            return
        crop(source, alt, part, key="crop", on_crop=lambda box: state.update({PART: box}))
        look: dict[str, Any] = {"icon": ":material/crop_free:", "disabled": part is None}
        st.button("The whole picture", on_click=lambda: state.pop(PART, None), **look)


def show(scene: Scene, refined: Refined) -> None:
    """The liked and disliked images above the results; a click takes one away again."""
    if not refined:
        return
    sections = []
    for name, title, items in ((LIKE, "More like", refined.like), (UNLIKE, "Less like", refined.unlike)):
        if listed := [cards.card(scene.view, item) for item in items]:
            sections.append(CardSection(name, title, listed, "click one to take it out", size="small"))
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            part = " Only the part of the picture that you drew is searched with." if refined.part else ""
            st.markdown(f"**The query was changed.**{part}")
            st.button("Back to the original query", on_click=forget, icon=":material/undo:")
        if sections:
            gallery(sections, key="refined", on_pick=_turn)


def vectors(whole: Collection, refined: Refined, unrefined: Sequence[np.ndarray]) -> np.ndarray:
    """What to search with, float32 [1 d]: the mean of the query's vectors [d], moved towards the liked images and away
    from the disliked ones.

    Raises:
        ValueError: liked and disliked images cancel the query out.
    """
    like, unlike = whole.vectors_of(refined.like), whole.vectors_of(refined.unlike)
    return lab.search.compose(np.stack(unrefined), like, unlike, "mean", unit=whole.similarity == "cosine")


def refined_vectors(scene: Scene, item: int, refined: Refined) -> tuple[np.ndarray | None, bool]:
    """What to search with instead of an image's own vector (None: with that), and whether it is there yet."""
    if not refined:
        return None, True
    whole = scene.view.collection
    vector: np.ndarray | None = whole.one(item).vectors[0]
    if refined.part:
        vector = background.if_ready(cache.embedded_part(scene.view, item, refined.part))
    return (None, False) if vector is None else (vectors(whole, refined, [vector]), True)


def ask_upload(scene: Scene) -> None:
    """Draw what is asked for with uploaded pictures and words, and the answer."""
    view, words = scene.view, ""
    if cache.has_text_side(view.run.folder):
        help = "The run's encoder embeds words and pictures in one space."
        words = page_frame.text("What to look for, in words", key="words", link="words", help=help).strip()
    files = _ask_pictures()
    if not files and not words:
        st.info("Choose a picture above; the model embeds it and its nearest images appear here.")
        return
    readable = _readable(files)
    files, images = [data for data, _ in readable], [image for _, image in readable]
    if not images and not words:
        return
    refined = adopt(view.collection, f"{view.run.name} {view.split} upload")
    if len(files) == 1:
        ask_part(pictures.thumbnail(images[0], cards.LARGE), "your picture", refined.part)
    else:
        refined = replace(refined, part=None)
    found = _embedded(scene, files, words, refined)
    if found is None:
        return
    show(scene, refined)
    panel = cards.uploaded(images[0]) if images else Query("", "", words, ["your words"])
    if len(images) > 1:
        alt, title = "the first of the uploaded pictures", f"Your {len(images)} pictures"
        panel = Query(panel.src, alt, title, ["the first is shown"])
    _answer(scene, vectors(view.collection, refined, found), panel)


def _readable(files: Sequence[bytes]) -> list[tuple[bytes, Image.Image]]:
    """The files that are pictures, with these; a sentence for each of the others."""
    readable = []
    for number, data in enumerate(files, 1):
        try:
            readable.append((data, pictures.picture(data)))
        except ValueError as error:
            page_frame.say_error(f"Picture {number}: {error}")
    return readable


def _ask_pictures() -> list[bytes]:
    most = pictures.MAX_MEGABYTES
    chosen = st.file_uploader(
        "A picture from your computer, or several",
        type=list(pictures.EXTENSIONS),
        accept_multiple_files=True,
        max_upload_size=most,
        key="upload",
        help=f"JPEG, PNG, WebP, BMP, GIF or TIFF, at most {most} MB and {pictures.MAX_PIXELS / 1e6:.0f} million pixels "
        f"each, {PICTURES} at a time; convert HEIC photos to JPEG first. They are decoded, embedded and forgotten; "
        "their file names are not read.",
    )
    listed = len(st.session_state.get("upload") or ())  # those that the server has dropped included
    latest = chosen[-PICTURES:]
    if listed > len(latest):
        st.caption(f"The latest {len(latest)} of {listed} pictures are used; remove some to choose others.")
    return [one.getvalue() for one in latest]


def _embedded(scene: Scene, files: Sequence[bytes], words: str, refined: Refined) -> list[np.ndarray] | None:
    """A vector for each picture and for the words; None while one is not there."""
    jobs = [cache.embedded(scene.view, hashlib.blake2b(data).hexdigest(), data, refined.part) for data in files]
    jobs += [cache.embedded_words(scene.view, words)] if words else []
    found = []
    for job in jobs:
        if (vector := background.if_ready(job)) is None:
            return None
        found.append(vector)
    return found


def _answer(scene: Scene, found: np.ndarray, panel: Query) -> None:
    whole = scene.view.collection
    if not cache.searchable(scene.view):
        return
    scores, positions = whole.ask_vectors(found)
    kept = lab.threshold.exported(scene.view.run.folder).get("threshold")
    if kept and scores.max() < kept["value"]:
        st.info(f"Unknown: no image reaches {kept['value']:.3g}, the threshold that is kept with this run.")
    passed = scene.chosen.neighbours(whole.images, whole.gallery.items[positions])
    scores, positions = scores[passed], positions[passed]
    here = page_frame.page_slice(page_key("upload"), len(positions), scene.size)
    title = f"Neighbours {here.start + 1} to {here.stop}" if here.start else f"Nearest {here.stop}"
    listed = cards.unjudged(scene.view, positions[here], scores[here], here.start)
    note = f"of {len(whole.gallery):,} images by {whole.similarity}"
    note += "; an upload has no class, so nothing is right or wrong"
    section = CardSection("neighbours", title, listed, note, "No neighbour passes the filter.")
    gallery([section], key="results", on_pick=on_pick(scene), query=panel)
    turn_pages("upload", len(positions), scene.size)
