"""Check: problems of the data set: confused classes, labels that look wrong, duplicate images."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from app.components.gallery import Card, CardSection, gallery
from app.results import cache, cards, run_choice, selection
from app.results.cache import RunView
from app.shared import background, page_frame
from app.views.check import classes
from app.views.check.judging import ON_A_PAGE, Doubts, apart, judge, splits_of, undo_button
from app.views.check.scene import CheckScene, alike, choose, effect
from lab.core.formats import counted
from lab.core.results import OTHER, compared
from lab.inspect.label_errors import LabelErrors
from lab.report import same_queries
from lab.runs import marks
from lab.runs.marks import Mark

# Number of images for which the page estimates the number of errors.
FIRST = 10
# Of a pair in two splits, the image of the later split is judged, because the scores are measured on it.
ORDER = {"train": 0, "validation": 1, "test": 2}
# Headings of the answers. Those that change a training come first.
TITLES = {
    "relabel": "Of another class",
    "drop": "Dropped",
    "duplicate": "Duplicates",
    "keep": "Kept",
}
# Most images of a list of marked images.
MOST = 4 * ON_A_PAGE


@page_frame.page(
    "Check", "Classes that are confused, labels that look wrong, and duplicate images."
)
def check() -> None:
    run = run_choice.choose_run(moments=True)
    with st.sidebar:
        titles = {part: title for part, (title, _) in {**SPLIT_PARTS, **DATA_PARTS}.items()}
        part = page_frame.radio("Show", titles, key="checked", link="show")
    if part in SPLIT_PARTS:
        view = run_choice.choose_split(run, moments=True)
        page_frame.say(
            f"{run.summary} · {view.split}, {len(view.collection.query):,} images · {view.provenance}"
        )
        run_choice.say_left_out(view)
        run_choice.need_classes(view)
        SPLIT_PARTS[part][1](CheckScene(view))
    else:
        view = cache.any_view(run)
        page_frame.say(f"{run.summary} · all {len(view.images):,} images of all splits")
        selection.bar(view.run)
        before = same_queries.predecessor(run.folder, run_choice.library().runs)
        if before and view.split in before.splits:
            improvement = background.if_ready(effect(view, before.name, before))
            if improvement:
                st.info(
                    page_frame.as_text(
                        f"{run.name} repeats {before.name} with corrections. {improvement}"
                    )
                )
        DATA_PARTS[part][1](CheckScene(view))


def _labels(scene: CheckScene) -> None:
    """Draw the labels that are probably wrong, the most likely errors first."""
    run_choice.need_classes(scene.view)
    features = scene.features()
    errors = background.or_wait(cache.label_errors(scene.view, features))
    items = features.items[errors.rows]
    note = "the most likely errors first"
    probabilities = np.full(len(items), np.nan)
    if errors.counted:
        probabilities = errors.probability
        note += "; the percentage says how likely the label is wrong"
    st.markdown(
        f"**{_expected(errors)}** Two classes that are taken for each other are under Confused classes."
    )
    if len(items):
        no_pairs = np.full(len(items), -1)
        doubts = Doubts(items, errors.suggested, no_pairs, probabilities, splits_of(scene, items))
        judge(scene, doubts, CardSection("labels", "Labels that may be wrong", [], note))


def _expected(errors: LabelErrors) -> str:
    """Return a sentence with the estimated number of wrong labels."""
    count = len(errors.rows)
    if not count:
        return "No label looks wrong."
    first = min(FIRST, count)
    wrong_of_first = errors.expected(first)
    wrong_of_all = errors.expected(count)
    if wrong_of_first is None or wrong_of_all is None:
        if errors.several_kinds:
            reason = (
                f"the nearest image predicts the label as well ({errors.nearest:.0%}) as a classifier of whole classes "
                f"does ({errors.accuracy:.0%}). A class may hold several kinds of things, and a right label of a rare "
                "kind then looks wrong."
            )
        else:
            reason = (
                f"a classifier that has not seen an image predicts its label in only {errors.accuracy:.0%} of all "
                "cases. Either very many labels are wrong, or the pictures do not show what the classes mean."
            )
        return (
            f"The number of errors among these {count:,} cannot be estimated: {reason} The likeliest errors come first "
            "all the same."
        )
    subject = f"the first {first}" if count > first else f"these {first}"
    sentence = f"Few or none of {subject} are errors"
    if round(wrong_of_first):
        sentence = f"About {round(wrong_of_first)} of {subject} are errors"
    if count > first and round(wrong_of_all):
        sentence += f", and about {round(wrong_of_all):,} of all {count:,} listed"
    return f"{sentence}."


def _duplicates(scene: CheckScene) -> None:
    """Draw pairs of nearly equal images."""
    doubts = _pairs(scene)
    st.markdown(f"**{counted(len(doubts), 'image')} may repeat another image.**")
    note = "the most similar first; of each pair the left image is judged"
    judge(scene, doubts, CardSection("twice", "Possible duplicates", [], note, size="pairs"))


def _leaks(scene: CheckScene) -> None:
    """Draw pairs of nearly equal images in different splits."""
    doubts = _pairs(scene, across=True)
    if len(doubts):
        st.warning(
            f"Possible leakage: {counted(len(doubts), 'image')} may be in another split, too. Look at the pairs: if "
            "both show the same object and one is for training, the model has seen that image, and its score says "
            "nothing about new images."
        )
    else:
        st.success("No leakage found: no image is this similar to one of another split.")
    note = "of each pair the left image is judged, the one that scores are measured on"
    judge(
        scene, doubts, CardSection("leaks", "Images that are in two splits", [], note, size="pairs")
    )


def _pairs(scene: CheckScene, across: bool = False) -> Doubts:
    """Return every image that is similar to another image, with its most similar one. The most similar pair is first.

    across: only pairs in different splits.
    """
    kwargs: dict[str, Any] = {"step": 0.005, "format": "%.3f", "width": 280}
    least = page_frame.slider(
        "Minimum similarity", 0.8, 1.0, key="least", initial=0.98, link="least", **kwargs
    )

    # Find similar pairs; with `across`, only those in different splits.
    features = scene.features()
    rows, similarities = background.or_wait(alike(scene.view, least, features))
    pairs = features.items[rows]
    splits = splits_of(scene, pairs.reshape(-1)).reshape(-1, 2)
    if across:
        is_across = splits[:, 0] != splits[:, 1]
        pairs = pairs[is_across]
        similarities = similarities[is_across]
        splits = splits[is_across]

    # Put the image to judge second: that of the later split, or else the one with the higher item number.
    order = np.array([ORDER.get(split, -1) for split in splits.reshape(-1)], int).reshape(-1, 2)
    is_same_order = order[:, 0] == order[:, 1]
    swapped = (order[:, 0] > order[:, 1]) | (is_same_order & (pairs[:, 0] > pairs[:, 1]))
    pairs[swapped] = pairs[swapped, ::-1]
    splits[swapped] = splits[swapped, ::-1]

    # Keep the first, most similar pair of each image to judge.
    best = np.sort(np.unique(pairs[:, 1], return_index=True)[1])
    others, items = pairs[best].T
    where = []
    for first, second in splits[best]:
        where.append(first if first == second else f"{first} and {second}")
    labels = scene.view.images.labels
    suggested = np.where(compared(labels[items], labels[others]) == OTHER, labels[others], -1)
    return Doubts(items, suggested, others, similarities[best], np.array(where, object))


def _marked(scene: CheckScene) -> None:
    """Draw the marked images, and what can be done with the marks."""
    view = scene.view
    images = view.images
    answered = {item: mark for item, mark in selection.marks_of(view.run).items() if mark.answer}
    if not answered:
        st.info("Nothing is marked yet. Judge images under Label errors, Duplicates or Leakage.")
        undo_button(scene)
        return
    st.markdown(f"**{marks.where(images, answered)}.**")
    with st.container(horizontal=True):
        undo_button(scene)
        page_frame.download(
            "Marks as CSV", lambda: marks.as_table(images, sorted(answered), answered), "marks.csv"
        )
        if images.root is not None and images.pixels is None:
            help = "The corrected data set as a table, which the data set “manifest” reads."
            page_frame.download(
                "Corrected images",
                lambda: marks.as_manifest(images, answered),
                "corrected.csv",
                help=help,
            )
    _draw_training(view.run, answered)
    sections = []
    for answer, title in TITLES.items():
        items = [item for item, mark in answered.items() if mark.answer == answer]
        if items:
            listed = [_card(scene, item, answered[item]) for item in items[:MOST]]
            sections.append(CardSection(answer, f"{title} ({len(items):,})", listed, size="whole"))
    gallery(
        sections,
        key="marked",
        on_pick=choose,
        selected=selection.read(view.run).tolist(),
        on_select=selection.chooser(view.run, answered),
    )


def _card(scene: CheckScene, item: int, mark: Mark) -> Card:
    words = ""
    if mark.label:
        words = f"is {apart(mark.label, cards.image_title(scene.view.images, item))}"
    elif mark.of:
        words = f"repeats {mark.of}"
    split = str(splits_of(scene, np.array([item]))[0])
    return cards.card(scene.view, item, value=split, subtitle=words)


def _draw_training(run: RunView, answered: Mapping[int, Mark]) -> None:
    """Draw the button that trains again with the corrections, if the run's data set accepts them."""
    data = run.folder.config.data
    if data.outside or "corrections" not in data.values:
        return
    st.caption(
        "Corrected training images change the training. Corrected validation and test images change what is measured, "
        "for this run as well as for the new one: the two are compared on the same corrected images."
    )
    if st.button(
        "Train again with these corrections", icon=":material/replay:", type="primary", help=TRAIN
    ):
        with page_frame.refusals():
            selection.train_with(run, answered)


TRAIN = (
    "Fills the form of the Train page with this run's settings. Dropped images and duplicates are neither trained on "
    "nor tested on; relabelled images have their new class."
)
# Parts of the page about one split, and parts about all images. (Streamlit would show a docstring here on the page.)
SPLIT_PARTS = {
    "pairs": ("Confused classes", classes.confused),
    "slices": ("Scores of classes and slices", classes.slices),
}
DATA_PARTS = {
    "labels": ("Label errors", _labels),
    "twice": ("Duplicates", _duplicates),
    "leaks": ("Leakage", _leaks),
    "marks": ("Marked images", _marked),
}

check()
