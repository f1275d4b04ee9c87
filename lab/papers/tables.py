"""Numbers that papers report, in one place: recipes, `lab runs report`, figures and the dashboard read them here.

None of them was measured by this program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lab.core import yaml_reader


class Title(NamedTuple):
    """What a paper is called: in short wherever a person reads a source, in full where it is introduced."""

    short: str
    full: str


TITLES = {
    "000": Title("RS@k", "Recall@k Surrogate Loss with Large Batches and Similarity Mixup (Patel et al., 2022)"),
    "001": Title("ROADMAP", "Robust and Decomposable Average Precision for Image Retrieval (Ramzi et al., 2021)"),
    "002": Title("DML deck", "Best Practice DML, lecture slides on good practice in deep metric learning"),
    "003": Title("CAM", "Class Anchor Margin Loss for Content-Based Image Retrieval (Ghita and Ionescu, 2023)"),
    "004": Title(
        "Contextual",
        "Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization (Liao et al.)",
    ),
}
"""Titles by the number that a paper has in `tables.yaml` and in comments; `source` always says the short title."""


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table.

    paper, table: where it stands. data: entry of `lab.data`; part: which of its test sets, "" where there is one.
    method: as printed. loss: entry of `lab.losses`, None for a method that the lab lacks. encoder: as printed. dim:
    width of the embedding, None if not printed.
    values: column of our metrics to share in [0, 1].
    size: side of the images in pixels, None if not printed.
    selected_on_test: the checkpoint was chosen by the test score. recipe: name of the one that trains it, or None.
    like, flags: recipe that trains it once these words follow its command, for a row without one of its own.
    quoted: the paper took the row over from another one, settings not printed.
    note: what else a reader has to know, such as another paper's other number for the same row; "" if nothing.
    milliseconds: of one search on the authors' machine, and their deviation; None if not printed.
    protocol: knobs of data and evaluation that say how it was measured, where known and not the set's own way.
    search: column to `two_stage` where the paper searched so, or `untold`; all others were searched exactly.
    spread: column to the standard deviation over the trials, where it is printed; a share, too.
    """

    paper: str
    table: str
    data: str
    part: str
    method: str
    loss: str | None
    encoder: str
    dim: int | None
    values: dict[str, float]
    size: int | None = None
    selected_on_test: bool = False
    recipe: str | None = None
    like: str | None = None
    flags: str = ""
    quoted: bool = False
    note: str = ""
    milliseconds: tuple[float, float] | None = None
    protocol: Mapping[str, object] = field(default_factory=dict)
    search: Mapping[str, str] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """`RS@k, table 2`."""
        return f"{TITLES[self.paper].short}, {self.table}"

    @property
    def told_source(self) -> str:
        """The source, and whether the paper quotes the row: what stands beside its numbers in a table."""
        return f"{self.source}, quoted" if self.quoted else self.source

    @property
    def command(self) -> str | None:
        """What trains and measures it here, but for the protocol that the note may name; None: nothing does."""
        recipe = self.recipe or self.like
        return f"lab train --config {recipe} --data.root FOLDER {self.flags}".strip() if recipe else None

    @property
    def measured(self) -> str:
        """What sets apart how its scores were measured or chosen: `mAP: two-stage search; checkpoint by test score`."""
        searches = [f"{column}: {search.replace('_', '-')} search" for column, search in self.search.items()]
        words = {True: "yes", False: "no"}
        knobs = {knob: words[value] if isinstance(value, bool) else value for knob, value in self.protocol.items()}
        protocol = [f"{knob.replace('_', ' ')} {value}" for knob, value in knobs.items()]
        return "; ".join([*searches, *protocol, *(["checkpoint by test score"] if self.selected_on_test else [])])

    @property
    def scores(self) -> str:
        """`r@1 82.8, r@10 92.9`, in percent, as printed but for spreads."""
        return ", ".join(f"{column} {100 * value:.1f}" for column, value in self.values.items())


@cache
def _all() -> tuple[PublishedRow, ...]:
    blocks = yaml_reader.load((Path(__file__).parent / "tables.yaml").read_text(encoding="utf-8"))
    return tuple(_row(block, *row) for block in blocks for row in block["rows"])


def _row(
    block: dict, method: str, loss: str | None, encoder: str, dim: int | None, numbers: list, extra: dict | None = None
) -> PublishedRow:
    extra = extra or {}
    like, flags = None, ""
    if "like" in block:  # the recipe of another row trains this one, with these words behind its command
        first, _, rest = method.partition(", ")
        like = block["like"].get(first) or block["like"][encoder]
        flags = {"": "", **block.get("flags", {})}[rest]
    values = {c: round(n / 100, 6) for c, n in zip(block["columns"], numbers, strict=True) if n is not None}
    spread = zip(block["columns"], extra.get("spread", ()), strict="spread" in extra)
    return PublishedRow(
        paper=block["paper"],
        table=block["table"],
        data=block["data"],
        part=block.get("part", ""),
        method=method,
        loss=loss,
        encoder=encoder,
        dim=dim,
        values=values,
        size=extra.get("size", block.get("size")),
        selected_on_test=block.get("selected") == "test",
        recipe=extra.get("recipe"),
        like=like,
        flags=flags,
        quoted=extra.get("quoted", False),
        note=" ".join(filter(None, _notes(block, extra))),
        milliseconds=tuple(extra["milliseconds"]) if "milliseconds" in extra else None,
        protocol={} if extra.get("quoted") else {**block.get("protocol", {}), **extra.get("protocol", {})},
        search=extra.get("search", {}),
        spread={c: round(s / 100, 6) for c, s in spread if s is not None},
    )


def _notes(block: dict, extra: dict) -> Iterator[str]:
    """What a reader has to know of a row, sentence by sentence; its cost on the authors' machine comes last."""
    if not extra.get("quoted"):
        yield block.get("note", "")
    yield extra.get("note", "")
    if "minutes" in extra:
        yield f"{extra['minutes']} minutes an epoch, on the authors' machine."
    if "milliseconds" in extra:
        yield "{} ± {} ms a search, on the authors' machine.".format(*extra["milliseconds"])


def rows(data: Collection[str] | None = None, loss: Collection[str] | None = None) -> tuple[PublishedRow, ...]:
    """Published rows in the order of the papers, of all data sets and losses or of those named."""
    return tuple(r for r in _all() if (data is None or r.data in data) and (loss is None or r.loss in loss))


def of_recipe(name: str) -> tuple[PublishedRow, ...]:
    """The rows that a recipe trains for: one, or one for each of its test sets."""
    return tuple(r for r in _all() if r.recipe == name)
