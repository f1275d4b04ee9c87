"""One answer to a query as sections of the gallery and as facts: what came first, what was missed, what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.components.gallery import Card, Section
from app.results import cache, cards
from lab.core.results import UNRANKED, Evidence
from lab.data import ImageSet
from lab.evaluation.collection import Collection, at_k, first_wrong, per_query
from lab.evaluation.filters import Filter

MISSED_SHOWN = 24
NOTHING_TO_FIND = (
    "This query has no other image of its class here, so there is nothing to find and no metric counts it."
)

WeightOf = Callable[[int], float | None]
Facts = list[tuple[str, str, str]]

ONE_QUERY = {"mAP": "AP"}
"""What a mean over queries is called when it is of one."""


@dataclass(frozen=True)
class ShownPart:
    """What is shown of an answer.

    places: int64, the neighbours that may be shown, as 0-based ranks; start, stop: which of them are on this page.
    allowed: bool [g], gallery positions that may be shown.
    kept: how many neighbours the ranking has.
    k: rank after which a line is drawn.
    weight_of: how a loss moves an image, in units of the largest, when somebody asks.
    """

    places: np.ndarray
    start: int
    stop: int
    allowed: np.ndarray
    kept: int
    k: int
    weight_of: WeightOf | None = None

    @property
    def here(self) -> np.ndarray:
        return self.places[self.start : self.stop]

    @property
    def last(self) -> int:
        """1-based rank down to which everything that may be shown has been."""
        return int(self.places[self.stop - 1]) + 1 if 0 < self.stop < len(self.places) else self.kept


def part(evidence: Evidence, chosen: Filter, images: ImageSet, k: int, weight_of: WeightOf | None = None) -> ShownPart:
    """The neighbours that pass a filter, all on one page."""
    neighbours = evidence.ranking.neighbours[0]
    neighbours = neighbours[neighbours >= 0]
    if not chosen:
        allowed, places = np.ones(len(evidence.gallery), bool), np.arange(len(neighbours))
    else:
        allowed = chosen.neighbours(images, evidence.gallery.items)
        places = np.flatnonzero(allowed[neighbours])
    return ShownPart(places, 0, len(places), allowed, len(neighbours), k, weight_of)


def sections(
    run: cache.RunView, collection: Collection, evidence: Evidence, part: ShownPart, *, whose: str = "",
    before: Mapping[int, int] | None = None, seen: int = 0,
) -> list[Section]:  # fmt: skip
    """The neighbours on this page and the positives missed until then.

    Args:
        whose: heads the sections when there are two answers side by side.
        before: image to its rank in the other answer; the cards then say how far they moved.
        seen: rank down to which the other answer is shown.
    """
    ranking, (positions, ranks) = evidence.ranking, evidence.ranking.positives(0)
    wanted = part.allowed[positions]
    last = part.last
    right, total = int((ranks[wanted] <= last).sum()), int(wanted.sum())
    came = cards.neighbours(run, collection, evidence, part.here)
    late = cards.missed(run, collection, evidence, last, MISSED_SHOWN, part.allowed)
    for some in (came, late):
        for at, card in enumerate(some):
            weight = None if part.weight_of is None else part.weight_of(card.id)
            card = cards.weighed(replace(card, cut=card.rank == part.k), weight)
            some[at] = card if before is None else cards.moved(card, before)
    filtered = not part.allowed.all()
    title = f"Nearest {part.stop}" if part.start == 0 else f"Neighbours {part.start + 1} to {part.stop}"
    known = cards.has_class(collection, int(evidence.query.items[0]))
    score = (
        f"{right} of {total} true matches found" if known else "its class is not known, so nothing is right or wrong"
    )
    of = f"{int(part.allowed.sum()):,} of {len(part.allowed):,}" if filtered else f"{int(ranking.retrieved[0]):,}"
    note = f"of {of} images by {collection.similarity}; {score}" + ("; ranks are those without the filter" * filtered)
    empty = "No neighbour passes the filter." if filtered else "This search returned nothing for the query."
    if len(part.places):
        empty = f"The list ends here, with {len(part.places):,} neighbours."
    neighbours = Section("neighbours", title, came, note, empty=empty)
    nothing = f"None: every true match is among the first {last}."
    if not known:
        nothing = "The query's class is not known, so no image can be missed."
    elif not total:
        nothing = (
            "This query has no other image of its class here, so there is nothing to find and no metric counts it."
        )
    count = total - right
    more = f"; the first {len(late)} are shown" if len(late) < count else ""
    further = f"{count} true match{'es' if count > 1 else ''} further down, with rank{more}" if count else ""
    missed = Section("missed", "Missed", late, further, nothing)
    if not whose:
        return [neighbours, missed]
    change = "" if before is None else _change(came, before, seen)
    return [
        replace(neighbours, id=f"neighbours {whose}", title=whose, note=score + change),
        replace(missed, id=f"missed {whose}"),
    ]


def _change(came: Sequence[Card], before: Mapping[int, int], seen: int) -> str:
    """What another ranking changed among the cards of a page, in words; new is what the other one does not show."""
    new = sum(before.get(card.id, UNRANKED) > seen for card in came)
    moved = sum(card.move is not None and card.move.way != "same" for card in came) - new
    return f"; {new} new here, {moved} moved" if new or moved else "; nothing moved here"


def facts(evidence: Evidence, k: int) -> Facts:
    """What the metrics say about the query, and where its matches came."""
    ranking, ranks = evidence.ranking, evidence.ranking.positives(0)[1]
    help_of = {f"r@{k}": "1 when one of the first k is right (hit rate)", f"recall@{k}": "share of all true matches",
            f"P@{k}": "share of right images among the first k"}  # fmt: skip
    values = {column: values[0] for column, values in per_query(evidence).items()} | at_k(evidence, k)
    help_of |= cards.HELP
    rows = [
        (ONE_QUERY.get(column, column), "–" if np.isnan(value) else f"{value:.3f}", help_of.get(column, ""))
        for column, value in values.items()
    ]
    if len(ranks):
        wrong = first_wrong(ranking)
        rows += [
            ("first match at", rank_words(ranks[0]), "rank of the nearest true match"),
            ("last match at", rank_words(ranks[-1]), "rank by which every true match was found"),
            ("first wrong at", f"{wrong:,}" if wrong else "none", "rank of the nearest image of another class"),
        ]
    return rows


def both(one: Facts, other: Facts) -> Facts:
    """Facts of two answers in one list: `before → after`, or one value where they agree."""
    after = {name: value for name, value, _ in other}
    return [
        (name, value if after.get(name) == value else f"{value} → {after.get(name, '–')}", help)
        for name, value, help in one
    ]


def rank_words(rank: int) -> str:
    """A rank as people read it."""
    return "lost" if rank == UNRANKED else f"{rank:,}"
