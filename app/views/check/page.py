"""Check: what neighbours say of the data: confused classes, labels that look wrong, images that come twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.components.gallery import Card, CardSection, gallery
from app.forms import knob_forms
from app.results import cache, cards, run_choice
from app.shared import address, background, page_frame, settings
from app.views.check import classes
from app.views.check.scene import ITEM, SIDE, Scene, ask_k, choose, trained_neighbours
from lab.core.files import write_text
from lab.core.results import Ranking
from lab.data._base import listed_images
from lab.inspect import data_checks
from lab.runs import Run, marks

ON_A_PAGE = 60
NOTHING = "None were found with these settings."
MOST_READ = 60_000
"""Images that are read from their files."""


@page_frame.page("Check", "Classes that are confused, labels that look wrong, and duplicate images.")
def check() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    with st.sidebar:
        titles = {part: title for part, (title, _) in PARTS.items()}
        part = page_frame.few("Show", titles, key="checked", link="show")
    page_frame.say(f"{view.run.summary} · {view.split}, {len(view.whole.query):,} images · {view.provenance}")
    if part not in ("marks", "leaks", "twice"):
        run_choice.need_classes(view)
    PARTS[part][1](Scene(view))


def _labels(scene: Scene) -> None:
    suspects = data_checks.suspects(scene.ranking(), ask_k())
    here = _part("labels", len(suspects.rows))
    found = zip(suspects.rows[here], suspects.suggested[here], suspects.confidence[here], strict=True)
    items = scene.view.whole.query.items
    images = [
        cards.card(
            scene.view, int(items[row]), value=f"confidence {sure:.2f}", subtitle=f"looks like {scene.names[label]}"
        )
        for row, label, sure in found
    ]
    note = (
        f"{len(suspects.rows):,} images with more neighbours of one other class than of their own, the surest first; "
        "click one to judge it"
    )
    _judge(scene, CardSection("suspects", "Labels that may be wrong", images, note, NOTHING))
    _turn("labels", len(suspects.rows))


def _ask_least(key: str) -> float:
    look: dict[str, Any] = {"step": 0.005, "format": "%.3f", "width": 280}
    return page_frame.slide("Minimum similarity", 0.5, 1.0, key=key, initial=0.98, link="least", **look)


def _twice(scene: Scene) -> None:
    whole = scene.view.whole
    if not whole.same_source:
        st.info("Queries and gallery of this split are different images; duplicates are looked for within one list.")
        return
    ranking = scene.ranking()
    least = _ask_least("least")
    pairs, scores = data_checks.duplicates(ranking, least if whole.similarity == "cosine" else -np.inf)
    items = whole.gallery.items[pairs.reshape(-1, 2)]
    here = _part("twice", len(items))
    found = zip(items[here].tolist(), scores[here], strict=True)
    images = [_pair(scene, one, other, score) for (one, other), score in found]
    note = f"{len(items):,} pairs, the most similar first; click one to judge its second image"
    _judge(scene, CardSection("twice", "Possible duplicates", images, note, NOTHING, "pairs"))
    _turn("twice", len(items))


def _trained(scene: Scene) -> tuple[Ranking, np.ndarray, str] | None:
    """The comparison, the training images' numbers by position, and how it was made in words; None, after a sentence
    that says so, where there is nothing to compare."""
    view = scene.view
    if view.split == "train":
        st.info("These are the training images themselves; choose another split at the left.")
        return None
    train = cache.split_view(view.run, "train") if "train" in view.run.splits else None
    trained = view.images.splits.get("train")
    if train is None and (trained is None or not len(trained)):
        st.info("It is not known which images this run was trained on, so leakage cannot be checked.")
        return None
    count = len(view.whole.query) + len(trained or ())
    if train is None and count > MOST_READ:
        st.info(
            f"The training images are not embedded, and {count:,} images are too many to be read here. Embed them: "
            f"lab evaluate {view.run.name} --split train."
        )
        return None
    ranking = background.or_wait(trained_neighbours(view, train))
    if train is not None:
        return ranking, train.whole.gallery.items, "compared by the run's embeddings"
    words = (
        f"compared as small pictures of {SIDE} x {SIDE} pixels, since the training images are not embedded "
        "(lab evaluate RUN --split train does that, and finds crops and other colours as well)"
    )
    return ranking, np.asarray(view.images.splits["train"].items), words


def _leaks(scene: Scene) -> None:
    """Images of this split that were trained on, or nearly."""
    comparison = _trained(scene)
    if comparison is None:
        return
    ranking, trained, how = comparison
    rows, positions, scores = data_checks.leaks(ranking, _ask_least("leak least"))
    split, labels, queries = scene.view.split, scene.view.images.labels, scene.view.whole.query.items
    items, partners = queries[rows], trained[positions]
    count, same = len(np.unique(rows)), len(np.unique(rows[labels[items] == labels[partners]]))
    if count:
        st.warning(
            f"Possible leakage: {count:,} of {len(queries):,} {split} images have a training image at least this "
            f"similar, {same:,} of them one of the same class. Look at the pairs: where both show the same thing, the "
            "model has seen that image in training, and its score says nothing about new images."
        )
    else:
        st.success(
            f"No leakage found: none of the {len(queries):,} {split} images is this similar to a training image."
        )
    here = _part("leaks", len(rows))
    found = zip(items[here].tolist(), partners[here].tolist(), scores[here], strict=True)
    images = [replace(_pair(scene, one, other, score), id=one) for one, other, score in found]
    note = f"left: {split}, right: train; {how}; click one to mark its {split} image"
    title = f"{split.capitalize()} images that are like a training image"
    _judge(scene, CardSection("leaks", title, images, note, NOTHING, "pairs"))
    _turn("leaks", len(rows))


def _pair(scene: Scene, one: int, other: int, score: float) -> Card:
    same = bool(scene.view.images.labels[one] == scene.view.images.labels[other])
    words = f"{'same class' if same else 'different classes'}, {score:.3f}"
    return cards.pair(scene.view, one, other, same, value=words)


def _part(about: str, count: int) -> slice:
    return page_frame.part(f"page of {about}", count, ON_A_PAGE)


def _turn(about: str, count: int) -> None:
    page_frame.turn(f"page of {about}", count, ON_A_PAGE)


def _judge(scene: Scene, section: CardSection) -> None:
    """A list of images, and what a person says of the one that was clicked."""
    folder, keys = scene.view.run.folder, scene.view.images.keys
    known = marks.read(folder)
    images = []
    for card in section.cards:
        kind = known.get(str(keys[card.id]))
        images.append(card if kind is None else replace(card, title=f"● {card.title}", subtitle=f"marked: {kind}"))
    item, query = address.follow("item", int, [one.id for one in images], key=ITEM), None
    if item is not None:
        key = str(keys[item])
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{page_frame.as_text(key)}**")
            for kind in marks.KINDS:
                _mark_button(folder, key, kind, set_now=known.get(key) == kind)
            scene.view.link("Browse this image", query=str(item))
        query = cards.query(scene.view, item, [("mark", known.get(key, "none"), "")])
    gallery([replace(section, cards=images, current=item, turns=True)], key="judged", on_pick=choose, query=query)


def _mark_button(folder: Run, key: str, kind: str, set_now: bool) -> None:
    def mark() -> None:
        with page_frame.refusals(lambda why: st.toast(f"The mark could not be saved: {why}")):
            marks.mark(folder, key, None if set_now else kind)

    help = "Removes the mark." if set_now else "Marks this image; the mark is saved with the run."
    look: dict[str, Any] = {"type": "primary" if set_now else "secondary", "help": help}
    st.button(kind.capitalize(), key=f"mark {kind}", on_click=mark, **look)


def _marked(scene: Scene) -> None:
    folder, images = scene.view.run.folder, scene.view.images
    known = marks.read(folder)
    if not known:
        st.info("Nothing is marked yet. Click an image under Label errors, Duplicates or Leakage to mark it.")
        return
    at = {str(key): item for item, key in enumerate(images.keys) if str(key) in known}
    csv = marks.as_csv(known, {key: str(scene.names[images.labels[item]]) for key, item in at.items()})
    page_frame.offer("Marks as CSV", csv, f"{folder.name}-marks.csv")
    marked = np.array(list(at.values()), np.int64)
    counts = [(name, int(np.isin(marked, split.items).sum())) for name, split in images.splits.items()]
    _offer_training(folder, known, counts)
    sections = []
    for kind in marks.KINDS:
        items = [item for key, item in at.items() if known[key] == kind]
        listed = [cards.card(scene.view, item) for item in items[: 4 * ON_A_PAGE]]
        sections.append(CardSection(kind, f"{kind.capitalize()} ({len(items):,})", listed, empty="None."))
    gallery(sections, key="marked", on_pick=choose)


def _offer_training(run: Run, known: dict[str, str], counts: Sequence[tuple[str, int]]) -> None:
    """The button to train again without the marked images, where the run's data set can leave images out.

    Args:
        known: image to mark. counts: split to how many of its images are marked.
    """
    if run.config.data.outside or "leave_out" not in run.config.data.values:
        return
    by_split = ", ".join(f"{count:,} in {split}" for split, count in counts if count) or "none of them is in a split"
    help = (
        "Fills the form of the Train page with this run's settings. The marked images are then neither trained on "
        f"nor tested on ({by_split}), so its scores are of fewer images."
    )
    pressed = st.button("Train again without them", icon=":material/replay:", type="primary", help=help)
    with page_frame.refusals():
        if pressed:
            knob_forms.fill(run.config.changed("data.leave_out", str(_left_out(run, known))))
            st.session_state["preset"] = st.session_state["recipe"] = None
            st.switch_page("views/train/page.py")


def _left_out(run: Run, known: dict[str, str]) -> Path:
    """The table of the marked images and of those that the run left out."""
    before = run.config.data.values["leave_out"]
    listed = [] if before is None else listed_images(Path(before).expanduser())
    text = marks.as_csv(dict.fromkeys(listed, "left out before") | known, {})
    name = f"{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}.csv"
    path = settings.runs_root() / settings.LEFT_OUT / name
    if not path.is_file():
        write_text(path, text)
    return path


PARTS = {
    "pairs": ("Confused classes", classes.confused),
    "classes": ("Scores of classes", classes.scores),
    "slices": ("Slices", classes.slices),
    "labels": ("Label errors", _labels),
    "twice": ("Duplicates", _twice),
    "leaks": ("Leakage", _leaks),
    "marks": ("Marked images", _marked),
}

check()
