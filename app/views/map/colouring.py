"""What the Map page keeps between two clicks, and how it colours its points."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

import lab.runs
from app.components.scatter import COLOURS, KEPT, MARKS, Category, Filter
from app.results import cache, filters, projections
from app.results.projections import Map, Sheet
from app.shared import address, background
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.runs import Run

if TYPE_CHECKING:
    import pyarrow

NEAREST = "nearest is right"
"""Colouring that no data set has to know: whether the nearest image in the full space is of the same class."""
PRECISION = "average precision"
"""Another one: how well each image is answered as a query."""
SHADES = ("#423C83", "#355E8C", "#297B8E", "#21988A", "#31B37C", "#68CC5C", "#B1DD2D", "#FDE725")
"""Of numbers from low to high (viridis, without its darkest part, which nobody sees on a dark ground)."""


@st.cache_resource(max_entries=24, show_spinner="Reading the embeddings ...")
def sheet(name: str, split: str, stamp: float, step: int | None = None) -> Sheet:
    """The images of a split, or the validation images after a step, and which of them are shown."""
    known: tuple[EmbeddingSet, ...] = ()
    if step is None:
        collection = cache.collection(name, split, stamp)
        known = (collection.query, collection.gallery)
    return projections.sheet(lab.runs.open(cache.run_path(name)), split, step, known)


LONGEST = 500
"""Characters of one thing that the browser keeps in the address."""


def kept(of: str) -> dict[str, str]:
    """How the browser showed these points when it last wrote into the address. of: that of `Points`."""
    words = {}
    for name in KEPT:
        key = f"{name} of {of}"
        address.adopt(name, str, lambda text: len(text) <= LONGEST, key=key, default="")
        words[name] = st.session_state.get(key, "")
        address.tell(name, words[name], "")
    return words


@background.job("Laying out the map", keep=8)
def pca(name: str, split: str, stamp: float) -> Map:
    """The PCA map of a split, or of the validations over time."""
    return projections.pca_map(lab.runs.open(cache.run_path(name)), split)


@st.cache_resource(max_entries=64, show_spinner=False)
def coded(
    name: str, split: str, stamp: float, step: int | None, field: str, points: int, _images: ImageSet, _sheet: Sheet
) -> tuple[list[str], np.ndarray]:
    """The values of a field in order, and the value of each point, int64 [n], as a position in them. points: n."""
    items = _sheet.on_map.items
    if field == filters.CLASS:  # among numbers the same are found in a tenth of the time
        labels, codes = np.unique(_images.labels[items], return_inverse=True)
        names, order = np.unique([str(_images.class_names[label]) for label in labels], return_inverse=True)
        return names.tolist(), order[codes]
    mine = filters.column(_images, field, items)
    if len(_images) <= LOOKED_AT:  # a value has its colour from all images, so that it is the same in every split
        everywhere = np.unique(filters.column(_images, field, np.arange(len(_images))))
        if len(everywhere) <= len(MARKS):
            return everywhere.tolist(), np.searchsorted(everywhere, mine)
    names, codes = np.unique(mine, return_inverse=True)
    return names.tolist(), codes


@st.cache_resource(max_entries=4, show_spinner=False)
def lines(
    name: str, split: str, stamp: float, step: int | None, _images: ImageSet, _sheet: Sheet
) -> pyarrow.LargeBinaryArray:
    """What is known of each point in words, in small letters: its file, its class and every column.

    As one block of bytes: 56 MB of a million points of 50 letters, where Python's strings take twice that; so that
    several browsers with maps of their own can each keep theirs.
    """
    import pyarrow

    items = _sheet.on_map.items
    columns = [filters.column(_images, field, items).tolist() for field in filters.fields(_images)]
    keys = [str(_images.keys[item]) for item in items.tolist()]
    texts = ("\n".join(words).lower().encode("utf-8", "replace") for words in zip(keys, *columns, strict=True))
    return pyarrow.array(texts, pyarrow.large_binary(), size=len(keys))


def holding(known: pyarrow.LargeBinaryArray, words: str) -> np.ndarray:
    """The rows int64 [m] of `lines` that have every word."""
    import pyarrow.compute

    rows = np.ones(len(known), bool)
    for word in words.lower().split():
        rows &= pyarrow.compute.match_substring(known, word).to_numpy(zero_copy_only=False)
    return np.flatnonzero(rows)


@background.job("Looking for the nearest image of every point", keep=8)
def _right(name: str, split: str, stamp: float, step: int | None, _sheet: Sheet) -> np.ndarray:
    return _sheet.nearest_right


@background.job("Building the index of all images", keep=2)
def prepared(name: str, split: str, stamp: float, step: int | None, _sheet: Sheet) -> bool:
    """Have the index of the full space at hand, so that the first click does not wait for it."""
    return _sheet.prepare()


def newest_frame(run: Run) -> float:
    """When the stored validations last changed; 0 without any."""
    return max((path.stat().st_mtime for path in run.frames().values()), default=0.0)


def packed(selected: np.ndarray) -> str:
    """Which points are selected, bool [n], in few characters, above all where it comes in long runs."""
    return base64.urlsafe_b64encode(zlib.compress(np.packbits(selected).tobytes(), 9)).decode().rstrip("=")


def unpacked(text: str, count: int) -> np.ndarray:
    """The bool [n] of `packed`.

    Raises:
        ValueError: the text is none of its, or of another number of points.
    """
    room = -(-count // 8)
    try:
        data = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), room + 1)
    except zlib.error:
        raise ValueError("This is not a valid selection.") from None
    if len(data) != room:
        raise ValueError("This selection is of another map.")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(bool)


def fields(images: ImageSet, count: int = 0) -> list[str]:
    """What points can be coloured by, the most telling first: what divides the images into a few groups.

    count: images that are searched; among very many nobody waits for the nearest one of each.
    """
    named = filters.fields(images)
    first = [name for name in (filters.SUPER,) if name in named]
    if not any(images.class_names):  # nothing is right or wrong
        return [*first, *(name for name in images.attributes), filters.CLASS]
    nearest = [NEAREST] if count <= projections.KEPT_FROM else []
    return [*first, *nearest, *(name for name in named if name not in first)]


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
    """The legend for `NEAREST`: right and wrong, in the marks that say so everywhere."""
    count = int(right.sum())
    lines = [
        Category("✓ right", count, "circle", "#0072B2"),
        Category("✗ wrong", len(right) - count, "cross", "#D55E00"),
    ]
    return lines, np.where(right, 0, 1)


def categories(
    run: cache.RunView, images: ImageSet, split: str, step: int | None, stamp: float, field: str, selected: np.ndarray
) -> tuple[list[Category], np.ndarray]:
    """The legend of a field, and the line of each shown point."""
    whole = sheet(run.name, split, stamp, step)
    if field == NEAREST:
        right = background.if_ready(_right(run.name, split, stamp, step, whole))
        count = len(whole.rows)
        return ([Category("not known yet", count)], np.zeros(count, int)) if right is None else verdicts(right)
    if field == PRECISION:
        collection = cache.collection(run.name, split, stamp)
        measured = background.if_ready(cache.measured("", run.name, split, stamp, collection))
        if measured is None:
            return [Category("not known yet", len(whole.rows))], np.zeros(len(whole.rows), int)
        of_item = dict(zip(collection.query.items.tolist(), measured["mAP"].tolist(), strict=True))
        return scale(np.array([of_item.get(item, np.nan) for item in whole.on_map.items.tolist()]))
    known, codes = coded(run.name, split, stamp, step, field, len(whole.rows), images, whole)
    return by_value(field, known, codes, selected)


LOOKED_AT = 100_000
"""Images up to which all values of a field are looked for, those of other splits included."""
BARS = 24
"""Bars of a histogram at most."""
HISTOGRAMS = 8
"""Fields that the map can be filtered by at most."""


def histograms(run: cache.RunView, images: ImageSet, split: str, step: int | None, stamp: float) -> list[Filter]:
    """A histogram of each field that tells images apart, the ones with the fewest values first."""
    whole = sheet(run.name, split, stamp, step)
    coded_by = {
        field: coded(run.name, split, stamp, step, field, len(whole.rows), images, whole)
        for field in filters.fields(images)
    }
    telling = sorted(
        (field for field in coded_by if len(coded_by[field][0]) > 1), key=lambda field: len(coded_by[field][0])
    )
    return [bars(field, *coded_by[field]) for field in telling[:HISTOGRAMS]]


def bars(field: str, known: list[str], codes: np.ndarray) -> Filter:
    """A field's histogram: a bar for each value; of many numbers in equal steps, of many words the most frequent."""
    if len(known) <= BARS:
        return Filter(field, [one or "(none)" for one in known], codes)
    try:
        numbers = np.array(known, float)
    except ValueError:
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all():
        return number_bars(field, numbers[codes])
    counts = np.bincount(codes, minlength=len(known))
    first = np.argsort(-counts, kind="stable")[: BARS - 1]
    place = np.full(len(known), BARS - 1)
    place[first] = np.arange(BARS - 1)
    labels = [known[at] or "(none)" for at in first]
    return Filter(field, [*labels, f"{len(known) - BARS + 1:,} others"], place[codes])


def number_bars(field: str, numbers: np.ndarray, count: int = BARS) -> Filter:
    """The histogram of numbers [n] in equal steps."""
    edges = np.linspace(numbers.min(), numbers.max(), count + 1)
    labels = [f"{low:.4g} to {high:.4g}" for low, high in zip(edges, edges[1:], strict=False)]
    return Filter(field, labels, np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, count - 1))
