"""How far long work on a data set is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """what: the file or the images being worked on; done, total: in `unit`; total is None when nobody can say."""

    what: str
    done: int
    total: int | None
    unit: str
