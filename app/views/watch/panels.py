"""Which curves stand on which chart: those of one run side by side, or one quantity of several runs. No Streamlit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.results.metrics_reader import COLUMNS, Journal, Points, scaled, title

FIRST = ("MAP@R", "loss")
"""Quantities of several runs until somebody chooses."""


@dataclass(frozen=True)
class Panel:
    """One chart. quantity: what its look goes by. curves: name in the legend to steps and values."""

    title: str
    quantity: str
    curves: dict[str, Points]


def quantities(journals: Sequence[Journal]) -> list[str]:
    """All that any of these runs tells of, validation scores first."""
    names = dict.fromkeys(name for one in journals for name in one.names if _tells(one.curve(name)))
    return [*(name for name in names if name not in COLUMNS), *(name for name in names if name in COLUMNS)]


def of_one(journal: Journal, chosen: Sequence[str]) -> list[Panel]:
    """The charts of one run: its validation scores share one, as they share a scale; every other quantity has its own.

    chosen: quantities, all of them where there are none.
    """
    known = quantities([journal])
    names = [name for name in known if name in chosen] or known
    scores = {name: journal.curve(name) for name in names if name not in COLUMNS}
    shared = [Panel("validation", "validation", scores)] if scores else []
    columns = [name for name in names if name in COLUMNS]
    return shared + [Panel(title(name), name, {title(name): scaled(journal, name)}) for name in columns]


def of_several(journals: Mapping[str, Journal], chosen: Sequence[str]) -> list[Panel]:
    """A chart for each quantity with a line for each run that tells of it.

    chosen: quantities; where there are none, the first of `FIRST`, or of what there is.
    """
    known = quantities(list(journals.values()))
    wanted = [name for name in chosen if name in known] or [name for name in FIRST if name in known] or known[:2]
    curves = {name: {run: one for run, one in journals.items() if _tells(one.curve(name))} for name in wanted}
    return [
        Panel(title(name), name, {run: scaled(one, name) for run, one in ones.items()}) for name, ones in curves.items()
    ]


def _tells(curve: Points) -> bool:
    """Whether there is anything to draw: a loop of somebody's own need not tell of everything."""
    return any(value is not None for value in curve[1])
