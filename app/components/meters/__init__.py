"""Shares as bars with a mark at what they should be held against, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.components import component


@dataclass(frozen=True)
class Meter:
    """One bar.

    value: 0 to 1. against: where the mark stands, 0 to 1, and what it is. right: True blue with a check mark, False
    vermillion hatched with a cross, None neither.
    """

    title: str
    value: float
    words: str
    against: float | None = None
    against_title: str = ""
    right: bool | None = None


def meters(bars: Sequence[Meter], *, key: str) -> None:
    """Draw meters side by side, as many in a row as fit."""
    component("meters")(key=key, data={"meters": [asdict(one) for one in bars]})
