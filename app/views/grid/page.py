"""Images: the whole data set of a run as a grid; filter and sort it, select images, tag them."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from app import served
from app.components.gallery import Card, CardSection, gallery
from app.results import cache, cards, filters, run_choice, selection
from app.results.cache import RunView
from app.shared import background, page_frame
from lab.data import ImageSet
from lab.runs.marks import Mark

SIZES, SIZE = (60, 120, 240), 120
LONGEST = 200
"""Characters of a search."""
NO_SPLIT = "no split"
ORDERS = {
    "set": "Order of the data set",
    "class": "Class",
    "name": "Name",
    "wrong": "Nearest neighbour wrong first",
    "errors": "Likely label errors first",
}


@dataclass(frozen=True)
class Scene:
    """What the page shows: images of a run's data set.

    split: name of the split of each image, str [n]. right: whether the nearest neighbour of each is of its class,
    float64 [n], NaN where it was not measured.
    """

    run: RunView
    images: ImageSet
    split: np.ndarray
    right: np.ndarray
    said: dict[int, Mark]

    def card(self, item: int, judged: bool) -> Card:
        """judged: whether the card says if the nearest neighbour is right."""
        mark = self.said.get(item, Mark())
        answer = f"{mark.answer} → {mark.label}" if mark.label else mark.answer
        words = [answer, *(f"#{tag}" for tag in mark.tags)]
        return cards.of_image(
            self.run,
            self.images,
            item,
            f"{served.pictures(self.run.name, self.run.stamp)}{item}",
            right=self._verdict(item) if judged else None,
            value=str(self.split[item]),
            subtitle=" · ".join(filter(None, words)),
        )

    def _verdict(self, item: int) -> cards.Right:
        """Whether the nearest neighbour of an image is of its class."""
        if not cards.has_class(self.images, item):
            return "unknown" if self.images.class_names else None
        return None if np.isnan(self.right[item]) else bool(self.right[item])


@page_frame.page("Images", "All images of a data set: filter and sort them, select some, tag them.")
def images_of_the_set() -> None:
    run = run_choice.choose_run()
    images = cache.images(run.name, run.stamp)
    split, right = np.full(len(images), NO_SPLIT, object), np.full(len(images), np.nan)
    for name, one in images.splits.items():
        split[one.items] = name
    for name in run.splits:
        whole = cache.split_view(run, name).collection
        right[whole.query.items] = whole.stored.get("r@1", np.nan)
    scene = Scene(run, images, split.astype(str), right, selection.marks_of(run))
    counts = dict(zip(*np.unique(scene.split, return_counts=True), strict=True))
    with st.sidebar:
        passing, measured = _passing(scene, counts), not np.isnan(scene.right).all()
        offered = {name: title for name, title in ORDERS.items() if name != "wrong" or measured}
        order = page_frame.select("Order", offered, key="grid order", link="order")
        size = page_frame.choice("Images on a page", SIZES, key="grid size", initial=SIZE, link="shown")
    listed = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    page_frame.say(f"{scene.run.summary} · {len(scene.images):,} images: {listed}")
    items = _ordered(scene, passing, order)
    here = items[page_frame.page_slice("grid page", len(items), size)]
    selection.bar(run, {"page": here, "all": items} if len(items) > len(here) else {"all": items})
    note = "Click to select; Shift and a click selects all up to there."
    nothing = "No image passes. Widen the filter, or clear the search."
    drawn = [scene.card(item, order == "wrong") for item in here.tolist()]
    section = CardSection("images", f"{len(items):,} images", drawn, note, nothing)
    gallery([section], key="grid", **selection.choosable(run, [section]))
    page_frame.page_buttons("grid page", len(items), size)


def _passing(scene: Scene, counts: dict[str, int]) -> np.ndarray:
    """The images that pass all that the sidebar says, int64 [m]."""
    run, images, everything = scene.run, scene.images, np.arange(len(scene.images))
    chosen, tags = selection.read(run), selection.saved(run)
    marked = np.array([item for item, mark in scene.said.items() if mark.answer], np.int64)
    lists = {"all": everything, "selected": chosen, "marked": marked}
    lists |= {f"tag {name}": one for name, one in tags.items()}
    titles = {"all": "All images", "selected": "The selected ones", "marked": "Those with an answer"}
    titled = {one: f"{titles.get(one, one[4:])} ({len(items):,})" for one, items in lists.items()}
    items = lists[page_frame.select("Show", titled, key="grid of", link="only")]
    splits = page_frame.multiselect("Splits", list(counts), key="grid splits", link="splits", placeholder="all")
    words = page_frame.text("Find", key="grid words", most=LONGEST, link="find", placeholder="file or class")
    with st.popover("Filter" + (" (on)" if filters.is_active(images) else ""), icon=":material/filter_alt:"):
        narrowed = filters.choose(images, everything, run.name, "every split", run.stamp, sides=False)
    keep = np.isin(scene.split[items], splits) if splits else np.ones(len(items), bool)
    if words.strip():
        keep &= np.isin(items, filters.rows_with_words(filters.texts_of(run.name, run.stamp, images), words))
    return items[keep & narrowed.queries(images, items)]


def _ordered(scene: Scene, items: np.ndarray, order: str) -> np.ndarray:
    images = scene.images
    if order == "class":
        names = images.names_of(images.labels[items])
        return items[np.argsort(names, kind="stable")]
    if order == "name":
        return items[np.argsort(np.array([str(images.keys[item]) for item in items]), kind="stable")]
    if order == "errors":
        view = cache.any_view(scene.run)
        whole = background.or_wait(cache.features(view))
        found, place = background.or_wait(cache.label_errors(view, whole)), np.full(len(images), np.inf)
        place[whole.items[found.rows]] = np.arange(len(found))
        return items[np.argsort(place[items], kind="stable")]
    # What was not measured is NaN, which comes last.
    return items[np.argsort(scene.right[items], kind="stable")] if order == "wrong" else items


images_of_the_set()
