"""Check: what neighbours say of the data: confused classes, labels that look wrong, images that come twice."""

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
from app.views.check.scene import Scene, alike, choose, effect
from lab.core.formats import counted
from lab.core.results import OTHER, compared
from lab.inspect.label_errors import LabelErrors
from lab.report import same_queries
from lab.runs import marks
from lab.runs.marks import Mark

# Images of which it is said how many are wrong.
FIRST = 10
# Of a pair in two splits, the image of the later one is judged: it is what the scores are measured on.
ORDER = {"train": 0, "validation": 1, "test": 2}
# Answers, the ones that change a training first, and the headings of their lists; and the images that one shows.
TITLES = {"relabel": "Of another class", "drop": "Dropped", "duplicate": "Duplicates", "keep": "Kept"}
MOST = 4 * ON_A_PAGE


@page_frame.page("Check", "Classes that are confused, labels that look wrong, and duplicate images.")
def check() -> None:
    run = run_choice.choose_run(moments=True)
    with st.sidebar:
        titles = {part: title for part, (title, _) in (PARTS | WHOLE).items()}
        part = page_frame.radio("Show", titles, key="checked", link="show")
    if part in PARTS:
        view = run_choice.choose_split(run, moments=True)
        page_frame.say(f"{run.summary} · {view.split}, {len(view.collection.query):,} images · {view.provenance}")
        run_choice.say_left_out(view)
        run_choice.need_classes(view)
        PARTS[part][1](Scene(view))
    else:
        view = cache.any_view(run)
        page_frame.say(f"{run.summary} · all {len(view.images):,} images, whatever their split")
        selection.bar(view.run)
        before = same_queries.predecessor(run.folder, run_choice.library().runs)
        if before and view.split in before.splits:
            gained = background.if_ready(effect(view, before.name, before))
            if gained:
                st.info(page_frame.as_text(f"{run.name} repeats {before.name} with corrections. {gained}"))
        WHOLE[part][1](Scene(view))


def _labels(scene: Scene) -> None:
    """Labels that are probably wrong, the surest first."""
    run_choice.need_classes(scene.view)
    whole = scene.whole()
    found = background.or_wait(cache.label_errors(scene.view, whole))
    items = whole.items[found.rows]
    likely = found.probability if found.counted else np.full(len(items), np.nan)
    doubts = Doubts(items, found.suggested, 0 * items - 1, likely, splits_of(scene, items))
    st.markdown(f"**{_expected(found)}** Two classes that are taken for each other are under Confused classes.")
    if not len(found.rows):
        return
    note = "the surest first"
    if found.counted:
        note += "; the percentage says how likely the label is wrong"
    judge(scene, doubts, CardSection("labels", "Labels that may be wrong", [], note))


def _expected(found: LabelErrors) -> str:
    """How many of the listed labels are wrong, in a sentence."""
    count, first = len(found.rows), min(FIRST, len(found.rows))
    if not count:
        return "No label looks wrong."
    of_first, of_all = found.expected(first), found.expected(count)
    if of_first is None or of_all is None:
        return (
            f"How many of these {count:,} are errors cannot be told: a classifier that has not seen an image names its "
            f"label in {found.accuracy:.0%} of all cases only."
        )
    errors, all_of_them = round(of_first), round(of_all)
    which = f"the first {first}" if count > first else f"these {first}"
    sentence = f"About {errors} of {which} are errors" if errors else f"Few or none of {which} are errors"
    return f"{sentence}, and about {all_of_them:,} of all {count:,} listed." if count > first else f"{sentence}."


def _twice(scene: Scene) -> None:
    """Pairs of images that are nearly the same, in any splits."""
    doubts = _pairs(scene)
    st.markdown(f"**{counted(len(doubts), 'image')} may repeat another one.**")
    note = "the most similar first; of each pair the image at the left is judged"
    judge(scene, doubts, CardSection("twice", "Possible duplicates", [], note, size="pairs"))


def _leaks(scene: Scene) -> None:
    """Pairs of images that are nearly the same and in two splits."""
    doubts = _pairs(scene, across=True)
    if len(doubts):
        st.warning(
            f"Possible leakage: {counted(len(doubts), 'image')} may be in another split, too. Look at the pairs: where "
            "both show the same thing and one is for training, the model has seen that image, and its score says "
            "nothing about new images."
        )
    else:
        st.success("No leakage found: no image is this similar to one of another split.")
    note = "of each pair the image at the left is judged, which is the one that scores are measured on"
    judge(scene, doubts, CardSection("leaks", "Images that are in two splits", [], note, size="pairs"))


def _pairs(scene: Scene, across: bool = False) -> Doubts:
    """Every image that is at least so similar to another one, with the most similar, the most similar pair first.
    across: only pairs in two splits."""
    look: dict[str, Any] = {"step": 0.005, "format": "%.3f", "width": 280}
    least = page_frame.slider("Minimum similarity", 0.8, 1.0, key="least", initial=0.98, link="least", **look)
    whole = scene.whole()
    rows, similarities = background.or_wait(alike(scene.view, least, whole))
    pairs = whole.items[rows]
    splits = splits_of(scene, pairs.reshape(-1)).reshape(-1, 2)
    kept = (splits[:, 0] != splits[:, 1]) | (not across)
    pairs, similarities, splits = pairs[kept], similarities[kept], splits[kept]
    first, second = (np.array([ORDER.get(one, -1) for one in side], int) for side in splits.T)
    turned = (first > second) | ((first == second) & (pairs[:, 0] > pairs[:, 1]))
    pairs[turned], splits[turned] = pairs[turned, ::-1], splits[turned, ::-1]
    best = np.sort(np.unique(pairs[:, 1], return_index=True)[1])
    others, items = pairs[best].T
    where = np.array([a if a == b else f"{a} and {b}" for a, b in splits[best]], object)
    given = scene.view.images.labels
    suggested = np.where(compared(given[items], given[others]) == OTHER, given[others], -1)
    return Doubts(items, suggested, others, similarities[best], where)


def _marked(scene: Scene) -> None:
    """Everything that was answered, and what can be done with it."""
    view, images = scene.view, scene.view.images
    known = {item: mark for item, mark in selection.marks_of(view.run).items() if mark.answer}
    if not known:
        st.info("Nothing is marked yet. Judge images under Label errors, Duplicates or Leakage.")
        undo_button(scene)
        return
    st.markdown(f"**{marks.where(images, known)}.**")
    with st.container(horizontal=True):
        undo_button(scene)
        page_frame.download("Marks as CSV", lambda: marks.as_table(images, sorted(known), known), "marks.csv")
        if images.root is not None and images.pixels is None:
            help = "The corrected data set as a table, which the data set “manifest” reads."
            page_frame.download(
                "Corrected images", lambda: marks.as_manifest(images, known), "corrected.csv", help=help
            )
    _offer_training(view.run, known)
    sections = []
    for answer, title in TITLES.items():
        items = [item for item, mark in known.items() if mark.answer == answer]
        images_of = [_card(scene, item, known[item]) for item in items[:MOST]]
        sections.append(CardSection(answer, f"{title} ({len(items):,})", images_of, size="whole"))
    chosen = selection.read(view.run).tolist()
    listed = [one for one in sections if one.cards]
    gallery(listed, key="marked", on_pick=choose, selected=chosen, on_select=selection.chooser(view.run, known))


def _card(scene: Scene, item: int, mark: Mark) -> Card:
    name = apart(mark.label, cards.image_title(scene.view.images, item))
    words = f"is {name}" if mark.label else f"repeats {mark.of}" if mark.of else ""
    split = str(splits_of(scene, np.array([item]))[0])
    return cards.card(scene.view, item, value=split, subtitle=words)


def _offer_training(run: RunView, known: Mapping[int, Mark]) -> None:
    """The button to train again with the corrections, where the run's data set takes them."""
    if (data := run.folder.config.data).outside or "corrections" not in data.values:
        return
    st.caption(
        "Corrected training images change the training. Corrected validation and test images change what is measured, "
        "for this run as well as for the new one: the two are compared on the same corrected images."
    )
    if st.button("Train again with these corrections", icon=":material/replay:", type="primary", help=TRAIN):
        with page_frame.refusals():
            selection.train_with(run, known)


TRAIN = (
    "Fills the form of the Train page with this run's settings. Dropped images and duplicates are neither trained on "
    "nor tested on; relabelled images are of their new class."
)
# What is about one split, and what about all images; no docstrings here, for Streamlit shows those of a page.
PARTS = {
    "pairs": ("Confused classes", classes.confused),
    "slices": ("Scores of classes and slices", classes.slices),
}
WHOLE = {
    "labels": ("Label errors", _labels),
    "twice": ("Duplicates", _twice),
    "leaks": ("Leakage", _leaks),
    "marks": ("Marked images", _marked),
}

check()
