"""The ranking of one query as sections of the gallery, and its metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.components.gallery import Card, CardSection
from app.results import cards
from app.results.cache import SplitView
from lab.core.formats import counted
from lab.core.results import UNRANKED, Evidence
from lab.data import ImageSet
from lab.evaluation.collection import at_k, first_wrong, per_query
from lab.evaluation.filters import Filter

MISSED_SHOWN = 24
"""Most missed matches to show."""

NOTHING_TO_FIND = (
    "This query has no other image of its class here, so there is "
    "nothing to find and no metric counts it."
)

Facts = list[tuple[str, str, str]]
"""Name, value and explanation of each metric."""

ONE_QUERY = {"mAP": "AP"}
"""Name of a mean over queries to its name for one query."""


@dataclass(frozen=True)
class ShownPart:
    """The part of a ranking that is shown.

    places: int64, 0-based positions in the ranking that may be shown. start, stop: which of them are on this page.
    allowed: bool [g], gallery positions that may be shown.
    reached: int64, the last rank at or before each position. Images without a class have no rank of their own.
    k: rank after which a line is drawn.
    measure: name of the score, if it is not the run's similarity.
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
        """The positions on this page."""
        return self.places[self.start : self.stop]

    @property
    def last(self) -> int:
        """The rank (from 1) down to which every allowed image has been shown."""
        if not len(self.reached):
            return 0
        if 0 < self.stop < len(self.places):
            return int(self.reached[self.places[self.stop - 1]])
        return int(self.reached[-1])


def part(evidence: Evidence, chosen: Filter, images: ImageSet, k: int) -> ShownPart:
    """Return the part of a ranking that passes a filter, on one page."""
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
    """Return the neighbours on this page and the true matches that were missed so far.

    Args:
        whose: name of the ranking, if two are compared.
        before: image to its rank in the other ranking. The cards then show how far they moved.
        seen: rank down to which the other ranking is shown.
    """
    positions, ranks = evidence.ranking.positives(0)
    shown = part.allowed[positions]
    total = int(shown.sum())
    found = int((ranks[shown] <= part.last).sum())
    has_class = cards.has_class(view.images, int(evidence.query.items[0]))

    def finish(card: Card) -> Card:
        card = replace(card, cut=card.rank == part.k)
        if before is None:
            return card
        return cards.moved(card, before)

    near = [finish(card) for card in cards.neighbours(view, evidence, part.here, part.measure)]
    missed = [
        finish(card) for card in cards.missed(view, evidence, part.last, MISSED_SHOWN, part.allowed)
    ]

    # The sentence above the neighbours.
    score = "its class is not known, so nothing is right or wrong"
    if has_class:
        score = f"{found} of {total} true matches found"
        if evidence.ranking.left_out:
            score += "; images without a class (?) have no rank"
    is_filtered = not part.allowed.all()
    if whose:
        title = whose
        note = score if before is None else f"{score}; {_change(near, before, seen)}"
    else:
        title = f"Nearest {part.stop}"
        if part.start > 0:
            title = f"Neighbours {part.start + 1} to {part.stop}"
        searched = f"{int(evidence.ranking.retrieved[0]):,}"
        if is_filtered:
            searched = f"{int(part.allowed.sum()):,} of {len(part.allowed):,}"
        note = f"of {searched} images by {view.collection.similarity}; {score}"
        if is_filtered:
            note += "; ranks are those without the filter"
    empty = "No neighbour passes the filter." if is_filtered else "The list ends here."

    # The sentence above the missed matches, or in their place.
    count = total - found
    missed_note = ""
    if count:
        missed_note = f"{counted(count, 'true match', 'true matches')} further down, with rank"
        if len(missed) < count:
            missed_note += f"; the first {len(missed)} are shown"
    none_missed = f"None: every true match is among the first {part.last}."
    if not has_class:
        none_missed = "The query's class is not known, so no image can be missed."
    elif not total:
        none_missed = NOTHING_TO_FIND

    suffix = f" {whose}" if whose else ""
    return [
        CardSection(f"neighbours{suffix}", title, near, note, empty),
        CardSection(f"missed{suffix}", "Missed", missed, missed_note, none_missed),
    ]


def _change(near: Sequence[Card], before: Mapping[int, int], seen: int) -> str:
    """Describe the cards that another ranking moved, and those that the other ranking does not show."""
    new = 0
    moved = 0
    for card in near:
        if before.get(card.id, UNRANKED) > seen:
            new += 1
        if card.move is not None and card.move.way != "same":
            moved += 1
    moved -= new
    if new or moved:
        return f"{new} new here, {moved} moved"
    return "nothing moved here"


def facts(evidence: Evidence, k: int) -> Facts:
    """Return the metrics of the query, and the ranks of its first and last match."""
    helps = {
        f"r@{k}": "1 when one of the first k is right (hit rate)",
        f"recall@{k}": "share of all true matches",
        f"P@{k}": "share of right images among the first k",
        **cards.HELP,
    }
    values = {column: column_values[0] for column, column_values in per_query(evidence).items()}
    values |= at_k(evidence, k)
    rows = []
    for column, value in values.items():
        words = "–" if np.isnan(value) else f"{value:.3f}"
        rows.append((ONE_QUERY.get(column, column), words, helps.get(column, "")))
    ranks = evidence.ranking.positives(0)[1]
    if len(ranks):
        wrong = first_wrong(evidence.ranking)
        wrong_words = f"{wrong:,}" if wrong else "none"
        rows.append(("first match at", rank_words(ranks[0]), "rank of the nearest true match"))
        rows.append(
            ("last match at", rank_words(ranks[-1]), "rank by which every true match was found")
        )
        rows.append(("first wrong at", wrong_words, "rank of the nearest image of another class"))

    # The gallery shows the first facts without a click.
    main = (ONE_QUERY["mAP"], f"recall@{k}", "first match at", "first wrong at")
    return sorted(rows, key=lambda row: main.index(row[0]) if row[0] in main else len(main))


def both(first: Facts, second: Facts) -> Facts:
    """Merge the facts of two rankings: `before → after`, or one value if they are equal."""
    after = {name: value for name, value, _ in second}
    merged = []
    for name, value, help in first:
        new = after.get(name, "–")
        merged.append((name, value if value == new else f"{value} → {new}", help))
    return merged


def rank_words(rank: int) -> str:
    """Return a rank as text."""
    return "lost" if rank == UNRANKED else f"{rank:,}"
