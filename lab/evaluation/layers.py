"""Which layer of a network finds the right first answer most often, and does whitening help?

Every layer is measured plain and whitened, on the classes that are there. The classes are split into two halves. A
whitening is fitted to the images of one half, without their labels, and measured on the other half. The best setting
is chosen on one half and its score is told on the other half, both ways round: no score is told of the classes that
chose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.core.formats import counted
from lab.core.layers_file import LayerRow
from lab.core.results import labelled
from lab.encoders import OUTPUT, Layer
from lab.evaluation.direct import evaluate
from lab.evaluation.whitening import pca
from lab.inference.over_classes import FEWEST
from lab.inference.paired import Difference, difference

WIDTHS = (64, 128, 256)
"""Numbers that whitenings keep."""
SHRINKAGE = 0.1
"""Shrinkage of the whitenings, the default of the encoder `adapted`."""
MOST_IMAGES = 10_000
"""Images beyond which whole classes are drawn at random, always the same."""
FEWEST_CLASSES = 4
"""Classes of two images below which there are no two halves to choose and to tell."""
COLUMN = "r@1"


@dataclass(frozen=True)
class Setting:
    """A layer, and how many numbers its whitening keeps; None is plain."""

    layer: Layer
    whiten: int | None = None

    @property
    def words(self) -> str:
        """`layer 6, whitened to 128 numbers`."""
        whitened = "" if self.whiten is None else f", whitened to {self.whiten:,} numbers"
        return f"{self.layer.words}{whitened}"


PUBLISHED = Setting(OUTPUT)
"""The network as it came."""


@dataclass(frozen=True)
class LayerScores:
    """What each setting finds.

    settings: s of them, the first is `PUBLISHED`. widths: numbers of the layer of each. right: float64 [s q], 1 where
    the first answer of a query is right. labels: int64 [q]. half: bool [q], the half of a query. chosen: the best
    setting on the first and on the second half. drawn_of: images that there are, where not all were measured.
    """

    settings: tuple[Setting, ...]
    widths: tuple[int, ...]
    right: np.ndarray
    labels: np.ndarray
    half: np.ndarray
    chosen: tuple[Setting, Setting]
    drawn_of: int = 0

    @property
    def best(self) -> Setting:
        """The setting that is best on all queries; use this one."""
        return self.settings[int(self.right.mean(axis=1).argmax())]

    @property
    def told(self) -> np.ndarray:
        """float64 [q]: for each query whether the setting that the other half has chosen is right."""
        first, second = (self.settings.index(one) for one in self.chosen)
        return np.where(self.half, self.right[second], self.right[first])

    @property
    def difference(self) -> Difference:
        """`told` less the network as it came, on the same queries, with its interval over classes."""
        return difference(self.right[0], self.told, self.labels)

    @property
    def helps(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.difference.classes >= FEWEST and self.difference.low > 0

    @property
    def sentence(self) -> str:
        """What a layer gains, or that none helps."""
        found, published = self.difference, self.right[0].mean()
        gain = f"{found.mean:+.2f} ({_interval(found)})"
        if found.classes < FEWEST:
            few = counted(found.classes, "class", "classes")
            return (
                f"Whether a layer helps cannot be told from {few}: the network as it comes has {published:.2f} of "
                "first answers right."
            )
        if self.chosen == (PUBLISHED, PUBLISHED):
            return (
                f"No layer helps here: the network as it comes has {published:.2f} of first answers right, and every "
                "other layer has fewer, plain or whitened."
            )
        if not self.helps:
            return (
                f"No layer can be told to help here: the network as it comes has {published:.2f} of first answers "
                f"right, and the layers that were chosen change that by {gain}."
            )
        words = self.best.words
        sentence = (
            f"{words[0].upper()}{words[1:]}: {self.told.mean():.2f} of first answers right, {gain} over the network as "
            "it comes."
        )
        if self.chosen != (self.best, self.best):
            ways = " and ".join(dict.fromkeys(one.words for one in self.chosen))
            sentence += f" The halves of the classes chose {ways}; the score is of these choices."
        return sentence

    @property
    def protocol(self) -> str:
        """On what it was measured."""
        queries = counted(len(self.labels), "query", "queries")
        classes = counted(len(np.unique(self.labels)), "class", "classes")
        drawn = f" (drawn of {self.drawn_of:,} images)" if self.drawn_of else ""
        return (
            f"{queries} of {classes}{drawn}; each half of the classes is searched by itself, with whitenings fitted to "
            "the other half, and the choice of one half is told on the other."
        )

    def as_rows(self) -> list[LayerRow]:
        """The table as it is written into a file: of each layer what each number of kept numbers gives, 0 is plain."""
        rows: dict[Layer, LayerRow] = {}
        for setting, width, share in zip(
            self.settings, self.widths, self.right.mean(axis=1).tolist(), strict=True
        ):
            row = rows.setdefault(
                setting.layer, {"layer": setting.layer.words, "width": width, "scores": {}}
            )
            row["scores"][str(setting.whiten or 0)] = share
        return list(rows.values())

    def table(self) -> list[dict[str, Any]]:
        """One row a layer: its words, its width, and the share of right first answers, plain and whitened."""
        stored = self.as_rows()
        columns = sorted({int(column) for row in stored for column in row["scores"]})
        rows = []
        for one in stored:
            row: dict[str, Any] = {"layer": one["layer"], "width": one["width"]}
            for column in columns:
                row[f"whitened {column}" if column else "plain"] = one["scores"].get(str(column))
            rows.append(row)
        return rows


def measure(
    layers: Iterable[tuple[Layer, np.ndarray]],
    labels: np.ndarray,
    *,
    widths: Sequence[int] = WIDTHS,
    shrinkage: float = SHRINKAGE,
    seed: int = 0,
) -> LayerScores:
    """Measure every layer, plain and whitened.

    Args:
        layers: each layer with its rows [n w], the output of the network first; read one after the other, so that only
            one has to be in memory.
        labels: [n], the class of each row; rows without a class and of classes with one image only are left out.
        widths: numbers that the whitenings keep; those that a layer does not have are passed over.
        seed: of the two halves.

    Raises:
        ValueError: the labels are too few to tell anything, or a row holds NaN or infinity.

    Example:
        >>> import numpy as np
        >>> from lab.encoders import OUTPUT, Layer
        >>> from lab.evaluation.layers import measure
        >>> random, labels = np.random.default_rng(0), np.repeat(np.arange(40), 4)
        >>> noise = random.normal(size=(160, 8))
        >>> clear = np.eye(40)[labels] + 0.1 * random.normal(size=(160, 40))
        >>> found = measure([(OUTPUT, noise), (Layer(1), clear)], labels, widths=())
        >>> found.best.words, found.helps
        ('layer 1', True)
    """
    labels = np.asarray(labels)
    used, total = _used(labels, seed)
    numbers = np.unique(labels[used], return_inverse=True)[1]
    count = int(numbers.max()) + 1
    order = np.random.default_rng((seed, 1)).permutation(count)
    half = np.isin(numbers, order[: count // 2])

    settings: list[Setting] = []
    right: list[np.ndarray] = []
    layer_widths: list[int] = []
    for layer, rows in layers:
        rows = np.asarray(rows)[used]
        _check_finite(layer, rows)
        for whiten in (None, *widths):
            found = _right(rows, numbers, half, whiten, shrinkage)
            if found is not None:
                settings.append(Setting(layer, whiten))
                right.append(found)
                layer_widths.append(rows.shape[1])
    if not settings or settings[0] != PUBLISHED:
        raise ValueError(
            "measure needs the output of the network as the first layer: (lab.encoders.OUTPUT, rows)."
        )

    every = np.stack(right)
    chosen = tuple(settings[int(every[:, side].mean(axis=1).argmax())] for side in (half, ~half))
    drawn_of = total if len(used) < total else 0
    return LayerScores(
        tuple(settings), tuple(layer_widths), every, numbers, half, (chosen[0], chosen[1]), drawn_of
    )


def _used(labels: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Rows int64 [m] that are measured, ascending, and how many there are.

    Raises:
        ValueError: fewer than `FEWEST_CLASSES` classes have two images.
    """
    known = np.flatnonzero(labelled(labels))
    classes, place, counts = np.unique(labels[known], return_inverse=True, return_counts=True)
    enough = np.flatnonzero(counts >= 2)
    if len(enough) < FEWEST_CLASSES:
        raise ValueError(
            f"Layers are measured on classes of at least two images; there are {len(enough)} of {len(classes)}, and it "
            f"takes {FEWEST_CLASSES}. Give more classes, or images with labels."
        )
    drawn = np.random.default_rng((seed, 0)).permutation(enough)
    fits = np.cumsum(counts[drawn]) <= MOST_IMAGES
    fits[:FEWEST_CLASSES] = True
    mine = np.isin(place, enough)
    kept = np.isin(place, drawn[fits])
    return known[kept], int(mine.sum())


def _check_finite(layer: Layer, rows: np.ndarray) -> None:
    broken = int((~np.isfinite(rows).all(axis=1)).sum())
    if broken:
        images = counted(broken, "image has", "images have")
        raise ValueError(
            f"Of the {layer.words} {images} NaN or infinity; take another network, or precision float32."
        )


def _right(
    rows: np.ndarray, labels: np.ndarray, half: np.ndarray, whiten: int | None, shrinkage: float
) -> np.ndarray | None:
    """Whether the first answer of each query is right, float64 [q]; None where a half cannot be whitened so."""
    found = np.zeros(len(labels))
    for side in (half, ~half):
        seen = rows[side]
        if whiten is not None:
            fitted = rows[~side]
            if whiten > fitted.shape[1] or whiten >= len(fitted):
                return None
            try:
                seen = pca(fitted, whiten, shrinkage)(seen)
            except ValueError:  # the layer varies in fewer directions
                return None
        found[side] = evaluate(seen, labels[side], {"r": _first_answer()}, k=1).per_query[COLUMN]
    return found


def _first_answer() -> Any:
    import lab.metrics

    return lab.metrics.create("hit_rate_at_k", k=(1,))


def _interval(found: Difference) -> str:
    return f"95 % interval over classes {found.low:+.2f} to {found.high:+.2f}"
