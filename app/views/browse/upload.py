"""Pictures and words of the person's own as the query."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

import lab.search
from app import upload_limit
from app.answers import refining
from app.components.gallery import Query, Section, gallery
from app.results import cache, cards, uploads
from app.results.thumbnails import thumbnail
from app.shared import background, page_frame
from app.views.browse import clicks
from app.views.browse.scene import BrowseView, page_of, turn_pages

TOGETHER = {"mean": "Mean of the pictures", "best": "Best match of any picture"}
MOST = upload_limit.KEPT
"""Pictures of one search: the server keeps no more of a session."""


def ask(scene: BrowseView) -> None:
    """Draw what is asked for and the answer."""
    run, whole = scene.run, scene.collection
    words = _ask_words(run)
    files = _ask_pictures()
    if not files and not words:
        st.info("Choose a picture above; the model embeds it and its nearest images appear here.")
        return
    files, pictures = _readable(files)
    if not pictures and not words:
        return
    refined = refining.adopt(whole, f"{run.name} {scene.split} upload")
    if len(files) == 1:
        refining.ask_part(thumbnail(pictures[0], cards.LARGE), "your picture", refined.part)
    else:
        refined = refining.Refined(refined.like, refined.unlike, None, refined.together)
    vectors = _embedded(scene, files, words, refined)
    if vectors is None:
        return
    if len(vectors) > 1:
        together = page_frame.choice(
            "Search with", list(TOGETHER), key="several", format=TOGETHER.__getitem__, link="several"
        )
        if together == "mean":
            vectors = [lab.search.mean_query(np.stack(vectors), whole.similarity == "cosine")]
    refined = refining.show(run, whole, refined)
    _answer(scene, refining.vectors(whole, refined, vectors), _query(pictures, words))


def _readable(files: Sequence[bytes]) -> tuple[list[bytes], list[Any]]:
    """The files that are pictures, with these; a sentence for each of the others."""
    good: list[bytes] = []
    pictures: list[Any] = []
    for number, data in enumerate(files, 1):
        try:
            pictures.append(uploads.picture(data))
            good.append(data)
        except ValueError as error:
            page_frame.say_error(f"Picture {number} of {len(files)}: {error}" if len(files) > 1 else error)
    return good, pictures


def _ask_words(run: cache.RunView) -> str:
    if not cache.has_text_side(run.name):
        return ""
    page_frame.keep("words", "", link="words")
    return st.text_input(
        "What to look for, in words", key="words", help="The run's encoder embeds words and pictures in one space.",
        persist_state="session",
    ).strip()  # fmt: skip


def _ask_pictures() -> list[bytes]:
    chosen = st.file_uploader(
        "A picture from your computer, or several",
        type=list(uploads.EXTENSIONS),
        accept_multiple_files=True,
        max_upload_size=uploads.MAX_MEGABYTES,
        key="upload",
        help=f"JPEG, PNG, WebP, BMP, GIF or TIFF, at most {uploads.MAX_MEGABYTES} MB and "
        f"{uploads.MAX_PIXELS / 1e6:.0f} million pixels each, {MOST} at a time; convert HEIC photos to JPEG first. "
        "They are decoded, embedded and forgotten; their file names are not read.",
    )
    listed = len(st.session_state.get("upload") or ())  # those that the server has dropped included
    latest = chosen[-MOST:]
    if listed > len(latest):
        st.caption(f"The latest {len(latest)} of {listed} pictures are used; remove some to choose others.")
    return [one.getvalue() for one in latest]


def _embedded(
    scene: BrowseView, files: Sequence[bytes], words: str, refined: refining.Refined
) -> list[np.ndarray] | None:
    """A vector for each picture and for the words; None while one is not there."""
    about = scene.run.name, scene.split, scene.run.stamp
    jobs = [
        cache.embedded(*about, hashlib.blake2b(data).hexdigest(), data, refined.part if len(files) == 1 else None)
        for data in files
    ]
    jobs += [cache.embedded_words(*about, words)] if words else []
    vectors = [job.value for job in jobs]
    waiting = next((job for job, one in zip(jobs, vectors, strict=True) if one is None), None)
    if waiting is not None:
        background.note(waiting)
        return None
    return [one for one in vectors if one is not None]


def _query(pictures: Sequence, words: str) -> Query:
    if not pictures:
        return Query("", "", words, ["your words"])
    first = cards.uploaded(pictures[0])
    if len(pictures) == 1:
        return first
    return Query(
        first.src, "the first of the uploaded pictures", f"Your {len(pictures)} pictures", ["the first is shown"]
    )


def _answer(scene: BrowseView, vectors: np.ndarray, query: Query) -> None:
    run, whole, wish = scene.run, scene.collection, scene.wish
    if not cache.searchable(run, scene.split, whole):
        return
    scores, positions = whole.ask_vectors(vectors)
    passed = wish.chosen.neighbours(whole.images, whole.gallery.items[positions])
    scores, positions = scores[passed], positions[passed]
    start, stop = page_of("upload", len(positions), wish.size)
    section = Section(
        "neighbours",
        f"Nearest {stop}" if start == 0 else f"Neighbours {start + 1} to {stop}",
        cards.unjudged(run, whole, positions[start:stop], scores[start:stop], start),
        note=f"of {len(whole.gallery):,} images by {whole.similarity}; an upload has no class, "
        "so nothing is right or wrong",
        empty="No neighbour passes the filter.",
    )
    gallery([section], key="results", on_pick=clicks.on_pick(wish.click, run, whole, None), query=query)
    turn_pages("upload", len(positions), wish.size)
