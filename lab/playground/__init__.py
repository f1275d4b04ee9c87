"""The ranking playground: losses, surrogates and a tiny encoder that train in a browser, without Python.

One self-contained page: it asks no host for anything, opens from a disk, and keeps all that it shows in its address.
It is built from scripts/browser/playground, whose `losses.js` computes what `lab.losses` computes, to 1e-6 in float64
(tests/browser/test_in_browser_playground.py).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw

from lab.core import web_page

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lab.core.knobs import Knob
    from lab.core.results import EmbeddingSet
    from lab.data import ImageSet

HERE = Path(__file__).parent

KINDS = (
    "tiger face", "cat face", "fox", "frog", "rabbit face", "pig face", "strawberry", "lemon", "rose", "sunflower",
    "rocket", "octopus",
)  # fmt: skip
"""Emoji of the bundled set; the dozen takes the first four."""

SETS = {
    "dozen": (4, 3, "12 emoji, 4 kinds"),
    "two_dozen": (4, 6, "24 emoji, 4 kinds"),
    "kinds": (12, 4, "48 emoji, 12 kinds"),
}
"""Kinds, pictures of each, and what the set is called."""

CROWD = 8, 8
"""Classes and points of the set without pictures."""

SIDE = 8
"""Pixels of a picture's side, as the tiny encoder sees it."""

NOT_IN_PICTURES = (255, 0, 254)
"""Colour that marks what is taken away."""

MOST = 64
"""Items of a batch that is handed over."""

LOWEST, HIGHEST = 1e-4, 10.0
"""Ends of a logarithmic slider."""


def frame(height: int = 820, **start: Any) -> str:
    """The page inside another one, for instance in a notebook: HTML of a frame of its own.

    Args:
        height: pixels.
        start: as `page` takes it.
    """
    words = f'title="Ranking playground" style="width: 100%; height: {height}px; border: 0"'
    return f'<iframe srcdoc="{escape(page(start=start))}" {words}></iframe>'


def page(
    vectors: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    names: Sequence[str] = (),
    pictures: Sequence[Image.Image] = (),
    start: Mapping[str, Any] | None = None,
) -> str:
    """The page as HTML.

    Args:
        vectors: float [n d], a batch that is handed over, at most 64 rows; by default the bundled emoji.
        labels: [n], the class of each row.
        names: [n], what each item is called; by default its class.
        pictures: [n], an image each.
        start: state to begin with, for instance `{"loss": "sup_ap", "knobs": {"tau": 0.02}}`.

    Raises:
        ValueError: vectors and labels do not fit, or there are too many.

    Example:
        >>> import lab
        >>> html = lab.playground.page()
        >>> "<script src" in html or "http://" in html.replace("http://www.w3.org", "")  # nothing is asked of a host
        False
    """
    sets = {name: _emoji(name, *size) for name, size in SETS.items()} | {"crowd": _crowd()}
    begin = dict(start or {})
    if vectors is not None:
        sets["handed"] = _handed(np.asarray(vectors, float), np.asarray(labels), names, pictures)
        begin["set"] = "handed"
    if begin:
        begin.setdefault("set", "dozen")
    blanks = {
        "STYLE": (HERE / "playground.css").read_text(encoding="utf-8"),
        "DATA": web_page.as_data({"sets": sets, "knobs": _knobs(), "start": begin or None}),
        "CODE": (HERE / "playground.js").read_text(encoding="utf-8"),
    }
    return web_page.filled(HERE / "playground.html", blanks)


def of_batch(
    embedded: EmbeddingSet, images: ImageSet, start: Mapping[str, Any] | None = None
) -> str:
    """The page for a batch of a run: its first images, whole classes at a time, at most 64 of them.

    Args:
        embedded: the batch: vectors, labels and items.
        images: where its pictures and class names are.
        start: as `page` takes it.

    Raises:
        ValueError: it holds less than two images, or a vector that is not finite.
    """
    _, first, codes = np.unique(embedded.labels, return_index=True, return_inverse=True)
    rows = np.sort(np.argsort(first[codes], kind="stable")[:MOST])
    some = embedded.take(rows)
    names = [
        f"{images.class_name(label)}, image {item}"
        for label, item in zip(some.labels, some.items, strict=True)
    ]
    kinds = [images.class_name(label) for label in some.labels]
    return page(
        some.vectors, kinds, names, [_picture(images, int(item)) for item in some.items], start
    )


def _picture(images: ImageSet, item: int) -> Image.Image:
    """A picture of the batch; a grey one where it is not there any more."""
    try:
        return images.load(item)
    except (OSError, ValueError):
        return Image.new("RGB", (48, 48), "grey")


def _emoji(name: str, kinds: int, each: int, title: str) -> dict[str, Any]:
    """A set of the bundled emoji: the first kinds, some drawings of each."""
    from lab.data import create

    emoji = create("emoji7")
    all_names = [str(one) for one in emoji.class_names]
    items = []
    for kind in KINDS[:kinds]:
        drawings = np.flatnonzero(emoji.labels == all_names.index(kind))
        items += [int(i) for i in drawings[:each]]
    images = [emoji.load(i) for i in items]
    labels = [place for place in range(kinds) for _ in range(each)]
    return {
        "name": name,
        "title": title,
        "kinds": list(KINDS[:kinds]),
        "labels": labels,
        "names": [f"{KINDS[label]} {1 + i % each}" for i, label in enumerate(labels)],
        "pictures": [_address(image) for image in images],
        "pixels": [_pixels(image) for image in images],
    }


def _crowd() -> dict[str, Any]:
    classes, each = CROWD
    labels = [c for c in range(classes) for _ in range(each)]
    kinds = [f"class {chr(65 + c)}" for c in range(classes)]
    names = [f"{kinds[label]}, point {1 + i % each}" for i, label in enumerate(labels)]
    told = {
        "name": "crowd",
        "title": "64 points, 8 classes",
        "kinds": kinds,
        "labels": labels,
        "names": names,
    }
    return told | {"pictures": [""] * len(labels)}


def _handed(
    vectors: np.ndarray, labels: np.ndarray, names: Sequence[str], pictures: Sequence[Image.Image]
) -> dict[str, Any]:
    if vectors.ndim != 2 or labels.shape != vectors.shape[:1] or not 2 <= len(vectors) <= MOST:
        raise ValueError(
            f"The playground takes vectors [n d] with a label each, 2 to {MOST} of them, got {list(vectors.shape)} and "
            f"{list(labels.shape)}."
        )
    if not np.isfinite(vectors).all():
        raise ValueError(
            "The playground takes finite vectors; drop the rows that hold NaN or infinity."
        )
    kinds, numbers = np.unique(labels, return_inverse=True)
    return {
        "name": "handed",
        "title": "the batch handed over",
        "kinds": [str(kind) for kind in kinds],
        "labels": numbers.tolist(),
        "names": list(names) or [str(label) for label in labels],
        "pictures": [_address(image) for image in pictures] or [""] * len(vectors),
        "rows": np.round(vectors.ravel(), 6).tolist(),
    }


def _address(image: Image.Image) -> str:
    """A picture as a data URL; white around it is taken away, so that it stands on any ground."""
    small = image.convert("RGB").resize((48, 48), Image.Resampling.LANCZOS)
    marked = small.copy()
    for x, y in ((0, 0), (47, 0), (0, 47), (47, 47)):
        if np.asarray(marked)[y, x].min() > 240:
            ImageDraw.floodfill(marked, (x, y), NOT_IN_PICTURES, thresh=40)
    outside = (np.asarray(marked) == NOT_IN_PICTURES).all(2)
    small.putalpha(Image.fromarray(np.where(outside, 0, 255).astype(np.uint8)))
    return web_page.as_uri(small, quality=80)


def _pixels(image: Image.Image) -> str:
    """What the tiny encoder sees of a picture."""
    small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return base64.b64encode(np.asarray(small, np.uint8).tobytes()).decode()


def _knobs() -> dict[str, list[dict[str, Any]]]:
    """Of each loss of the page its settings, as they are declared."""
    from lab import losses
    from lab.core.knobs import describe

    return {
        name: [_field(knob) for knob in describe(losses.get(name).Knobs)] for name in loss_names()
    }


def loss_names() -> tuple[str, ...]:
    """The losses that the page computes, by their names in `lab.losses`."""
    return tuple(json.loads((HERE / "losses.json").read_text(encoding="utf-8")))


def _field(knob: Knob) -> dict[str, Any]:
    """A setting as the form draws it."""
    from lab.core.knobs import labels, sliders

    told = {
        "name": knob.name,
        "label": labels.name_in_words(knob),
        "help": knob.help,
        "default": knob.default,
    }
    if knob.many:
        return told | {"kind": "lengths"}
    if knob.kind is bool and not knob.optional:
        return told | {"kind": "bool"}
    if knob.kind is bool:
        return told | {
            "choices": [["null", "as the variant has it"], ["true", "yes"], ["false", "no"]]
        }
    if knob.choices:
        return told | {"choices": [[json.dumps(choice), choice] for choice in knob.choices]}
    low, high = sliders.span(knob)
    log = knob.scale == "log"
    if log:
        low, high = max(low, LOWEST), min(high, max(HIGHEST, 10 * (knob.default or 0)))
    return told | {"low": low, "high": high, "log": log, "whole": knob.kind is int}
