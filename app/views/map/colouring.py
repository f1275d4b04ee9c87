"""How the Map page colours and filters its points: the values of a field, legends and histograms."""

import numpy as np
import streamlit as st

from app.components.scatter import COLOURS, MARKS, Category, Histogram
from app.results import cache
from app.results.cache import SplitView
from app.shared import background
from app.views.map.scene import Scene
from lab.core.results import OTHER, SAME, UNKNOWN
from lab.data import ImageSet
from lab.evaluation import filters
from lab.evaluation.collection import Collection
from lab.maps.kept import KEPT_FROM
from lab.maps.of_run import Sheet

NEAREST, PRECISION = filters.NEAREST, filters.PRECISION
"""Colourings that no data set has to know."""
SHADES = ("#423C83", "#355E8C", "#297B8E", "#21988A", "#31B37C", "#68CC5C", "#B1DD2D", "#FDE725")
"""Of numbers from low to high (viridis, without its darkest part, which nobody sees on a dark ground)."""
LOOKED_AT = 100_000
"""Images up to which all values of a field are looked for, those of other splits included."""
BARS = 24
"""Bars of a histogram at most."""
HISTOGRAMS = 8
"""Fields that the map can be filtered by at most."""


def fields(collection: Collection) -> list[str]:
    """What points can be coloured by, the most telling first: what divides the images into a few groups. Among very
    many nobody waits for the nearest one of each."""
    images = collection.images
    named = filters.fields(images)
    first = [name for name in (filters.SUPER,) if name in named]
    if not images.class_names:  # nothing is right or wrong
        return [*first, *(name for name in named if name not in (*first, filters.CLASS)), filters.CLASS]
    nearest = [NEAREST] if len(collection.gallery) <= KEPT_FROM else []
    if nearest and collection.judged and "mAP" in collection.columns:
        nearest.append(PRECISION)
    return [*first, *nearest, *(name for name in named if name not in first)]


@st.cache_resource(max_entries=64, show_spinner=False)
def coded(
    name: str, split: str, stamp: float, step: int | None, field: str, points: int, _images: ImageSet, _sheet: Sheet
) -> tuple[list[str], np.ndarray]:
    """The values of a field in order, and the value of each point, int64 [n], as a position in them. points: n."""
    items = _sheet.on_map.items
    if field == filters.CLASS:  # among numbers the same are found in a tenth of the time
        labels, codes = np.unique(_images.labels[items], return_inverse=True)
        names, order = np.unique(_images.names_of(labels), return_inverse=True)
        return names.tolist(), order[codes]
    mine = filters.column(_images, field, items)
    if len(_images) <= LOOKED_AT:  # a value has its colour from all images, so that it is the same in every split
        everywhere = np.unique(filters.column(_images, field, np.arange(len(_images))))
        if len(everywhere) <= len(MARKS):
            return everywhere.tolist(), np.searchsorted(everywhere, mine)
    names, codes = np.unique(mine, return_inverse=True)
    return names.tolist(), codes


def coded_by(scene: Scene, field: str) -> tuple[list[str], np.ndarray]:
    """`coded`, of the points on screen."""
    return coded(*scene.view.key, field, len(scene.sheet.rows), scene.view.images, scene.sheet)


@background.job("Looking for the nearest image of every point", keep=8)
def _right(view: SplitView, _sheet: Sheet) -> np.ndarray:
    return _sheet.nearest_right


def coded_legend(known: list[str], codes: np.ndarray, selected: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """The legend's lines and the line of each point, int64 [n].

    As many values as there are marks get one of their own, by name; where there are more, those that the selection
    (else the map) has most of. What remains shares a grey dot.

    Args:
        known: the values, in order.
        codes: int64 [n], the place of each point's value among them.
        selected: bool [n].
    """
    counts = np.bincount(codes, minlength=len(known))
    of_interest = np.bincount(codes[selected], minlength=len(known)) if selected.any() else counts
    by_name = np.arange(len(known))
    # Where everything has its place, it goes by name, so that a value looks the same in every split and selection.
    order = by_name if len(known) <= len(MARKS) else np.lexsort((by_name, -of_interest))
    named = order[: len(MARKS)]
    there = [one for one in zip(named, MARKS, COLOURS, strict=False) if counts[one[0]]]
    lines = [Category(str(known[code]) or "(none)", int(counts[code]), mark, colour) for code, mark, colour in there]
    line_of = np.full(len(known), len(there))
    line_of[[code for code, _, _ in there]] = np.arange(len(there))
    if len(known) > len(named):
        left = order[len(named) :]
        lines.append(Category(f"{len(left):,} others", int(counts[left].sum())))
    return lines, line_of[codes]


def by_value(
    field: str, known: list[str], codes: np.ndarray, selected: np.ndarray
) -> tuple[list[Category], np.ndarray]:
    """The legend of a field: a scale where its values are many numbers, else `coded_legend`."""
    numbers = _numbers(known) if len(known) > len(MARKS) and field not in (filters.CLASS, filters.SUPER) else None
    return coded_legend(known, codes, selected) if numbers is None else scale(numbers[codes])


def _numbers(known: list[str]) -> np.ndarray | None:
    """Values as float64, NaN for an empty one; None where one is no number."""
    try:
        numbers = np.array([float(one or "nan") for one in known])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).any() else None


def scale(numbers: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """The legend of numbers float64 [n] in equal steps from low to high, and the step of each; the lowest and highest
    two per cent share the first and the last step, so that a few strange ones do not take all colours."""
    there = np.isfinite(numbers)
    low, high = np.percentile(numbers[there], (2, 98))
    if low == high:
        low, high = numbers[there].min(), numbers[there].max()
    edges = np.linspace(low, high, len(SHADES) + 1)[1:-1]
    steps = np.where(there, np.searchsorted(edges, np.where(there, numbers, 0.0), side="right"), len(SHADES))
    words = [f"{edge:.3g}" for edge in edges]
    names = [f"below {words[0]}", *map(" to ".join, zip(words, words[1:], strict=False)), f"{words[-1]} and more"]
    counts = np.bincount(steps, minlength=len(SHADES) + 1).tolist()
    lines = [Category(*line) for line in zip(names, counts, ["circle"] * len(SHADES), SHADES, strict=False)]
    return [*lines, *([Category("no number", counts[-1])] if counts[-1] else [])], steps


def verdicts(right: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """The legend for `NEAREST`, int8 [n] as `compared` says it: right, wrong and unknown, in the marks that say so
    everywhere."""
    counts = [int((right == verdict).sum()) for verdict in (SAME, OTHER, UNKNOWN)]
    lines = [Category("✓ right", counts[0], "circle", "#0072B2"), Category("✗ wrong", counts[1], "cross", "#D55E00")]
    if counts[2]:
        lines.append(Category("? class not known", counts[2], "square", "#999999"))
    return lines, np.select([right == SAME, right == OTHER], [0, 1], 2)


def categories(scene: Scene, selected: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """The legend of the scene's field, and the line of each shown point."""
    sheet, count = scene.sheet, len(scene.sheet.rows)
    not_yet = [Category("not known yet", count)], np.zeros(count, int)
    if scene.field == NEAREST:
        right = background.if_ready(_right(scene.view, sheet))
        return not_yet if right is None else verdicts(right)
    if scene.field == PRECISION:
        measured = background.if_ready(cache.measured(scene.view))
        if measured is None:
            return not_yet
        rows = scene.view.collection.rows(sheet.on_map.items)
        return scale(np.where(rows >= 0, measured["mAP"][rows], np.nan))
    return by_value(scene.field, *coded_by(scene, scene.field), selected)


def histograms(scene: Scene) -> list[Histogram]:
    """A histogram of each field that tells images apart, the ones with the fewest values first."""
    coded_fields = {field: coded_by(scene, field) for field in filters.fields(scene.view.images)}
    telling = [field for field, (known, _) in coded_fields.items() if len(known) > 1]
    telling.sort(key=lambda field: len(coded_fields[field][0]))
    return [bars(field, *coded_fields[field]) for field in telling[:HISTOGRAMS]]


def bars(field: str, known: list[str], codes: np.ndarray) -> Histogram:
    """A field's histogram: a bar for each value; of many numbers in equal steps, of many words the most frequent."""
    if len(known) <= BARS:
        return Histogram(field, [one or "(none)" for one in known], codes)
    numbers = _numbers(known)
    if numbers is not None and np.isfinite(numbers).all():
        return number_bars(field, numbers[codes])
    counts = np.bincount(codes, minlength=len(known))
    first = np.argsort(-counts, kind="stable")[: BARS - 1]
    place = np.full(len(known), BARS - 1)
    place[first] = np.arange(BARS - 1)
    labels = [known[at] or "(none)" for at in first]
    return Histogram(field, [*labels, f"{len(known) - BARS + 1:,} others"], place[codes])


def number_bars(field: str, numbers: np.ndarray, count: int = BARS) -> Histogram:
    """The histogram of numbers [n] in equal steps."""
    edges = np.linspace(numbers.min(), numbers.max(), count + 1)
    labels = [f"{low:.4g} to {high:.4g}" for low, high in zip(edges, edges[1:], strict=False)]
    return Histogram(field, labels, np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, count - 1))
