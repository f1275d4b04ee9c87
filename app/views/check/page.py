"""Check: what neighbours say of the data: confused classes, labels that look wrong, images that come twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

import lab.runs
from app import origin
from app.components.gallery import Card, Section, gallery
from app.results import cache, cards, run_choice
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import address, background, page_frame
from app.views.check import again, classes, leaks, slices, to_browse
from app.views.check.neighbours import ask_k, neighbours
from lab.core.explain import explain
from lab.core.results import Ranking
from lab.inspect import data_checks
from lab.runs import Run, marks

PARTS = {
    "pairs": "Confused classes",
    "classes": "Scores of classes",
    "slices": "Slices",
    "labels": "Label errors",
    "twice": "Duplicates",
    "leaks": "Leakage",
    "marks": "Marked images",
}
ON_A_PAGE = 60


@page_frame.page("Check", "Classes that are confused, labels that look wrong, and duplicate images.")
def check() -> None:
    run = run_choice.choose_run()
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format=str.capitalize, link="split")
        part = page_frame.few("Show", list(PARTS), key="checked", format=PARTS.__getitem__, link="show")
    whole = cache.collection(run.name, split, run.stamp)
    about = f"{run.summary} · {split}, {len(whole.query):,} images · {origin.words(run.name, split)}"
    st.caption(page_frame.as_text(about))
    if part == "marks":
        _marked(run, whole)
        return
    if part == "leaks":
        _leaks(run, split, whole)
        return
    if part != "twice":
        run_choice.need_classes(whole)
    if part in ("classes", "slices"):
        {"classes": classes.scores, "slices": slices.panel}[part](run, split, whole)
        return
    if part == "twice" and not whole.same_source:
        st.info("Queries and gallery of this split are different images; duplicates are looked for within one list.")
        return
    ranking = background.or_wait(neighbours(run.name, split, run.stamp, whole))
    {"pairs": classes.confused, "labels": _labels, "twice": _twice}[part](run, split, whole, ranking)


def _labels(run: RunView, split: str, whole: Collection, ranking: Ranking) -> None:
    suspects = data_checks.suspects(ranking, ask_k())
    names = whole.images.class_names
    images = [
        replace(
            cards.plain(run, whole, int(whole.query.items[row])),
            value=f"confidence {sure:.2f}",
            subtitle=f"looks like {names[label]}",
        )
        for row, label, sure in zip(
            *_part("labels", suspects.rows, suspects.suggested, suspects.confidence), strict=True
        )
    ]
    note = (
        f"{len(suspects.rows):,} images with more neighbours of one other class than of their own, the surest first; "
        "click one to judge it"
    )
    _judge(run, split, whole, Section("suspects", "Labels that may be wrong", images, note, NOTHING))
    _turn("labels", len(suspects.rows))


def _twice(run: RunView, split: str, whole: Collection, ranking: Ranking) -> None:
    page_frame.keep("least", 0.98, lambda value: 0.5 <= value <= 1, link="least")
    least = st.slider("Minimum similarity", 0.5, 1.0, step=0.005, format="%.3f", key="least", width=280)
    pairs, scores = data_checks.duplicates(ranking, least if whole.similarity == "cosine" else -np.inf)
    items = whole.gallery.items[pairs] if len(pairs) else np.zeros((0, 2), np.int64)
    labels = whole.gallery.labels[pairs] if len(pairs) else items
    images = [
        _pair(run, whole, int(one), int(other), bool(left == right), float(score))
        for (one, other), (left, right), score in zip(*_part("twice", items, labels, scores), strict=True)
    ]
    note = f"{len(items):,} pairs, the most similar first; click one to judge its second image"
    _judge(run, split, whole, Section("twice", "Possible duplicates", images, note, NOTHING, size="pairs"))
    _turn("twice", len(items))


def _leaks(run: RunView, split: str, whole: Collection) -> None:
    """Images of this split that were trained on, or nearly."""
    comparison = leaks.ranking(run, split, whole)
    if comparison is None:
        return
    ranking, trained, how = comparison
    page_frame.keep("leak least", 0.98, lambda value: 0.5 <= value <= 1, link="least")
    least = st.slider("Minimum similarity", 0.5, 1.0, step=0.005, format="%.3f", key="leak least", width=280)
    rows, positions, scores = data_checks.leaks(ranking, least)
    count, items = len(np.unique(rows)), whole.query.items[rows]
    labels = whole.images.labels
    same = len(np.unique(rows[labels[items] == labels[trained[positions]]]))
    if count:
        st.warning(
            f"Possible leakage: {count:,} of {len(whole.query):,} {split} images have a training image at least this "
            f"similar, {same:,} of them one of the same class. Look at the pairs: where both show the same thing, the "
            "model has seen that image in training, and its score says nothing about new images."
        )
    else:
        st.success(
            f"No leakage found: none of the {len(whole.query):,} {split} images is this similar to a training image."
        )
    images = [
        replace(_pair(run, whole, int(one), int(other), bool(labels[one] == labels[other]), float(score)), id=int(one))
        for one, other, score in zip(*_part("leaks", items, trained[positions], scores), strict=True)
    ]
    note = f"left: {split}, right: train; {how}; click one to mark its {split} image"
    section = Section(
        "leaks", f"{split.capitalize()} images that are like a training image", images, note, NOTHING, size="pairs"
    )
    _judge(run, split, whole, section)
    _turn("leaks", len(rows))


NOTHING = "None were found with these settings."


def _pair(run: RunView, whole: Collection, one: int, other: int, same: bool, score: float) -> Card:
    names = [cards.class_name(whole, item) for item in (one, other)]
    title = names[0] if same else " · ".join(names)
    source = cache.pair_thumbnail(run.name, run.stamp, one, other)
    likeness = f"{'same class' if same else 'different classes'}, {score:.3f}"
    return Card(other, source, title, title, value=likeness)


def _part(about: str, *columns: np.ndarray) -> list[np.ndarray]:
    """The rows of this page of a list."""
    pages = max(1, -(-len(columns[0]) // ON_A_PAGE))
    page_frame.keep(f"page of {about}", 1, range(1, pages + 1), link="page")
    start = (st.session_state[f"page of {about}"] - 1) * ON_A_PAGE
    return [column[start : start + ON_A_PAGE] for column in columns]


def _turn(about: str, count: int) -> None:
    if count > ON_A_PAGE:
        st.pagination(-(-count // ON_A_PAGE), key=f"page of {about}")


def _judge(run: RunView, split: str, whole: Collection, section: Section) -> None:
    """A list of images, and what a person says of the one that was clicked."""
    folder = lab.runs.open(cache.run_path(run.name))
    known = marks.read(folder)
    keys = whole.images.keys
    images = [_with_mark(one, known.get(str(keys[one.id]))) for one in section.cards]
    offered = [one.id for one in images]
    address.adopt("item", int, offered, key=to_browse.ITEM, default=None)
    item = st.session_state.get(to_browse.ITEM)
    item = item if item in offered else None
    address.tell("item", item)
    if item is not None:
        _mark_form(run, split, folder, str(keys[item]), item, known)
    query = None if item is None else cards.query(run, whole, item, [("mark", known.get(str(keys[item]), "none"), "")])
    gallery(
        [replace(section, cards=images, current=item, turns=True)], key="judged", on_pick=to_browse.choose, query=query
    )


def _with_mark(card: Card, kind: str | None) -> Card:
    return card if kind is None else replace(card, title=f"● {card.title}", subtitle=f"marked: {kind}")


def _mark_form(run: RunView, split: str, folder: Run, key: str, item: int, known: dict[str, str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{page_frame.as_text(key)}**")
        for kind in marks.KINDS:
            set_now = known.get(key) == kind
            st.button(
                kind.capitalize(), key=f"mark {kind}", type="primary" if set_now else "secondary",
                on_click=_mark, args=(folder, key, None if set_now else kind),
                help="Removes the mark." if set_now else "Marks this image; the mark is saved with the run.",
            )  # fmt: skip
        to_browse.link(run, split, item)


def _mark(folder: Run, key: str, kind: str | None) -> None:
    try:
        marks.mark(folder, key, kind)
    except (ValueError, OSError) as error:
        st.toast(page_frame.as_text(f"The mark could not be saved: {explain(error)}"))


def _marked(run: RunView, whole: Collection) -> None:
    folder = lab.runs.open(cache.run_path(run.name))
    known = marks.read(folder)
    if not known:
        st.info("Nothing is marked yet. Click an image under Label errors, Duplicates or Leakage to mark it.")
        return
    st.download_button(
        "Marks as CSV", marks.as_csv(known, _class_of(whole, list(known))), f"{run.name}-marks.csv", "text/csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    at = {str(key): item for item, key in enumerate(whole.images.keys) if str(key) in known}
    marked = np.array(list(at.values()), np.int64)
    counts = [(name, int(np.isin(marked, split.items).sum())) for name, split in whole.images.splits.items()]
    again.offer(folder, known, counts)
    sections = []
    for kind in marks.KINDS:
        items = [item for key, item in at.items() if known[key] == kind]
        images = [cards.plain(run, whole, item) for item in items[: 4 * ON_A_PAGE]]
        sections.append(Section(kind, f"{kind.capitalize()} ({len(items):,})", images, empty="None."))
    gallery(sections, key="marked", on_pick=to_browse.choose)


def _class_of(whole: Collection, keys: Sequence[str]) -> dict[str, str]:
    wanted = set(keys)
    names, labels = whole.images.class_names, whole.images.labels
    return {str(key): str(names[labels[at]]) for at, key in enumerate(whole.images.keys) if str(key) in wanted}


check()
