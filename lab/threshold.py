"""Which similarity means the same? `measure` compares the pairs of a run, `save` keeps a threshold with it.

    pairs = lab.threshold.measure(run)
    lab.threshold.save(run, pairs, pairs.let_through(0.01))

Then `lab.load(run).search(picture, unknown=True)` finds nothing below it, and `lab query --unknown` answers "unknown".

Example:
    >>> import lab, numpy as np
    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1], [-0.6, 0.8]], np.float32)
    >>> pairs = lab.threshold.compare(lab.EmbeddingSet(rows, [0, 0, 1, 1]))
    >>> column = pairs.let_through(0.3)  # of the eight pairs of two classes, two have a cosine of 0.6
    >>> round(float(pairs.counts.thresholds[column]), 2), pairs.rates(column)["false rejects"].value
    (0.0, 0.0)
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import Field

from lab.core import files
from lab.core.results import EmbeddingSet
from lab.core.stored import Count, Number, Numbers, Text, read
from lab.inference.pair_rates import PairRates
from lab.inference.rates import Rate, rate
from lab.kernels.class_reach import class_reach
from lab.kernels.pair_counts import PairCounts, count_pairs
from lab.metrics.opis import inconsistency, utilities
from lab.runs.config import RunConfig
from lab.runs.folder import Run

FILE = "threshold.json"
"""In a run's folder."""

MOST_PAIRS, LEAST_QUERIES = 25_000_000, 1_000
"""Pairs beyond which only some queries are compared, drawn at random and always the same (two seconds of one core), but
never fewer than these."""

RATES = {
    "false accepts": "pairs of two classes that are let through",
    "false rejects": "pairs of one class that are kept out",
    "precision": "pairs of one class among those that are let through",
    "strangers rejected": "queries that no image of another class reaches: were their class kept out, all unknown",
    "known found": "queries that an image of their own class reaches, of those that have one",
}
"""What is said of a threshold; the first two are known as FAR and FRR."""


INTERVALS = "95 % intervals over classes, each drawn with its queries and its images in the gallery"
"""What low and high of a rate are, as the command and the page say it."""


@dataclass(frozen=True)
class ClassRates:
    """One threshold in each of c classes, the worst served first.

    labels: int64 [c]. false_accepts, false_rejects: float64 [c], of the pairs of their queries.
    utility: float64 [c], harmonic mean of what is right of both, as `opis` compares it.
    """

    labels: np.ndarray
    false_accepts: np.ndarray
    false_rejects: np.ndarray
    utility: np.ndarray


@dataclass(frozen=True)
class Pairs:
    """The queries of a split, each compared with the whole gallery.

    counts: a row for each query that was compared. query, gallery: these queries, and what they were compared with.
    self_index: int64 [q], the place of each query in the gallery, -1 where it is not there. of: queries that there are.
    similarity: cosine, or euclidean for minus the squared distance. split: which one.
    """

    counts: PairCounts
    query: EmbeddingSet
    gallery: EmbeddingSet
    self_index: np.ndarray
    of: int
    similarity: str = "cosine"
    split: str = ""

    @property
    def labels(self) -> np.ndarray:
        """int64 [q]: the classes of the queries that were compared."""
        return self.query.labels

    def let_through(self, far: float) -> int:
        """The column of the lowest threshold that lets at most a share `far` of the pairs of two classes through.

        Raises:
            ValueError: there are too few such pairs to tell, or that share of them is as good as equal.
        """
        if not 0 < far < 1:
            raise ValueError(f"The rate of false accepts must lie between 0 and 1, got {far}.")
        total = int(self.counts.other[:, 0].sum())
        if total * far < 1:
            raise ValueError(
                f"A rate of {far:g} cannot be told from {total:,} pairs of two classes; it takes {1 / far:,.0f}."
            )
        legal = np.flatnonzero(self.counts.far <= far)
        if not len(legal):
            raise ValueError(
                f"{self.counts.far[-1]:.0%} of the pairs of two classes are equal vectors, so no threshold keeps all "
                f"but {far:.1%} of them out; look at the model that made them."
            )
        return int(legal[0])

    def at(self, similarity: float) -> int:
        """The column of the threshold that is nearest to a similarity that a person gave.

        Raises:
            ValueError: no two vectors can have it.
        """
        cosine = self.similarity == "cosine"
        least, most, kind = (
            (-1.0, 1.0, "a cosine") if cosine else (-np.inf, 0.0, "minus a squared distance")
        )
        if not (least <= similarity <= most and np.isfinite(similarity)):
            limits = "from -1 to 1" if cosine else "at most 0"
            raise ValueError(
                f"The similarity must be {limits}, since it is {kind}; got {similarity}."
            )
        return self.column(similarity)

    def column(self, threshold: float) -> int:
        """The column of the threshold that is nearest to a similarity."""
        return int(np.abs(self.counts.thresholds[1:] - threshold).argmin()) + 1

    def rates(self, column: int) -> dict[str, Rate]:
        """Each of `RATES` with its 95 % interval over classes. Time O(q g d): every pair is compared again, for its
        two classes."""
        at = float(self.counts.thresholds[column])
        found = PairRates(
            class_reach(self.query, self.gallery, self.similarity, self.self_index, at)
        )
        compared, has_own = self.counts.other[:, 0] > 0, self.counts.same[:, 0] > 0
        counted = (
            found.false_accepts(),
            found.false_rejects(),
            found.precision(),
            found.strangers(compared),
            found.known(self.counts.same[:, column] > 0, has_own),
        )
        return {name: rate(one) for name, one in zip(RATES, counted, strict=True)}

    @cached_property
    def _of_classes(self) -> tuple[np.ndarray, PairCounts]:
        """The classes that have pairs of both kinds, and their counts."""
        labels, place = np.unique(self.labels, return_inverse=True)
        sums = np.zeros((2, len(labels), len(self.counts.thresholds)), np.int64)
        np.add.at(sums[0], place, self.counts.same)
        np.add.at(sums[1], place, self.counts.other)
        known = (sums[:, :, 0] > 0).all(0)
        return labels[known], PairCounts(self.counts.thresholds, *sums[:, known])

    def classes(self, column: int) -> ClassRates:
        """Which classes a threshold serves, the worst first."""
        labels, counts = self._of_classes
        utility = utilities(counts.same, counts.other)[:, column]
        order = np.argsort(utility, kind="stable")
        accepts = counts.other[:, column] / counts.other[:, 0]
        rejects = 1 - counts.same[:, column] / counts.same[:, 0]
        return ClassRates(labels[order], accepts[order], rejects[order], utility[order])

    def of_class(self, label: int) -> Pairs:
        """The pairs with queries of one class."""
        mine = self.labels == label
        counts = PairCounts(self.counts.thresholds, self.counts.same[mine], self.counts.other[mine])
        return replace(
            self, counts=counts, query=self.query.take(mine), self_index=self.self_index[mine]
        )

    @property
    def opis(self) -> float:
        """How much classes disagree about one threshold; see the metric `opis`."""
        return inconsistency(self._of_classes[1], 0.01, 0.1)

    def _steps(self, at_least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The middle of each step between two thresholds, and the pairs in it, [t - 1]."""
        ends = np.append(self.counts.thresholds[1:], self.counts.thresholds[-1])
        totals = at_least.sum(0)
        return (ends[:-1] + ends[1:]) / 2, totals[1:] - np.append(totals[2:], 0)

    def histogram(self, bins: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges float64 [b+1] from the least to the greatest similarity, and the share of the pairs of one class and
        of two that lie between two of them, [b] each."""
        all_pairs = (self.counts.same + self.counts.other).sum(0)
        thresholds = self.counts.thresholds
        least = thresholds[np.flatnonzero(all_pairs == all_pairs[0])[-1]]
        most = thresholds[min(int(np.flatnonzero(all_pairs)[-1]) + 1, len(thresholds) - 1)]
        columns = np.unique([self.column(edge) for edge in np.linspace(least, most, bins + 1)])
        sides = []
        for at_least in (self.counts.same.sum(0), self.counts.other.sum(0)):
            # what equals the last edge is in the last bin
            beyond = np.append(at_least[columns[:-1]], 0)
            sides.append((beyond[:-1] - beyond[1:]) / max(1, at_least[0]))
        return thresholds[columns], sides[0], sides[1]

    def probability(self) -> tuple[np.ndarray, np.ndarray]:
        """The probability that a pair is of one class, by its similarity: knots x and y of a curve that never falls,
        fitted by isotonic regression. It holds for pairs mixed as here: with more classes it is lower."""
        from sklearn.isotonic import IsotonicRegression

        middles, same = self._steps(self.counts.same)
        pairs = same + self._steps(self.counts.other)[1]
        seen = pairs > 0
        fit = IsotonicRegression(y_min=0, y_max=1)
        fit.fit(middles[seen], same[seen] / pairs[seen], sample_weight=pairs[seen])
        return fit.X_thresholds_, fit.y_thresholds_


@dataclass(frozen=True)
class Threshold:
    """What is kept with a run. value: the least similarity that means the same.

    similarity: cosine, or euclidean for minus the squared distance. split, checkpoint, step: of the embeddings that it
    was chosen on. rates: see `RATES`, value, low and high. same, other: pairs that were compared. queries, classes: how
    many. x, y: the probability of "same", see `Pairs.probability`. made: which images, network and settings the
    embeddings are of; "" of older thresholds.
    """

    value: Number
    similarity: Literal["cosine", "euclidean"]
    split: Text
    checkpoint: Text | None
    step: Count
    rates: dict[Text, Annotated[Numbers, Field(min_length=3, max_length=3)]]
    same: Count
    other: Count
    queries: Count
    classes: Count
    x: Annotated[list[Number], Field(min_length=1)]
    y: list[Number]
    made: Text = ""

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError("must have as many x as y")

    @property
    def words(self) -> str:
        """`cosine 0.712, chosen on 400 queries of 8 classes of split test`."""
        unit = "cosine" if self.similarity == "cosine" else "minus squared distance"
        of = f"{self.queries:,} queries of {self.classes:,} classes of {self.split}"
        return f"{unit} {self.value:.4g}, chosen on {of}"

    def same_class(self, scores: Any) -> np.ndarray:
        """The probability that pairs of such similarities are of one class, float64 of their shape."""
        return np.interp(scores, self.x, self.y)


def measure(run: Run, split: str = "test") -> Pairs:
    """Compare the stored queries of a split with its gallery, or among each other. Images of no class are left out.

    Raises:
        ValueError: the split has not been embedded, holds NaN, or has no pair of one class or none of two.
    """
    return compare(
        run.embeddings(split),
        run.embeddings(split, "gallery"),
        run.config_of(split).similarity,
        split,
    )


def compare(
    query: EmbeddingSet,
    gallery: EmbeddingSet | None = None,
    similarity: str = "cosine",
    split: str = "",
) -> Pairs:
    """Compare embeddings with a gallery, or (None) among each other; see `measure`. Images of no class are left out.

    Raises:
        ValueError: as `measure`.
    """
    query = query.take(np.flatnonzero(query.labelled))
    gallery = None if gallery is None else gallery.take(np.flatnonzero(gallery.labelled))
    whole = query if gallery is None else gallery
    if not len(query) or not len(whole):
        raise ValueError(
            "No image here has a class, so no pair is known to be the same; give the images classes."
        )
    for part in (query, whole):
        if not np.isfinite(part.vectors).all():
            row = int(np.flatnonzero(~np.isfinite(part.vectors).all(1))[0])
            raise ValueError(
                f"Row {row} of the embeddings holds NaN or infinity; look at the model that made them."
            )
    rows = np.arange(len(query))
    if len(query) * len(whole) > MOST_PAIRS:
        some = max(LEAST_QUERIES, MOST_PAIRS // len(whole))
        rows = np.sort(np.random.default_rng(0).permutation(len(query))[:some])
    own = rows if gallery is None else np.full(len(rows), -1)
    asked = query.take(rows)
    counts = count_pairs(asked, whole, similarity, own, np.arange(len(rows)))
    if not counts.same[:, 0].any():
        raise ValueError(
            "No class has two images here, so there is no pair of one class to tell from the others."
        )
    if not counts.other[:, 0].any():
        raise ValueError(
            "All images here are of one class, so there is no pair of two classes to keep out."
        )
    return Pairs(counts, asked, whole, own, len(query), similarity, split)


def save(run: Run, pairs: Pairs, column: int) -> Threshold:
    """Keep a threshold with a run; replaces the one before.

    Raises:
        GuestRefused: asked by a guest of the dashboard.
    """
    files.check_allowed()
    origin, (x, y) = run.origin(pairs.split), pairs.probability()
    rates = {name: row.as_list() for name, row in pairs.rates(column).items()}
    kept = Threshold(
        value=float(pairs.counts.thresholds[column]), similarity=cast(Any, pairs.similarity), split=pairs.split,
        checkpoint=origin.checkpoint, step=origin.step, rates=rates,
        same=int(pairs.counts.same[:, 0].sum()), other=int(pairs.counts.other[:, 0].sum()),
        queries=len(pairs.labels), classes=len(np.unique(pairs.labels)), x=x.tolist(), y=y.tolist(),
        made=_made(run, pairs.split),
    )  # fmt: skip
    files.write_json(run.path / FILE, asdict(kept))
    return kept


def _made(run: Run, split: str) -> str:
    """What the embeddings of a split are of: images with their classes, network, and settings that vectors depend on.

    Vectors that were made elsewhere are told apart by themselves.
    """
    header = run.header(split)
    network = header.get("network") or run.vectors_stamp(split)
    identity = [header.get("images"), network, _settings(run.config_of(split))]
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def _settings(config: RunConfig) -> list[Any]:
    """The settings that embeddings, and scores of them, depend on."""
    making = [config.evaluation.values[knob] for knob in ("flip", "beta", "pooling", "scales")]
    return [making, config.testing.as_dict(), config.similarity]


def exported(run: Run, of_encoder: bool = False) -> dict[str, Any]:
    """What an export says of the run's threshold; nothing where there is none.

    Args:
        of_encoder: the encoder is exported, which embeds as the run's own settings say: the threshold must be one of
            such embeddings.
    """
    with suppress(ValueError):
        kept = stored(run)
        if of_encoder and _settings(run.config) != _settings(run.config_of(kept.split)):
            return {}
        return {
            "threshold": {
                name: getattr(kept, name) for name in ("value", "similarity", "split", "rates")
            }
        }
    return {}


def stored(run: Run) -> Threshold:
    """The threshold that is kept with a run.

    Raises:
        ValueError: there is none, or the run has been trained or evaluated anew since.
    """
    told = f"run: lab threshold {run.path}."
    if not (run.path / FILE).exists():
        raise ValueError(f"Run {run.name} has no threshold yet, so nothing can be unknown; {told}")
    try:
        kept = read(run.file(FILE), Threshold)
    except ValueError as error:
        raise ValueError(f"{error} To choose it anew, {told}") from None
    now = run.origin(kept.split)
    similarity = run.config_of(kept.split).similarity
    same = (kept.checkpoint, kept.step, kept.similarity) == (now.checkpoint, now.step, similarity)
    if not same or (kept.made and kept.made != _made(run, kept.split)):
        raise ValueError(
            f"The threshold of {run.name} is of other embeddings than those stored now; {told}"
        )
    return kept
