"""Label errors found where they were planted, against cleanlab's own ranking and a vote of five neighbours.

Two of the five sets are drawn here: textures and shapes with changing light, blur and the noise of a camera.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

import lab.data
from lab.core.estimates import Estimate
from lab.core.knobs import Unchecked
from lab.core.streams import result_of
from lab.data import ImageRecords, ImageSet
from lab.doctor.bench._measure import BenchRow
from lab.inspect.label_errors import doubtful, out_of_fold

SIDE = 96
DRAWN = {"textures": (24, 40), "shapes": (36, 24)}
"""Classes, and images of each."""


def measure(
    sets: tuple[str, ...] = ("emoji7", "letters", "digits", "textures", "shapes"),
    rates: tuple[float, ...] = (0.0, 0.01, 0.05, 0.1),
    seeds: int = 5,
) -> Iterator[BenchRow]:
    """Mean average precision, paired differences with 95 % intervals over seeds, and errors among the first ten."""
    from lab.runs.whole_set import of_images

    for name in sets:
        images = Drawn(name) if name in DRAWN else lab.data.create(name)
        begin = time.perf_counter()
        made = result_of(of_images(images))
        vectors, labels = made.vectors, np.unique(made.labels, return_inverse=True)[1]
        yield BenchRow(
            "label_errors",
            "features",
            f"{name}, {len(labels)} images",
            time.perf_counter() - begin,
            "s",
        )
        for kind in ("random", "similar"):
            for rate in rates if kind == "random" else [rate for rate in rates if rate]:
                runs = [_trial(vectors, labels, kind, rate, seed) for seed in range(seeds)]
                yield from _rows(f"{name}, {rate:.0%} {kind}", np.array(runs), rate)


def _rows(setting: str, trials: np.ndarray, rate: float) -> Iterator[BenchRow]:
    """trials: float64 [seeds 6], as `_trial` returns them."""
    ours, cleanlab, vote, expected, found, seconds = trials.T
    if rate:
        yield BenchRow("label_errors", "mAP", setting, ours.mean(), "share")
        for words, other in (("cleanlab", cleanlab), ("vote of 5", vote)):
            yield BenchRow("label_errors", f"mAP of {words}", setting, other.mean(), "share")
            gain = Estimate.of(ours - other)
            against = (
                words
                if gain.half is None
                else f"{words}; 95 % interval over seeds ± {gain.half:.3f}"
            )
            yield BenchRow(
                "label_errors", "mAP, difference", setting, (ours - other).mean(), "share", against
            )
        yield BenchRow(
            "label_errors", "errors planted in the first 10", setting, found.mean(), "images"
        )
    yield BenchRow(
        "label_errors", "errors expected in the first 10", setting, expected.mean(), "images"
    )
    off = np.abs(expected - found).mean()
    yield BenchRow("label_errors", "distance of the two", setting, off, "images")
    yield BenchRow("label_errors", "seconds", setting, seconds.mean(), "s")


def _trial(
    vectors: np.ndarray, labels: np.ndarray, kind: str, rate: float, seed: int
) -> tuple[float, ...]:
    """Average precisions of ours, cleanlab's and the vote's ranking; errors expected and planted in our first ten;
    seconds. Cleanlab ranks all images by the probability of their own label, out of the same folds as ours."""
    from cleanlab.rank import get_label_quality_scores

    given, planted = plant(vectors, labels, kind, rate, seed)
    alone = np.bincount(given)[given] == 1
    vectors, planted = vectors[~alone], planted[~alone]
    given = np.unique(given[~alone], return_inverse=True)[1]
    begin = time.perf_counter()
    judged = out_of_fold(vectors, given, seed=seed)
    found = doubtful(judged, given)
    seconds = time.perf_counter() - begin
    expected = found.expected(10)
    expected = np.nan if expected is None else expected
    quality = get_label_quality_scores(given, judged.probabilities, method="self_confidence")
    ranked = np.argsort(quality, kind="stable")
    rankings = (found.rows, ranked, _vote(vectors, given))
    scores = (average_precision(planted, rows) for rows in rankings)
    return *scores, expected, float(planted[found.rows[:10]].sum()), seconds


def plant(
    vectors: np.ndarray, labels: np.ndarray, kind: str, rate: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [n] of which that share is wrong, and which these are; labels are 0..c-1.

    kind: `random`, any other class; `similar`, the class whose mean is most similar.
    """
    rng, classes, wrong = (
        np.random.default_rng((11, seed)),
        int(labels.max()) + 1,
        np.zeros(len(labels), bool),
    )
    wrong[rng.permutation(len(labels))[: round(rate * len(labels))]] = True
    means = np.stack([vectors[labels == one].mean(0) for one in range(classes)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = (means @ means.T - 9 * np.eye(classes)).argmax(1)
    other = (
        nearest[labels]
        if kind == "similar"
        else (labels + rng.integers(1, classes, len(labels))) % classes
    )
    return np.where(wrong, other, labels), wrong


def average_precision(right: np.ndarray, rows: np.ndarray) -> float:
    """Of a ranking that may be cut short: what it lacks was never found."""
    hits = right[rows]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].sum() / max(1, right.sum()))


def _vote(vectors: np.ndarray, given: np.ndarray, k: int = 5) -> np.ndarray:
    """What version 0.2 listed: images with more of one other class than of their own among their nearest, by the
    difference, ties in the order of the data."""
    from lab import search
    from lab.core.results import EmbeddingSet

    unit = EmbeddingSet(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), given, np.arange(len(given))
    )
    near = search.create("exact", k=k).build(unit).rank(unit, same_source=True).neighbours
    votes = (given[near][:, :, None] == given[near][:, None, :]).sum(2)
    own = (given[near] == given[:, None]).sum(1)
    votes[given[near] == given[:, None]] = 0
    ahead = votes.max(1) - own
    order = np.argsort(-ahead, kind="stable")
    return order[ahead[order] > 0]


class Drawn(ImageSet):
    """Pictures like photographs, the same on every machine."""

    Knobs = Unchecked

    def __init__(self, kind: str):
        self.kind = kind
        super().__init__()

    def _read(self) -> ImageRecords:
        classes, each = DRAWN[self.kind]
        labels = np.repeat(np.arange(classes), each)
        draw = _texture if self.kind == "textures" else _shape
        pictures = []
        for row, label in enumerate(labels.tolist()):
            rng = np.random.default_rng((2, row))
            pictures.append(_photographed(draw(np.random.default_rng((1, label)), rng), rng))
        self._pixels = np.stack(pictures)
        return ImageRecords(
            [str(row) for row in range(len(labels))],
            labels,
            [str(one) for one in range(classes)],
            {},
        )

    @property
    def pixels(self) -> np.ndarray:
        return self._pixels


Y, X = np.mgrid[0:SIDE, 0:SIDE] / SIDE


def _texture(own: np.random.Generator, rng: np.random.Generator) -> np.ndarray:
    """Two crossing waves in two colours, [h w 3]. own: draws what a class has in common; rng: what an image has."""
    waves, (lengths, between) = (
        np.zeros((SIDE, SIDE)),
        (own.uniform(3, 14, 2), own.uniform(0.3, 1.5)),
    )
    colours, hardness = own.uniform(40, 215, (2, 3)) + rng.normal(0, 30, (2, 3)), own.uniform(1, 6)
    turned, scale = rng.normal(0, 0.35), np.exp(rng.normal(0, 0.2))
    for length, angle in zip(lengths * scale, (turned, turned + between), strict=True):
        bent = 0.8 * np.sin(2 * np.pi * (Y * rng.uniform(0.3, 1) + rng.uniform()))
        waves += np.sin(
            2 * np.pi * length * (X * np.cos(angle) + Y * np.sin(angle)) + rng.uniform(0, 6) + bent
        )
    mixed = 1 / (1 + np.exp(-hardness * waves[..., None]))
    return mixed * colours[0] + (1 - mixed) * colours[1]


def _shape(own: np.random.Generator, rng: np.random.Generator) -> np.ndarray:
    """A polygon on a cluttered ground, [h w 3]."""
    radii, colour = own.uniform(0.35, 1, 2 * own.integers(3, 8)), own.uniform(30, 225, 3)
    ground = rng.uniform(20, 235, (4, 3))
    x, y = X[..., None], Y[..., None]
    picture = (ground[0] * (1 - x) + ground[1] * x) * (1 - y) + (
        ground[2] * (1 - x) + ground[3] * x
    ) * y
    canvas = Image.fromarray(picture.astype(np.uint8))
    draw = ImageDraw.Draw(canvas)
    for left, top, size in rng.uniform((0, 0, 3), (SIDE, SIDE, 14), (6, 3)):
        draw.ellipse(
            (left - size, top - size, left + size, top + size),
            fill=tuple(rng.integers(0, 255, 3).tolist()),
        )
    size, (left, top) = SIDE * rng.uniform(0.24, 0.42), SIDE * rng.uniform(0.36, 0.64, 2)
    angles = rng.uniform(-0.6, 0.6) + np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    corners = np.stack(
        [left + size * radii * np.cos(angles), top + size * radii * np.sin(angles)], 1
    )
    fill = (colour + rng.normal(0, 35, 3)).clip(0, 255).astype(int)
    draw.polygon(
        [tuple(one) for one in corners.tolist()], fill=tuple(fill.tolist()), outline=(0, 0, 0)
    )
    return np.asarray(canvas, np.float64)


def _photographed(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uneven light, blur and the noise of a camera; uint8."""
    light = (
        rng.uniform(0.5, 1.2)
        + rng.uniform(-0.5, 0.5) * (X - 0.5)
        + rng.uniform(-0.5, 0.5) * (Y - 0.5)
    )
    lit = Image.fromarray((picture * light[..., None]).clip(0, 255).astype(np.uint8))
    blurred = np.asarray(lit.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.6))), np.float64)
    return (
        (blurred + rng.normal(0, rng.uniform(2, 16), picture.shape)).clip(0, 255).astype(np.uint8)
    )
