"""Colours and filters of the Map page: the values of a field, legends and histograms."""

import numpy as np
import streamlit as st

from app.components.scatter import COLOURS, MARKS, Category, Histogram
from app.results import cache
from app.results.cache import SplitView
from app.shared import background
from app.views.map.scene import MapScene
from lab.core.results import OTHER, SAME, UNKNOWN
from lab.data import ImageSet
from lab.evaluation import filters
from lab.evaluation.collection import Collection
from lab.maps.kept import KEPT_FROM
from lab.maps.of_run import Sheet

NEAREST = filters.NEAREST
"""Colour by whether the nearest neighbour has the class."""

PRECISION = filters.PRECISION
"""Colour by average precision."""

SHADES = ("#423C83", "#355E8C", "#297B8E", "#21988A", "#31B37C", "#68CC5C", "#B1DD2D", "#FDE725")
"""Colours of numbers from low to high: viridis without its darkest part, which is invisible on a dark page."""

ALL_VALUES = 100_000
"""Most images of a data set for which colours are chosen from the values of all splits."""

BARS = 24
"""Most bars of a histogram."""

HISTOGRAMS = 8
"""Most fields that filter the map."""


def fields(collection: Collection) -> list[str]:
    """Return the fields that can colour points, those that divide the images into few groups first."""
    names = filters.fields(collection.images)
    first = []
    if filters.SUPER in names:
        first.append(filters.SUPER)
        names.remove(filters.SUPER)
    if not collection.images.class_names:
        names.remove(filters.CLASS)
        return [*first, *names, filters.CLASS]
    # the search for all nearest neighbours is slow in large galleries
    if len(collection.gallery) <= KEPT_FROM:
        first.append(NEAREST)
        if collection.judged and "mAP" in collection.columns:
            first.append(PRECISION)
    return [*first, *names]


@st.cache_resource(max_entries=64, show_spinner=False)
def coded(
    name: str,
    split: str,
    stamp: float,
    step: int | None,
    field: str,
    points: int,
    _images: ImageSet,
    _sheet: Sheet,
) -> tuple[list[str], np.ndarray]:
    """Return the sorted values of a field, and for each point the index of its value, int64 [n]. points: n."""
    items = _sheet.on_map.items
    if field == filters.CLASS:  # sorting labels is ten times as fast as sorting names
        labels, codes = np.unique(_images.labels[items], return_inverse=True)
        names, order = np.unique(_images.names_of(labels), return_inverse=True)
        return names.tolist(), order[codes]
    values = filters.column(_images, field, items)
    # take the values of all images, so that a value has the same colour in every split
    if len(_images) <= ALL_VALUES:
        all_values = np.unique(filters.column(_images, field, np.arange(len(_images))))
        if len(all_values) <= len(MARKS):
            return all_values.tolist(), np.searchsorted(all_values, values)
    names, codes = np.unique(values, return_inverse=True)
    return names.tolist(), codes


def coded_by(scene: MapScene, field: str) -> tuple[list[str], np.ndarray]:
    """Return `coded` for the points of the map."""
    return coded(*scene.view.key, field, len(scene.sheet.rows), scene.view.images, scene.sheet)


@background.job("Looking for the nearest image of every point", keep=8)
def _right(view: SplitView, _sheet: Sheet) -> np.ndarray:
    return _sheet.nearest_right


Legend = tuple[list[Category], np.ndarray]
"""The lines of a legend, and the line of each point, int64 [n]."""


def coded_legend(values: list[str], codes: np.ndarray, selected: np.ndarray) -> Legend:
    """Return the legend of a field with few values, or of words.

    If there are more values than marks, the most frequent values of the selection, or else of the map, have a mark. All
    other values share a grey dot.

    Args:
        values: in order.
        codes: int64 [n], the index of each point's value.
        selected: bool [n].
    """
    counts = np.bincount(codes, minlength=len(values))
    # by name, so that a value looks the same in every split and selection
    order = np.arange(len(values))
    if len(values) > len(MARKS):
        frequencies = counts
        if selected.any():
            frequencies = np.bincount(codes[selected], minlength=len(values))
        order = np.lexsort((order, -frequencies))

    lines: list[Category] = []
    line_of_value = np.full(len(values), -1)
    for code, mark, colour in zip(order, MARKS, COLOURS, strict=False):
        if counts[code]:
            line_of_value[code] = len(lines)
            lines.append(Category(str(values[code]) or "(none)", int(counts[code]), mark, colour))
    others = order[len(MARKS) :]
    line_of_value[others] = len(lines)
    if len(others):
        lines.append(Category(f"{len(others):,} others", int(counts[others].sum())))
    return lines, line_of_value[codes]


def by_value(field: str, values: list[str], codes: np.ndarray, selected: np.ndarray) -> Legend:
    """Return the legend of a field: a scale for many numbers, else `coded_legend`."""
    if len(values) > len(MARKS) and field not in (filters.CLASS, filters.SUPER):
        numbers = _numbers(values)
        if numbers is not None:
            return scale(numbers[codes])
    return coded_legend(values, codes, selected)


def _numbers(values: list[str]) -> np.ndarray | None:
    """Return values as float64, with NaN for "", or None if one is not a number."""
    try:
        numbers = np.array([float(value or "nan") for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).any() else None


def scale(numbers: np.ndarray) -> Legend:
    """Return the legend of numbers float64 [n] in equal steps.

    The lowest and the highest two per cent share the first and the last step, so that outliers do not take all colours.
    """
    is_number = np.isfinite(numbers)
    low, high = np.percentile(numbers[is_number], (2, 98))
    if low == high:
        low = numbers[is_number].min()
        high = numbers[is_number].max()
    edges = np.linspace(low, high, len(SHADES) + 1)[1:-1]
    steps = np.full(len(numbers), len(SHADES))
    steps[is_number] = np.searchsorted(edges, numbers[is_number], side="right")
    counts = np.bincount(steps, minlength=len(SHADES) + 1).tolist()

    words = [f"{edge:.3g}" for edge in edges]
    names = [f"{start} to {end}" for start, end in zip(words, words[1:], strict=False)]
    names = [f"below {words[0]}", *names, f"{words[-1]} and more"]
    lines = [
        Category(name, counts[step], "circle", SHADES[step]) for step, name in enumerate(names)
    ]
    if counts[-1]:
        lines.append(Category("no number", counts[-1]))
    return lines, steps


def verdicts(right: np.ndarray) -> Legend:
    """Return the legend of verdicts of `compared`, int8 [n]: right, wrong and unknown."""
    lines = [
        Category("✓ right", int((right == SAME).sum()), "circle", "#0072B2"),
        Category("✗ wrong", int((right == OTHER).sum()), "cross", "#D55E00"),
    ]
    unknown = int((right == UNKNOWN).sum())
    if unknown:
        lines.append(Category("? class not known", unknown, "square", "#999999"))
    return lines, np.select([right == SAME, right == OTHER], [0, 1], 2)


def categories(scene: MapScene, selected: np.ndarray) -> Legend:
    """Return the legend of the field that colours the map."""
    count = len(scene.sheet.rows)
    not_ready = ([Category("not known yet", count)], np.zeros(count, int))
    if scene.field == NEAREST:
        right = background.if_ready(_right(scene.view, scene.sheet))
        return not_ready if right is None else verdicts(right)
    if scene.field == PRECISION:
        metrics = background.if_ready(cache.measured(scene.view))
        if metrics is None:
            return not_ready
        rows = scene.view.collection.rows(scene.items)
        return scale(np.where(rows >= 0, metrics["mAP"][rows], np.nan))
    values, codes = coded_by(scene, scene.field)
    return by_value(scene.field, values, codes, selected)


def histograms(scene: MapScene) -> list[Histogram]:
    """Return a histogram of each field with several values, those with the fewest values first."""
    drawn = []
    for field in filters.fields(scene.view.images):
        values, codes = coded_by(scene, field)
        if len(values) > 1:
            drawn.append((field, values, codes))
    drawn.sort(key=lambda entry: len(entry[1]))
    return [bars(*entry) for entry in drawn[:HISTOGRAMS]]


def bars(field: str, values: list[str], codes: np.ndarray) -> Histogram:
    """Return a field's histogram, with a bar for each value, for equal steps of many numbers, or for the most frequent
    of many words."""
    if len(values) <= BARS:
        return Histogram(field, [value or "(none)" for value in values], codes)
    numbers = _numbers(values)
    if numbers is not None and np.isfinite(numbers).all():
        return number_bars(field, numbers[codes])
    counts = np.bincount(codes, minlength=len(values))
    frequent = np.argsort(-counts, kind="stable")[: BARS - 1]
    bar_of_value = np.full(len(values), BARS - 1)
    bar_of_value[frequent] = np.arange(BARS - 1)
    labels = [values[code] or "(none)" for code in frequent]
    return Histogram(field, [*labels, f"{len(values) - BARS + 1:,} others"], bar_of_value[codes])


def number_bars(field: str, numbers: np.ndarray, count: int = BARS) -> Histogram:
    """Return the histogram of numbers [n] in equal steps."""
    edges = np.linspace(numbers.min(), numbers.max(), count + 1)
    labels = [f"{low:.4g} to {high:.4g}" for low, high in zip(edges, edges[1:], strict=False)]
    return Histogram(
        field, labels, np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, count - 1)
    )
