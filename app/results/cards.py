"""Images of a collection as cards of the gallery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from PIL import Image

from app.components.gallery import Bar, Card, Move, Query
from app.results import cache
from app.results.thumbnails import thumbnail
from lab.core.results import UNRANKED, Evidence
from lab.data import ImageSet
from lab.evaluation.collection import Collection

HELP = {
    "r@1": "1 when the nearest image is right (hit rate)",
    "r@4": "1 when one of the nearest four is right (hit rate)",
    "mAP": "average precision over the whole ranking",
    "MAP@R": "average precision of the first R, R being the number of true matches",
    "R-precision": "share of right images among the first R",
    "MRR": "1 / rank of the nearest true match",
}
"""What the columns of a query's facts mean."""

LARGE = 384
"""Longest side of the query's own picture, in pixels."""


def plain(run: cache.RunView, collection: Collection, item: int, value: str = "") -> Card:
    """A card without right or wrong: a query to choose."""
    title = class_name(collection, item)
    return Card(
        item, cache.thumbnail(run.name, run.stamp, item), title, title, value=value, tooltip=_tooltip(collection, item)
    )


def neighbours(run: cache.RunView, collection: Collection, evidence: Evidence, places: np.ndarray) -> list[Card]:
    """The neighbours at some places (0-based) of a single query's list, with rank, similarity and verdict."""
    ranking, items = evidence.ranking, evidence.gallery.items
    known = has_class(collection, int(evidence.query.items[0]))
    hits = [bool(hit) if known else None for hit in ranking.hits[0]]
    return [
        _ranked(run, collection, int(items[ranking.neighbours[0, at]]), at + 1, ranking.scores[0, at], hits[at])
        for at in places.tolist()
    ]


def weighed(card: Card, weight: float | None) -> Card:
    """The card with a bar: how a loss moves the image, in units of the largest pull or push of the list."""
    if weight is None:
        return card
    share = abs(weight)
    if share < 0.0005:
        return replace(card, bar=Bar(0.0, "not moved"))
    wrong = (weight > 0) == bool(card.right)
    words = f"{'pulled' if weight < 0 else 'pushed'} {share:.{0 if share >= 0.0995 else 1}%}"
    return replace(card, bar=Bar(share, f"✗ {words}" if wrong else words, wrong))


def judged(card: Card, verdicts: Mapping[int, bool]) -> Card:
    """The card with what a person says of it, if anything."""
    if card.id not in verdicts:
        return card
    right = verdicts[card.id]
    return replace(card, right=right, subtitle=f"you: {'right' if right else 'wrong'}")


def moved(card: Card, before: Mapping[int, int]) -> Card:
    """The card with an arrow: how far it moved since another ranking, in which deep neighbours have no known rank."""
    old, new = before.get(card.id), card.rank
    if not isinstance(new, int) or old == new:
        return replace(card, move=Move("same", "=", "same rank") if old == new else None)
    if old is None or old == UNRANKED:
        return replace(card, move=Move("up", "▲ new", "was below these ranks"))
    by = abs(old - new)
    way, arrow = ("up", "▲") if new < old else ("down", "▼")
    return replace(card, move=Move(way, f"{arrow} {by:,}", f"{way} by {by:,}"))


def missed(
    run: cache.RunView, collection: Collection, evidence: Evidence, stop: int, most: int, allowed: np.ndarray
) -> list[Card]:
    """The first `most` true matches that came after rank `stop`, with the rank at which each came.

    allowed: bool [g], gallery positions that may be shown.
    """
    positions, ranks = evidence.ranking.positives(0)
    late = np.flatnonzero((ranks > stop) & allowed[positions])[:most]
    positions, ranks = positions[late], ranks[late]
    vector, kept = evidence.query.vectors[0], evidence.ranking.scores[0]
    scores = (
        evidence.gallery.vectors[positions] @ vector
        if collection.similarity == "cosine"
        else (-np.square(evidence.gallery.vectors[positions] - vector).sum(1))
    )
    listed = ranks <= len(kept)  # a query of several vectors has no other score than that of the ranking
    scores[listed] = kept[ranks[listed] - 1]
    return [
        _ranked(run, collection, int(evidence.gallery.items[position]), int(rank), score, True)
        for position, rank, score in zip(positions, ranks, scores, strict=True)
    ]


def unjudged(
    run: cache.RunView, collection: Collection, positions: np.ndarray, scores: np.ndarray, start: int
) -> list[Card]:
    """Neighbours of a picture that has no class."""
    items = collection.gallery.items[positions]
    return [
        _ranked(run, collection, int(item), start + at + 1, score, None)
        for at, (item, score) in enumerate(zip(items, scores, strict=True))
    ]


def query(run: cache.RunView, collection: Collection, item: int, facts: list[tuple[str, str, str]]) -> Query:
    """The query's panel."""
    title = class_name(collection, item)
    source = cache.thumbnail(run.name, run.stamp, item, LARGE)
    return Query(source, f"the query: {title}", title, _lines(collection, item), facts)


def uploaded(image: Image.Image) -> Query:
    """The panel of an uploaded picture; nothing of the client's file is shown but its pixels."""
    size = f"{image.width:,} x {image.height:,} pixels"
    return Query(thumbnail(image, LARGE), "the uploaded picture", "Your picture", [size])


def class_name(collection: Collection, item: int) -> str:
    """Name of an image's class; of one without a class, its own."""
    return named(collection.images, item)


def has_class(collection: Collection, item: int) -> bool:
    """Whether an image's class is known, so that others can be right or wrong for it."""
    return bool(collection.images.class_names[collection.images.labels[item]])


def named(images: ImageSet, item: int) -> str:
    """Name of an image's class; of one without a class, its own."""
    return str(images.class_names[images.labels[item]] or images.keys[item])


def _ranked(run: cache.RunView, collection: Collection, item: int, rank: int, score: float, right: bool | None) -> Card:
    title = class_name(collection, item)
    return Card(
        item,
        cache.thumbnail(run.name, run.stamp, item),
        title,
        title,
        rank="lost" if rank == UNRANKED else rank,
        right=right,
        value=f"{score:.3f}",
        tooltip=_tooltip(collection, item),
    )


def _lines(collection: Collection, item: int) -> list[str]:
    attributes = {name: str(values[item]) for name, values in collection.images.attributes.items()}
    return [str(collection.images.keys[item]), *(f"{name}: {value}" for name, value in attributes.items() if value)]


def _tooltip(collection: Collection, item: int) -> str:
    return "\n".join([class_name(collection, item), *_lines(collection, item)])
