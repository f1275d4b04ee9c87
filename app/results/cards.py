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
"""Whether an image has the query's class, for its card. None: the card shows nothing."""

HELP = {
    "r@1": "1 when the nearest image is right (hit rate)",
    "r@4": "1 when one of the nearest four is right (hit rate)",
    "mAP": "average precision over the whole ranking",
    "MAP@R": "average precision of the first R, R being the number of true matches",
    "R-precision": "share of right images among the first R",
    "MRR": "1 / rank of the nearest true match",
}
"""Explanations of a query's metrics."""

LARGE = 384
"""Longest side of the query's own picture, in pixels."""


def card(view: SplitView, item: int, **fields: Any) -> Card:
    """Return the card of an image of a split. fields: further fields of the card, such as the rank."""
    return of_image(view.run, view.images, item, **fields)


def of_image(run: RunView, images: ImageSet, item: int, src: str = "", **fields: Any) -> Card:
    """Return the card of an image of a run's data set.

    Args:
        src: URL of the picture; by default the card contains the picture.
        fields: as in `card`.
    """
    item = int(item)  # it may be a number of numpy
    title = image_title(images, item)
    tooltip = "\n".join([title, *_lines(images, item)])
    return Card(item, src or run.picture(item), title, title, tooltip=tooltip, **fields)


def pair(view: SplitView, first: int, second: int, same: bool, **fields: Any) -> Card:
    """Return a card with two images of a split side by side. same: whether they have the same class."""
    first_title = image_title(view.images, first)
    second_title = image_title(view.images, second)
    title = first_title if same else f"{first_title} · {second_title}"
    keys = view.images.keys
    return Card(
        second,
        view.run.picture(first, second),
        f"{first_title} and {second_title}",
        title,
        tooltip=f"{title}\n{keys[first]}\n{keys[second]}",
        **fields,
    )


def neighbours(
    view: SplitView, evidence: Evidence, places: np.ndarray, measure: str = ""
) -> list[Card]:
    """Return the cards of a query's neighbours, with rank, similarity and correctness.

    Args:
        places: 0-based positions in the list of neighbours.
        measure: name of the score, if it is not the run's similarity.
    """
    ranking = evidence.ranking
    items = evidence.gallery.items[ranking.neighbours[0, places]].tolist()
    ranks = ranking.neighbour_ranks[0, places].tolist()
    scores = ranking.scores[0, places]
    verdicts = right(view.images, ranking.verdicts[0, places])
    return [
        _ranked(view, *values, measure)
        for values in zip(items, ranks, scores, verdicts, strict=True)
    ]


def right(images: ImageSet, verdicts: np.ndarray) -> list[Right]:
    """Convert verdicts of `lab.core.results.compared` [n] to those of cards."""
    by_verdict: dict[int, Right] = {SAME: True, OTHER: False, UNKNOWN: None}
    if images.class_names:
        by_verdict[UNKNOWN] = "unknown"
    return [by_verdict[int(verdict)] for verdict in verdicts]


def moved(card: Card, before: Mapping[int, int]) -> Card:
    """Return the card with an arrow for its change of rank. before: item to its rank in another ranking, if known."""
    new = card.rank
    old = before.get(card.id)
    if new is None:  # an image without a rank
        return card
    if old == new:
        return replace(card, move=Move("same", "=", "same rank"))
    if not isinstance(new, int):
        return replace(card, move=None)
    if old is None or old == UNRANKED:
        return replace(card, move=Move("up", "▲ new", "was below these ranks"))
    if new < old:
        return replace(card, move=Move("up", f"▲ {old - new:,}", f"up by {old - new:,}"))
    return replace(card, move=Move("down", f"▼ {new - old:,}", f"down by {new - old:,}"))


def missed(
    view: SplitView, evidence: Evidence, stop: int, most: int, allowed: np.ndarray
) -> list[Card]:
    """Return the cards of the first `most` true matches after rank `stop`.

    allowed: bool [g], gallery positions that may be shown.
    """
    positions, ranks = evidence.ranking.positives(0)
    late = np.flatnonzero((ranks > stop) & allowed[positions])[:most]
    positions = positions[late]
    vectors = evidence.gallery.vectors[positions]
    query_vector = evidence.query.vectors[0]
    if view.collection.similarity == "cosine":
        scores = vectors @ query_vector
    else:
        scores = -np.square(vectors - query_vector).sum(1)
    items = evidence.gallery.items[positions].tolist()
    ranked = zip(items, ranks[late].tolist(), scores, strict=True)
    return [_ranked(view, item, rank, score, True) for item, rank, score in ranked]


def unjudged(view: SplitView, positions: np.ndarray, scores: np.ndarray, start: int) -> list[Card]:
    """Return the cards of neighbours of a picture without a class."""
    items = view.collection.gallery.items[positions].tolist()
    ranks = range(start + 1, start + 1 + len(items))
    ranked = zip(items, ranks, scores, strict=True)
    return [_ranked(view, item, rank, score, None) for item, rank, score in ranked]


def query(view: SplitView, item: int, facts: list[tuple[str, str, str]]) -> Query:
    """Return the query's panel."""
    title = image_title(view.images, item)
    return Query(
        view.run.picture(item, side=LARGE),
        f"the query: {title}",
        title,
        _lines(view.images, item),
        facts,
    )


def uploaded(image: Image.Image) -> Query:
    """Return the panel of an uploaded picture. It shows only the pixels, not the file's name."""
    size = f"{image.width:,} x {image.height:,} pixels"
    return Query(thumbnail(image, LARGE), "the uploaded picture", "Your picture", [size])


def has_class(images: ImageSet, item: int) -> bool:
    """Return whether an image's class is known."""
    return bool(images.labels[item] >= 0)


def image_title(images: ImageSet, item: int) -> str:
    """Return the name of an image's class, or the image's own name if it has no class."""
    return images.class_name(images.labels[item]) or str(images.keys[item])


def _ranked(
    view: SplitView, item: int, rank: int, value: float, right: Right, measure: str = ""
) -> Card:
    """Return a card in a list. rank: 0 for an image that has no class and therefore no rank."""
    measure = measure or view.collection.similarity
    if measure == "euclidean":  # stored as the negative squared distance, so that larger is nearer
        words = f"distance² {-value:.1f}"
    else:
        words = f"{measure} {value:.3f}"
    shown_rank: int | str | None = rank or None
    if rank == UNRANKED:
        shown_rank = "lost"
    return card(view, item, rank=shown_rank, right=right, value=words)


def _lines(images: ImageSet, item: int) -> list[str]:
    lines = [str(images.keys[item])]
    for name, values in images.attributes.items():
        value = str(values[item])
        if value:
            lines.append(f"{name}: {value}")
    return lines
