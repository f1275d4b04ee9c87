"""Images of a split as cards of the gallery."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from PIL import Image

from app.components.gallery import Card, Move, Query
from app.results.cache import RunView, SplitView
from app.results.pictures import thumbnail
from lab.core.results import OTHER, SAME, UNKNOWN, UNRANKED, Evidence
from lab.data import ImageSet

Right = bool | Literal["unknown"] | None
"""What a card says of an image: of the query's class or not, or that nobody knows; None says nothing."""

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


def card(view: SplitView, item: int, **look: Any) -> Card:
    """An image of a split. look: what a card says besides, such as its rank."""
    return of_image(view.run, view.images, item, **look)


def of_image(run: RunView, images: ImageSet, item: int, src: str = "", **look: Any) -> Card:
    """An image of a run's data set. src: where the browser fetches it; by default it comes with the card. look: as in
    `card`."""
    item = int(item)  # of numpy's it may be
    title, tooltip = named(images, item), "\n".join([named(images, item), *_lines(images, item)])
    return Card(item, src or run.picture(item), title, title, tooltip=tooltip, **look)


def pair(view: SplitView, first: int, second: int, same: bool, **look: Any) -> Card:
    """Two images of a split side by side. same: whether they are of one class. look: as in `card`."""
    names = [named(view.images, one) for one in (first, second)]
    title = names[0] if same else " · ".join(names)
    tooltip = "\n".join([title, *(str(view.images.keys[one]) for one in (first, second))])
    return Card(second, view.run.picture(first, second), " and ".join(names), title, tooltip=tooltip, **look)


def neighbours(view: SplitView, evidence: Evidence, places: np.ndarray, measure: str = "") -> list[Card]:
    """The neighbours at some places (0-based) of a single query's list, with rank, similarity and verdict. measure:
    what ranks them, where that is not the run's similarity."""
    ranking = evidence.ranking
    items = evidence.gallery.items[ranking.neighbours[0, places]].tolist()
    ranks, verdicts = ranking.neighbour_ranks[0, places].tolist(), right(view.images, ranking.verdicts[0, places])
    listing = zip(items, ranks, ranking.scores[0, places], verdicts, strict=True)
    return [_ranked(view, item, rank, score, verdict, measure) for item, rank, score, verdict in listing]


def right(images: ImageSet, verdicts: np.ndarray) -> list[Right]:
    """What cards say of some images [n], by what `lab.core.results.compared` says of them; nothing where no image of
    the set has a class."""
    said: dict[int, Right] = {SAME: True, OTHER: False, UNKNOWN: "unknown" if images.class_names else None}
    return [said[int(one)] for one in verdicts]


def moved(card: Card, before: Mapping[int, int]) -> Card:
    """The card with an arrow: how far it moved since another ranking, in which deep neighbours have no known rank."""
    old, new = before.get(card.id), card.rank
    if new is None:  # it is left out of the ranks
        return card
    if not isinstance(new, int) or old == new:
        return replace(card, move=Move("same", "=", "same rank") if old == new else None)
    if old is None or old == UNRANKED:
        return replace(card, move=Move("up", "▲ new", "was below these ranks"))
    by = abs(old - new)
    way, arrow = ("up", "▲") if new < old else ("down", "▼")
    return replace(card, move=Move(way, f"{arrow} {by:,}", f"{way} by {by:,}"))


def missed(view: SplitView, evidence: Evidence, stop: int, most: int, allowed: np.ndarray) -> list[Card]:
    """The first `most` true matches that came after rank `stop`, with the rank at which each came.

    allowed: bool [g], gallery positions that may be shown.
    """
    positions, ranks = evidence.ranking.positives(0)
    late = np.flatnonzero((ranks > stop) & allowed[positions])[:most]
    positions, ranks = positions[late], ranks[late]
    vectors, vector = evidence.gallery.vectors[positions], evidence.query.vectors[0]
    cosine = view.whole.similarity == "cosine"
    scores = vectors @ vector if cosine else -np.square(vectors - vector).sum(1)
    items = evidence.gallery.items[positions].tolist()
    listing = zip(items, ranks.tolist(), scores, strict=True)
    return [_ranked(view, item, rank, score, True) for item, rank, score in listing]


def unjudged(view: SplitView, positions: np.ndarray, scores: np.ndarray, start: int) -> list[Card]:
    """Neighbours of a picture that has no class."""
    listing = zip(view.whole.gallery.items[positions].tolist(), scores, strict=True)
    return [_ranked(view, item, rank, score, None) for rank, (item, score) in enumerate(listing, start + 1)]


def query(view: SplitView, item: int, facts: list[tuple[str, str, str]]) -> Query:
    """The query's panel."""
    title = named(view.images, item)
    return Query(view.run.picture(item, side=LARGE), f"the query: {title}", title, _lines(view.images, item), facts)


def uploaded(image: Image.Image) -> Query:
    """The panel of an uploaded picture; nothing of the client's file is shown but its pixels."""
    size = f"{image.width:,} x {image.height:,} pixels"
    return Query(thumbnail(image, LARGE), "the uploaded picture", "Your picture", [size])


def has_class(images: ImageSet, item: int) -> bool:
    """Whether an image's class is known, so that others can be right or wrong for it."""
    return bool(images.labels[item] >= 0)


def named(images: ImageSet, item: int) -> str:
    """Name of an image's class; of one without a class, its own."""
    return images.class_name(images.labels[item]) or str(images.keys[item])


def _ranked(view: SplitView, item: int, rank: int, value: float, right: Right, measure: str = "") -> Card:
    """A card in a list. rank: 0 for an image that has no class and is left out of the ranks."""
    measure = measure or view.whole.similarity
    # A squared distance is kept as its negative, so that larger is nearer.
    words = f"distance² {-value:.1f}" if measure == "euclidean" else f"{measure} {value:.3f}"
    return card(view, item, rank="lost" if rank == UNRANKED else rank or None, right=right, value=words)


def _lines(images: ImageSet, item: int) -> list[str]:
    attributes = {name: str(values[item]) for name, values in images.attributes.items()}
    return [str(images.keys[item]), *(f"{name}: {value}" for name, value in attributes.items() if value)]
