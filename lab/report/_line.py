"""One line of a report: own runs over their seeds, or what a paper published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.core.estimates import Estimate
from lab.report._facts import Facts


@dataclass(frozen=True)
class Line:
    """One line of a report.

    name: the loss, with the knobs that set it apart; or a published method. data: with the part of it.
    scores: column to what was found, shares in [0, 1]. runs, seeds: behind it, empty for a published line.
    source: `own`, or paper and table of a published line. note: what else a reader has to know of a published line.
    spread: column to the standard deviation over the trials of a paper that prints one.
    """

    name: str
    data: str
    facts: Facts
    scores: dict[str, Estimate]
    source: str
    runs: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    note: str = ""
    spread: Mapping[str, float] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether a paper reports it, instead of having been measured here."""
        return not self.runs

    @property
    def label(self) -> str:
        """The name, with its source where that is a paper: how warnings speak of it."""
        return f"{self.name} [{self.source}]" if self.published else self.name
