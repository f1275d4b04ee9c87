"""Check: what neighbours say of the data: confused classes, labels that look wrong, images that come twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

import lab.runs
from app.components.gallery import Card, Section, gallery
from app.forms import knob_forms
from app.results import cache, cards, run_choice
from app.shared import address, background, page_frame, settings
from app.views.check import classes
from app.views.check.scene import ITEM, SIDE, Scene, ask_k, choose, trained_neighbours
from lab.core.explain import explain
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
    run = run_choice.choose_run()
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format=str.capitalize, link="split")
        part = page_frame.few("Show", list(PARTS), key="checked", format=lambda one: PARTS[one][0], link="show")
    scene = Scene(run, split, cache.collection(run.name, split, run.stamp))
    about = f"{run.summary} · {split}, {len(scene.whole.query):,} images · {cache.provenance(run.name, split)}"
    st.caption(page_frame.as_text(about))
    if part not in ("marks", "leaks", "twice"):
        run_choice.need_classes(scene.whole)
    PARTS[part][1](scene)


def _labels(scene: Scene) -> None:
    ranking = scene.ranking()
    suspects = data_checks.suspects(ranking, ask_k())
    images = [
        replace(
            cards.plain(scene.run, scene.whole, int(scene.whole.query.items[row]), f"confidence {sure:.2f}"),
            subtitle=f"looks like {scene.names[label]}",
        )
        for row, label, sure in zip(
            *_part("labels", suspects.rows, suspects.suggested, suspects.confidence), strict=True
        )
    ]
    note = (
        f"{len(suspects.rows):,} images with more neighbours of one other class than of their own, the surest first; "
        "click one to judge it"
    )
    _judge(scene, Section("suspects", "Labels that may be wrong", images, note, NOTHING))
    _turn("labels", len(suspects.rows))


def _ask_least(key: str) -> float:
    page_frame.keep(key, 0.98, lambda value: 0.5 <= value <= 1, link="least")
    return st.slider("Minimum similarity", 0.5, 1.0, step=0.005, format="%.3f", key=key, width=280)


def _twice(scene: Scene) -> None:
    whole = scene.whole
    if not whole.same_source:
        st.info("Queries and gallery of this split are different images; duplicates are looked for within one list.")
        return
    ranking = scene.ranking()
    least = _ask_least("least")
    pairs, scores = data_checks.duplicates(ranking, least if whole.similarity == "cosine" else -np.inf)
    pairs = pairs.reshape(-1, 2)
    items, labels = whole.gallery.items[pairs], whole.gallery.labels[pairs]
    images = [
        _pair(scene, int(one), int(other), bool(left == right), float(score))
        for (one, other), (left, right), score in zip(*_part("twice", items, labels, scores), strict=True)
    ]
    note = f"{len(items):,} pairs, the most similar first; click one to judge its second image"
    _judge(scene, Section("twice", "Possible duplicates", images, note, NOTHING, size="pairs"))
    _turn("twice", len(items))


def _trained(scene: Scene) -> tuple[Ranking, np.ndarray, str] | None:
    """The comparison, the training images' numbers by position, and how it was made in words; None, after a sentence
    that says so, where there is nothing to compare."""
    run, whole = scene.run, scene.whole
    if scene.split == "train":
        st.info("These are the training images themselves; choose another split at the left.")
        return None
    train = cache.collection(run.name, "train", run.stamp) if "train" in run.splits else None
    trained = whole.images.splits.get("train")
    if train is None and (trained is None or not len(trained)):
        st.info("It is not known which images this run was trained on, so leakage cannot be checked.")
        return None
    count = len(whole.query) + len(trained or ())
    if train is None and count > MOST_READ:
        st.info(
            f"The training images are not embedded, and {count:,} images are too many to be read here. Embed them: "
            f"lab evaluate {run.name} --split train."
        )
        return None
    ranking = background.or_wait(trained_neighbours(run.name, scene.split, run.stamp, whole, train))
    if train is not None:
        return ranking, train.gallery.items, "compared by the run's embeddings"
    words = (
        f"compared as small pictures of {SIDE} x {SIDE} pixels, since the training images are not embedded "
        "(lab evaluate RUN --split train does that, and finds crops and other colours as well)"
    )
    return ranking, np.asarray(whole.images.splits["train"].items), words


def _leaks(scene: Scene) -> None:
    """Images of this split that were trained on, or nearly."""
    comparison = _trained(scene)
    if comparison is None:
        return
    ranking, trained, how = comparison
    least = _ask_least("leak least")
    rows, positions, scores = data_checks.leaks(ranking, least)
    split, labels = scene.split, scene.whole.images.labels
    count, total, items = len(np.unique(rows)), len(scene.whole.query), scene.whole.query.items[rows]
    same = len(np.unique(rows[labels[items] == labels[trained[positions]]]))
    if count:
        st.warning(
            f"Possible leakage: {count:,} of {total:,} {split} images have a training image at least this "
            f"similar, {same:,} of them one of the same class. Look at the pairs: where both show the same thing, the "
            "model has seen that image in training, and its score says nothing about new images."
        )
    else:
        st.success(f"No leakage found: none of the {total:,} {split} images is this similar to a training image.")
    images = [
        replace(_pair(scene, int(one), int(other), bool(labels[one] == labels[other]), float(score)), id=int(one))
        for one, other, score in zip(*_part("leaks", items, trained[positions], scores), strict=True)
    ]
    note = f"left: {split}, right: train; {how}; click one to mark its {split} image"
    title = f"{split.capitalize()} images that are like a training image"
    _judge(scene, Section("leaks", title, images, note, NOTHING, size="pairs"))
    _turn("leaks", len(rows))


def _pair(scene: Scene, one: int, other: int, same: bool, score: float) -> Card:
    names = [cards.class_name(scene.whole, item) for item in (one, other)]
    title = names[0] if same else " · ".join(names)
    source = cache.pair_thumbnail(scene.run.name, scene.run.stamp, one, other)
    return Card(other, source, title, title, value=f"{'same class' if same else 'different classes'}, {score:.3f}")


def _part(about: str, *columns: np.ndarray) -> list[np.ndarray]:
    """The rows of this page of a list."""
    pages = max(1, -(-len(columns[0]) // ON_A_PAGE))
    page_frame.keep(f"page of {about}", 1, range(1, pages + 1), link="page")
    start = (st.session_state[f"page of {about}"] - 1) * ON_A_PAGE
    return [column[start : start + ON_A_PAGE] for column in columns]


def _turn(about: str, count: int) -> None:
    if count > ON_A_PAGE:
        st.pagination(-(-count // ON_A_PAGE), key=f"page of {about}")


def _judge(scene: Scene, section: Section) -> None:
    """A list of images, and what a person says of the one that was clicked."""
    folder, keys = lab.runs.open(cache.run_path(scene.run.name)), scene.whole.images.keys
    known = marks.read(folder)
    images = []
    for card in section.cards:
        kind = known.get(str(keys[card.id]))
        images.append(card if kind is None else replace(card, title=f"● {card.title}", subtitle=f"marked: {kind}"))
    offered = [one.id for one in images]
    address.adopt("item", int, offered, key=ITEM, default=None)
    item = st.session_state.get(ITEM)
    item = item if item in offered else None
    address.tell("item", item)
    query = None
    if item is not None:
        key = str(keys[item])
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{page_frame.as_text(key)}**")
            for kind in marks.KINDS:
                _mark_button(folder, key, kind, set_now=known.get(key) == kind)
            scene.link("Browse this image", query=str(item))
        query = cards.query(scene.run, scene.whole, item, [("mark", known.get(key, "none"), "")])
    gallery([replace(section, cards=images, current=item, turns=True)], key="judged", on_pick=choose, query=query)


def _mark_button(folder: Run, key: str, kind: str, set_now: bool) -> None:
    def mark() -> None:
        try:
            marks.mark(folder, key, None if set_now else kind)
        except (ValueError, OSError) as error:
            st.toast(page_frame.as_text(f"The mark could not be saved: {explain(error)}"))

    st.button(
        kind.capitalize(), key=f"mark {kind}", type="primary" if set_now else "secondary", on_click=mark,
        help="Removes the mark." if set_now else "Marks this image; the mark is saved with the run.",
    )  # fmt: skip


def _marked(scene: Scene) -> None:
    folder, images = lab.runs.open(cache.run_path(scene.run.name)), scene.whole.images
    known = marks.read(folder)
    if not known:
        st.info("Nothing is marked yet. Click an image under Label errors, Duplicates or Leakage to mark it.")
        return
    at = {str(key): item for item, key in enumerate(images.keys) if str(key) in known}
    names = {key: str(scene.names[images.labels[item]]) for key, item in at.items()}
    st.download_button(
        "Marks as CSV", marks.as_csv(known, names), f"{scene.run.name}-marks.csv", "text/csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    marked = np.array(list(at.values()), np.int64)
    counts = [(name, int(np.isin(marked, split.items).sum())) for name, split in images.splits.items()]
    _offer_training(folder, known, counts)
    sections = []
    for kind in marks.KINDS:
        items = [item for key, item in at.items() if known[key] == kind]
        listed = [cards.plain(scene.run, scene.whole, item) for item in items[: 4 * ON_A_PAGE]]
        sections.append(Section(kind, f"{kind.capitalize()} ({len(items):,})", listed, empty="None."))
    gallery(sections, key="marked", on_pick=choose)


def _offer_training(run: Run, known: dict[str, str], counts: Sequence[tuple[str, int]]) -> None:
    """The button to train again without the marked images, where the run's data set can leave images out.

    Args:
        known: image to mark. counts: split to how many of its images are marked.
    """
    data = run.config.data
    if data.outside or "leave_out" not in data.values:
        return
    by_split = ", ".join(f"{count:,} in {split}" for split, count in counts if count)
    if st.button(
        "Train again without them", icon=":material/replay:", type="primary",
        help="Fills the form of the Train page with this run's settings. The marked images are then neither trained on "
        f"nor tested on ({by_split or 'none of them is in a split'}), so its scores are of fewer images.",
    ):  # fmt: skip
        before, left = data.values["leave_out"], dict[str, str]()
        try:
            if before is not None:
                left = dict.fromkeys(listed_images(Path(before).expanduser()), "left out before")
            text = marks.as_csv(left | known, {})
            name = f"{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}.csv"
            path = settings.runs_root() / settings.LEFT_OUT / name
            if not path.is_file():
                write_text(path, text)
            knob_forms.fill(run.config.changed("data.leave_out", str(path)))
        except (ValueError, OSError) as error:
            page_frame.say_error(error)
            return
        st.session_state["preset"] = st.session_state["recipe"] = None
        st.switch_page("views/train/page.py")


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
