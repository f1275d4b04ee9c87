"""One answer to a query as sections of the gallery and as facts: what came first, what was missed, what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app import cache, cards
from app.collection import Collection, first_wrong, per_query
from app.components.gallery import Section
from lab.results import UNRANKED, Evidence

MISSED_SHOWN = 24

Facts = list[tuple[str, str, str]]


def sections(
    run: cache.RunView,
    collection: Collection,
    evidence: Evidence,
    start: int,
    stop: int,
    *,
    whose: str = "",
    before: Mapping[int, int] | None = None,
) -> list[Section]:
    """Neighbours `start` to `stop` and the positives missed until then.

    Args:
        whose: heads the sections when there are two answers side by side.
        before: image to its rank in the other answer; the cards then say how far they moved.
    """
    ranking, ranks = evidence.ranking, evidence.ranking.positives(0)[1]
    right = int((ranks <= stop).sum())
    came, late = (
        cards.neighbours(run, collection, evidence, start, stop),
        cards.missed(run, collection, evidence, stop, MISSED_SHOWN),
    )
    if before is not None:
        came, late = ([cards.moved(card, before) for card in some] for some in (came, late))
    title = f"Nearest {stop}" if start == 0 else f"Neighbours {start + 1} to {stop}"
    found = f"{right} of {len(ranks)} true matches found"
    said = f"of {int(ranking.retrieved[0]):,} images by {collection.similarity}; {found}"
    neighbours = Section("neighbours", title, came, said, empty="This search returned nothing for the query.")
    missed = Section(
        "missed", "Missed", late, _missed_note(len(ranks) - right, len(late)), _nothing_missed(len(ranks), stop)
    )
    if not whose:
        return [neighbours, missed]
    return [
        replace(neighbours, id=f"neighbours {whose}", title=whose, note=found),
        replace(missed, id=f"missed {whose}"),
    ]


def _missed_note(missed: int, shown: int) -> str:
    if not missed:
        return ""
    more = f"; the first {shown} are shown" if shown < missed else ""
    return f"{missed} true match{'es' if missed > 1 else ''} further down, with the rank at which each came{more}"


def _nothing_missed(positives: int, stop: int) -> str:
    if positives == 0:
        return "This query has no other image of its class here, so nothing could be found and no metric counts it."
    return f"Nothing: every true match is among the first {stop}."


def facts(evidence: Evidence) -> Facts:
    """What the metrics say about the query, and where its matches came."""
    ranking, ranks = evidence.ranking, evidence.ranking.positives(0)[1]
    found = [
        (column, "–" if np.isnan(values[0]) else f"{values[0]:.3f}", cards.HELP.get(column, ""))
        for column, values in per_query(evidence).items()
    ]
    if len(ranks):
        wrong = first_wrong(ranking)
        found += [
            ("first match at", _rank(ranks[0]), "rank of the nearest true match"),
            ("last match at", _rank(ranks[-1]), "rank by which every true match was found"),
            ("first wrong at", f"{wrong:,}" if wrong else "none", "rank of the nearest image of another class"),
        ]
    return found


def both(one: Facts, other: Facts) -> Facts:
    """Facts of two answers in one list: `before → after`, or one value where they agree."""
    after = {name: value for name, value, _ in other}
    return [
        (name, value if after.get(name) == value else f"{value} → {after.get(name, '–')}", help)
        for name, value, help in one
    ]


def _rank(rank: int) -> str:
    return "lost" if rank == UNRANKED else f"{rank:,}"
