"""The state of the Browse page, and queries that the user composes from pictures, words and example images."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
"""Session key and URL parameter of the result that is explained."""

LIKE = "like"
"""Session key and URL parameter of the positive example images."""

UNLIKE = "unlike"
"""Session key and URL parameter of the negative example images."""

PART = "part"
"""Session key and URL parameter of the part of the query's picture."""

REFINED_QUERY = "refined query"
"""Session key of the query to which examples and part belong."""

MOST = 100
"""Most positive, and most negative, example images of one query."""

PICTURES = uploads.KEPT
"""Most pictures of one search. The server keeps no more for a session."""


@dataclass(frozen=True)
class BrowseScene:
    """What the Browse page shows.

    size: neighbours on a page. k: rank k of the metrics. click: what a click on a result does.
    """

    view: SplitView
    other: ComparisonChoice | None
    size: int
    k: int
    filter: Filter
    click: str


def search_with(item: int) -> None:
    """Make an image the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def page_key(query: object) -> str:
    """Return the session key of the page of a ranking. Every query starts on its first page."""
    return f"page of {query}"


def draw_page_buttons(query: object, count: int, size: int) -> None:
    """Draw the page numbers if there are several pages."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        page_frame.page_buttons(page_key(query), count, size)


@dataclass(frozen=True)
class Refinement:
    """Changes of a query: positive and negative example images, and a part of the picture."""

    like: tuple[int, ...] = ()
    unlike: tuple[int, ...] = ()
    part: Box | None = None

    def __bool__(self) -> bool:
        return bool(self.like or self.unlike or self.part)


def load(collection: Collection, query: str) -> Refinement:
    """Read the changes of a query from the URL and the session. Changes of another query are forgotten.

    query: a text that identifies the query.
    """
    state = st.session_state

    def exist(items: Sequence[int]) -> bool:
        return all(collection.position(item) is not None for item in items)

    def read(text: str) -> list[int]:
        return [int(word) for word in text.split(",")][:MOST]

    has_new_like = address.load(LIKE, read, exist, default=[])
    has_new_unlike = address.load(UNLIKE, read, exist, default=[])
    has_new_part = address.load(PART, _read_part, default=None)
    is_new = has_new_like or has_new_unlike or has_new_part
    if state.get(REFINED_QUERY) != query and not is_new:
        forget()
    state[REFINED_QUERY] = query

    # Keep the examples that exist, and put them into the URL.
    examples = {}
    for name in (LIKE, UNLIKE):
        examples[name] = tuple(item for item in state.get(name, []) if exist([item]))
        address.store(name, ",".join(map(str, examples[name])) or None)
    part = state.get(PART)
    address.store(PART, part and ",".join(f"{side:g}" for side in part))
    return Refinement(examples[LIKE], examples[UNLIKE], part)


def _read_part(text: str) -> Box:
    box = checked([float(side) for side in text.split(",")])
    if box is None:
        raise ValueError("a part is left, top, right and bottom, between 0 and 1")
    return box


def forget() -> None:
    """Forget all changes of the query."""
    for name in (LIKE, UNLIKE, PART):
        st.session_state.pop(name, None)


def _toggle_example(kind: str, item: int) -> None:
    """Add an image to the positive or negative examples, or remove it if it is one of them."""
    other = UNLIKE if kind == LIKE else LIKE
    st.session_state[other] = [
        example for example in st.session_state.get(other, []) if example != item
    ]
    examples = st.session_state.get(kind, [])
    if item in examples:
        st.session_state[kind] = [example for example in examples if example != item]
    else:
        st.session_state[kind] = [*examples, item][-MOST:]


def on_pick(scene: BrowseScene) -> Callable[[str, int], None]:
    """Return the callback for a click on a result."""

    def pick(_section: str, item: int) -> None:
        if scene.click == "why":
            st.session_state[PAIR] = item
        elif scene.click in (LIKE, UNLIKE):
            _toggle_example(scene.click, item)
        else:
            search_with(item)

    return pick


def ask_part(source: str, alt: str, part: Box | None) -> None:
    """Draw the menu in which the user draws a part of the query's picture. source: a data URI."""
    state = st.session_state

    def set_part(box: Box) -> None:
        state[PART] = box

    def clear_part() -> None:
        state.pop(PART, None)

    # The label never changes, because a new label would close the menu while the user draws.
    help = "Search with a part of the picture"
    with st.popover(
        "Part of it", icon=":material/crop:", key="part open", on_change="rerun", help=help
    ):
        if state.get("part open"):
            crop(source, alt, part, key="crop", on_crop=set_part)
            icon = ":material/crop_free:"
            st.button("The whole picture", on_click=clear_part, icon=icon, disabled=part is None)


def show(scene: BrowseScene, refined: Refinement) -> None:
    """Draw the example images above the results. A click removes one."""
    if not refined:
        return
    sections = []
    for name, title, items in (
        (LIKE, "More like", refined.like),
        (UNLIKE, "Less like", refined.unlike),
    ):
        if items:
            examples = [cards.card(scene.view, item) for item in items]
            sections.append(
                CardSection(name, title, examples, "click an image to take it out", size="small")
            )
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            words = "**The query was changed.**"
            if refined.part:
                words += " The search uses only the part of the picture that you drew."
            st.markdown(words)
            st.button("Back to the original query", on_click=forget, icon=":material/undo:")
        if sections:
            gallery(sections, key="refined", on_pick=_toggle_example)


def vectors(
    collection: Collection, refined: Refinement, query_vectors: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the vector to search with, float32 [1 d].

    It is the mean of the query's vectors [d], moved towards the positive and away from the negative examples.

    Raises:
        ValueError: the examples cancel the query out.
    """
    like = collection.vectors_of(refined.like)
    unlike = collection.vectors_of(refined.unlike)
    return lab.search.compose(
        np.stack(query_vectors), like, unlike, "mean", unit=collection.similarity == "cosine"
    )


def refined_vectors(
    scene: BrowseScene, item: int, refined: Refinement
) -> tuple[np.ndarray | None, bool]:
    """Return the vector of a changed query (None if it is not changed), and whether it is ready."""
    if not refined:
        return None, True
    collection = scene.view.collection
    vector: np.ndarray | None = collection.one(item).vectors[0]
    if refined.part:
        vector = background.if_ready(cache.embedded_part(scene.view, item, refined.part))
    if vector is None:
        return None, False
    return vectors(collection, refined, [vector]), True


def ask_upload(scene: BrowseScene) -> None:
    """Draw the search with uploaded pictures and words, and its results."""
    view = scene.view
    words = ""
    if cache.has_text_side(view.run.folder):
        help = "The run's encoder embeds words and pictures in the same space."
        words = page_frame.text("Search words", key="words", link="words", help=help).strip()
    uploaded = _upload()
    if not uploaded and not words:
        st.info("Choose a picture above; the model embeds it and its nearest images appear here.")
        return
    readable = _readable(uploaded)
    if not readable and not words:
        return
    files = [data for data, _ in readable]
    images = [image for _, image in readable]
    refined = load(view.collection, f"{view.run.name} {view.split} upload")

    # A part can be drawn in a single picture only.
    if len(files) == 1:
        ask_part(pictures.thumbnail(images[0], cards.LARGE), "your picture", refined.part)
    else:
        refined = replace(refined, part=None)
    query_vectors = _embedded(scene, files, words, refined)
    if query_vectors is None:
        return
    show(scene, refined)

    # The panel shows the first picture, or the words.
    if not images:
        panel = Query("", "", words, ["your words"])
    elif len(images) == 1:
        panel = cards.uploaded(images[0])
    else:
        src = cards.uploaded(images[0]).src
        title = f"Your {len(images)} pictures"
        panel = Query(src, "the first of the uploaded pictures", title, ["the first is shown"])
    _draw_results(scene, vectors(view.collection, refined, query_vectors), panel)


def _readable(files: Sequence[bytes]) -> list[tuple[bytes, Image.Image]]:
    """Return the files that are pictures, with the pictures. Draw an error message for each of the others."""
    readable = []
    for number, data in enumerate(files, 1):
        try:
            readable.append((data, pictures.picture(data)))
        except ValueError as error:
            page_frame.say_error(f"Picture {number}: {error}")
    return readable


def _upload() -> list[bytes]:
    """Draw the file upload and return the content of the latest files."""
    most = pictures.MAX_MEGABYTES
    chosen = st.file_uploader(
        "A picture from your computer, or several",
        type=list(pictures.EXTENSIONS),
        accept_multiple_files=True,
        max_upload_size=most,
        key="upload",
        help=f"JPEG, PNG, WebP, BMP, GIF or TIFF, at most {most} MB and {pictures.MAX_PIXELS / 1e6:.0f} million pixels "
        f"each, {PICTURES} at a time; convert HEIC photos to JPEG first. They are decoded, embedded and not stored; "
        "their file names are not read.",
    )
    count = len(st.session_state.get("upload") or ())  # with those that the server has dropped
    latest = chosen[-PICTURES:]
    if count > len(latest):
        st.caption(
            f"The latest {len(latest)} of {count} pictures are used; remove some to choose others."
        )
    return [file.getvalue() for file in latest]


def _embedded(
    scene: BrowseScene, files: Sequence[bytes], words: str, refined: Refinement
) -> list[np.ndarray] | None:
    """Return a vector for each picture and for the words, or None while one is not ready."""
    jobs = []
    for data in files:
        jobs.append(
            cache.embedded(scene.view, hashlib.blake2b(data).hexdigest(), data, refined.part)
        )
    if words:
        jobs.append(cache.embedded_words(scene.view, words))
    found = []
    for job in jobs:
        vector = background.if_ready(job)
        if vector is None:
            return None
        found.append(vector)
    return found


def _draw_results(scene: BrowseScene, query_vectors: np.ndarray, panel: Query) -> None:
    """Draw the nearest images of a query without a class."""
    collection = scene.view.collection
    if not cache.searchable(scene.view):
        return
    scores, positions = collection.ask_vectors(query_vectors)
    threshold = lab.threshold.exported(scene.view.run.folder).get("threshold")
    if threshold and scores.max() < threshold["value"]:
        value = f"{threshold['value']:.3g}"
        st.info(f"Unknown: no image reaches {value}, the threshold stored with this run.")

    # Draw the page of neighbours that pass the filter.
    passing = scene.filter.neighbours(collection.images, collection.gallery.items[positions])
    scores = scores[passing]
    positions = positions[passing]
    page = page_frame.page_slice(page_key("upload"), len(positions), scene.size)
    title = f"Nearest {page.stop}"
    if page.start:
        title = f"Neighbours {page.start + 1} to {page.stop}"
    near = cards.unjudged(scene.view, positions[page], scores[page], page.start)
    note = f"of {len(collection.gallery):,} images by {collection.similarity}"
    note += "; an upload has no class, so nothing is right or wrong"
    section = CardSection("neighbours", title, near, note, "No neighbour passes the filter.")
    gallery([section], key="results", on_pick=on_pick(scene), query=panel)
    draw_page_buttons("upload", len(positions), scene.size)
