"""Images: the data set of a run as a grid. Filter and sort it, select images and tag them."""

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

# Numbers of images on a page to choose from, and the first of them.
SIZES = (60, 120, 240)
SIZE = 120
# Most characters of a search.
LONGEST = 200
NO_SPLIT = "no split"
ORDERS = {
    "set": "Order of the data set",
    "class": "Class",
    "name": "Name",
    "wrong": "Nearest neighbour wrong first",
    "errors": "Likely label errors first",
}


@dataclass(frozen=True)
class GridScene:
    """What the Images page shows: images of a run's data set.

    split: str [n], name of each image's split.
    right: float64 [n], 1 if the nearest neighbour of an image has its class, 0 if not, NaN if it was not measured.
    marks: item to the user's mark.
    """

    run: RunView
    images: ImageSet
    split: np.ndarray
    right: np.ndarray
    marks: dict[int, Mark]

    def card(self, item: int, with_verdict: bool) -> Card:
        """Return the card of an image. with_verdict: show whether its nearest neighbour is right."""
        mark = self.marks.get(item, Mark())
        words = [f"#{tag}" for tag in mark.tags]
        if mark.label:
            words.insert(0, f"{mark.answer} → {mark.label}")
        elif mark.answer:
            words.insert(0, mark.answer)
        return cards.of_image(
            self.run,
            self.images,
            item,
            f"{served.pictures(self.run.name, self.run.stamp)}{item}",
            right=self._verdict(item) if with_verdict else None,
            value=str(self.split[item]),
            subtitle=" · ".join(words),
        )

    def _verdict(self, item: int) -> cards.Right:
        """Return whether the nearest neighbour of an image has its class."""
        if not cards.has_class(self.images, item):
            return "unknown" if self.images.class_names else None
        if np.isnan(self.right[item]):
            return None
        return bool(self.right[item])


@page_frame.page("Images", "All images of a data set: filter and sort them, select some, tag them.")
def images_of_the_set() -> None:
    scene = _scene(run_choice.choose_run())
    names, counts = np.unique(scene.split, return_counts=True)
    with st.sidebar:
        passing = _filter(scene, dict(zip(names, counts, strict=True)))
        orders = dict(ORDERS)
        if np.isnan(scene.right).all():
            del orders["wrong"]
        order = page_frame.select("Order", orders, key="grid order", link="order")
        size = page_frame.choice(
            "Images on a page", SIZES, key="grid size", initial=SIZE, link="shown"
        )
    splits = ", ".join(f"{count:,} {name}" for name, count in zip(names, counts, strict=True))
    page_frame.say(f"{scene.run.summary} · {len(scene.images):,} images: {splits}")
    items = _sort(scene, passing, order)
    shown = items[page_frame.page_slice("grid page", len(items), size)]
    offered = {"all": items}
    if len(items) > len(shown):
        offered = {"page": shown, "all": items}
    selection.bar(scene.run, offered)

    # The cards of this page.
    section = CardSection(
        "images",
        f"{len(items):,} images",
        [scene.card(item, order == "wrong") for item in shown.tolist()],
        "Click to select; Shift and a click selects all images up to there.",
        "No image passes. Widen the filter, or clear the search.",
    )
    gallery([section], key="grid", **selection.choosable(scene.run, [section]))
    page_frame.page_buttons("grid page", len(items), size)


def _scene(run: RunView) -> GridScene:
    """Read the splits, stored metrics and marks of a run's data set."""
    images = cache.images(run.name, run.stamp)
    split = np.full(len(images), NO_SPLIT, object)
    for name, members in images.splits.items():
        split[members.items] = name
    right = np.full(len(images), np.nan)
    for name in run.splits:
        collection = cache.split_view(run, name).collection
        right[collection.query.items] = collection.stored.get("r@1", np.nan)
    return GridScene(run, images, split.astype(str), right, selection.marks_of(run))


def _filter(scene: GridScene, counts: dict[str, int]) -> np.ndarray:
    """Draw the filters and return the images that pass, int64 [m]. counts: number of images of each split."""
    run = scene.run
    images = scene.images
    all_items = np.arange(len(images))
    answered = np.array([item for item, mark in scene.marks.items() if mark.answer], np.int64)
    selected = selection.read(run)
    lists = {"all": all_items, "selected": selected, "marked": answered}
    labels = {
        "all": f"All images ({len(all_items):,})",
        "selected": f"Selected images ({len(selected):,})",
        "marked": f"Images with an answer ({len(answered):,})",
    }
    for name, items in selection.saved(run).items():
        lists[f"tag {name}"] = items
        labels[f"tag {name}"] = f"{name} ({len(items):,})"

    # Start with the chosen list, then filter by split, words and fields.
    items = lists[page_frame.select("Show", labels, key="grid of", link="only")]
    splits = page_frame.multiselect(
        "Splits", list(counts), key="grid splits", link="splits", placeholder="all"
    )
    words = page_frame.text(
        "Find", key="grid words", most=LONGEST, link="find", placeholder="file or class"
    )
    with filters.popover(images):
        chosen = filters.choose(images, all_items, run.name, "every split", run.stamp, sides=False)

    passing = chosen.queries(images, items)
    if splits:
        passing = passing & np.isin(scene.split[items], splits)
    if words.strip():
        rows = filters.rows_with_words(filters.texts_of(run.name, run.stamp, images), words)
        passing = passing & np.isin(items, rows)
    return items[passing]


def _sort(scene: GridScene, items: np.ndarray, order: str) -> np.ndarray:
    """Return the items in the chosen order."""
    images = scene.images
    if order == "class":
        names = images.names_of(images.labels[items])
        return items[np.argsort(names, kind="stable")]
    if order == "name":
        names = np.array([str(images.keys[item]) for item in items])
        return items[np.argsort(names, kind="stable")]
    if order == "errors":
        view = cache.any_view(scene.run)
        features = background.or_wait(cache.features(view))
        errors = background.or_wait(cache.label_errors(view, features))
        position = np.full(len(images), np.inf)
        position[features.items[errors.rows]] = np.arange(len(errors))
        return items[np.argsort(position[items], kind="stable")]
    if order == "wrong":  # images that were not measured are NaN, which comes last
        return items[np.argsort(scene.right[items], kind="stable")]
    return items


images_of_the_set()
