"""One answer to a query as sections of the gallery and as facts: what came first, what was missed, what it is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.components.gallery import Card, CardSection
from app.results import cards
from app.results.cache import SplitView
from lab.core.results import UNRANKED, Evidence
from lab.data import ImageSet
from lab.evaluation.collection import at_k, first_wrong, per_query
from lab.evaluation.filters import Filter

MISSED_SHOWN = 24
NOTHING_TO_FIND = (
    "This query has no other image of its class here, so there is nothing to find and no metric counts it."
)

Facts = list[tuple[str, str, str]]

ONE_QUERY = {"mAP": "AP"}
"""What a mean over queries is called when it is of one."""


@dataclass(frozen=True)
class ShownPart:
    """What is shown of an answer.

    places: int64, the neighbours that may be shown, as 0-based ranks; start, stop: which of them are on this page.
    allowed: bool [g], gallery positions that may be shown.
    reached: int64, the rank that the list has reached at each of its places: an image that has no class and is left out
        of the ranks has none of its own.
    k: rank after which a line is drawn.
    measure: what the list is ranked by, where that is not the run's own similarity.
    """

    places: np.ndarray
    start: int
    stop: int
    allowed: np.ndarray
    reached: np.ndarray
    k: int
    measure: str = ""

    @property
    def here(self) -> np.ndarray:
        return self.places[self.start : self.stop]

    @property
    def last(self) -> int:
        """1-based rank down to which everything that may be shown has been."""
        whole = not 0 < self.stop < len(self.places)
        return int(self.reached[-1 if whole else self.places[self.stop - 1]]) if len(self.reached) else 0


def part(evidence: Evidence, chosen: Filter, images: ImageSet, k: int) -> ShownPart:
    """The neighbours that pass a filter, all on one page."""
    neighbours = evidence.ranking.neighbours[0]
    neighbours = neighbours[neighbours >= 0]
    allowed = np.ones(len(evidence.gallery), bool)
    if chosen:
        allowed = chosen.neighbours(images, evidence.gallery.items)
    places = np.flatnonzero(allowed[neighbours])
    reached = np.cumsum(evidence.ranking.neighbour_ranks[0, : len(neighbours)] > 0)
    return ShownPart(places, 0, len(places), allowed, reached, k)


def sections(
    view: SplitView,
    evidence: Evidence,
    part: ShownPart,
    whose: str = "",
    before: Mapping[int, int] | None = None,
    seen: int = 0,
) -> list[CardSection]:
    """The neighbours on this page and the positives missed until then.

    Args:
        whose: heads the sections when there are two answers side by side.
        before: image to its rank in the other answer; the cards then say how far they moved.
        seen: rank down to which the other answer is shown.
    """
    positions, ranks = evidence.ranking.positives(0)
    shown = part.allowed[positions]
    right, total = int((ranks[shown] <= part.last).sum()), int(shown.sum())

    def dressed(card: Card) -> Card:
        card = replace(card, cut=card.rank == part.k)
        return card if before is None else cards.moved(card, before)

    came = [dressed(card) for card in cards.neighbours(view, evidence, part.here, part.measure)]
    late = [dressed(card) for card in cards.missed(view, evidence, part.last, MISSED_SHOWN, part.allowed)]
    filtered = not part.allowed.all()
    title = f"Nearest {part.stop}" if part.start == 0 else f"Neighbours {part.start + 1} to {part.stop}"
    known = cards.has_class(view.images, int(evidence.query.items[0]))
    score = f"{right} of {total} true matches found"
    score = score if known else "its class is not known, so nothing is right or wrong"
    if known and evidence.ranking.left_out:
        score += "; images without a class (?) have no rank"
    retrieved = int(evidence.ranking.retrieved[0])
    of = f"{int(part.allowed.sum()):,} of {len(part.allowed):,}" if filtered else f"{retrieved:,}"
    note = f"of {of} images by {view.whole.similarity}; {score}" + "; ranks are those without the filter" * filtered
    empty = "No neighbour passes the filter." if filtered else "The list ends here."
    nothing = f"None: every true match is among the first {part.last}."
    if not known:
        nothing = "The query's class is not known, so no image can be missed."
    elif not total:
        nothing = NOTHING_TO_FIND
    count = total - right
    more = f"; the first {len(late)} are shown" if len(late) < count else ""
    further = f"{count} true match{'es' if count > 1 else ''} further down, with rank{more}" if count else ""
    if whose:
        title, note = whose, score + ("" if before is None else _change(came, before, seen))
    of_whom = f" {whose}" if whose else ""
    neighbours = CardSection(f"neighbours{of_whom}", title, came, note, empty)
    return [neighbours, CardSection(f"missed{of_whom}", "Missed", late, further, nothing)]


def _change(came: Sequence[Card], before: Mapping[int, int], seen: int) -> str:
    """What another ranking changed among the cards of a page, in words; new is what the other one does not show."""
    new = sum(before.get(card.id, UNRANKED) > seen for card in came)
    moved = sum(card.move is not None and card.move.way != "same" for card in came) - new
    return f"; {new} new here, {moved} moved" if new or moved else "; nothing moved here"


def facts(evidence: Evidence, k: int) -> Facts:
    """What the metrics say about the query, and where its matches came."""
    ranking, ranks = evidence.ranking, evidence.ranking.positives(0)[1]
    explained = {
        f"r@{k}": "1 when one of the first k is right (hit rate)",
        f"recall@{k}": "share of all true matches",
        f"P@{k}": "share of right images among the first k",
    } | cards.HELP
    values = {column: values[0] for column, values in per_query(evidence).items()} | at_k(evidence, k)
    rows = [
        (ONE_QUERY.get(column, column), "–" if np.isnan(value) else f"{value:.3f}", explained.get(column, ""))
        for column, value in values.items()
    ]
    if len(ranks):
        wrong = first_wrong(ranking)
        rows += [
            ("first match at", rank_words(ranks[0]), "rank of the nearest true match"),
            ("last match at", rank_words(ranks[-1]), "rank by which every true match was found"),
            ("first wrong at", f"{wrong:,}" if wrong else "none", "rank of the nearest image of another class"),
        ]
    main = (ONE_QUERY["mAP"], f"recall@{k}", "first match at", "first wrong at")
    return sorted(rows, key=lambda row: main.index(row[0]) if row[0] in main else len(main))  # those are seen at once


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
