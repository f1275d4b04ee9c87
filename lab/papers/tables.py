"""Published results: recipes, `lab runs report`, figures and the dashboard read the numbers of papers from here.

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
    """The title of a paper: short where a number is attributed to it, full where the paper is introduced."""

    short: str
    full: str


TITLES = {
    "000": Title(
        "RS@k",
        "Recall@k Surrogate Loss with Large Batches and Similarity Mixup (Patel et al., 2022)",
    ),
    "001": Title(
        "ROADMAP",
        "Robust and Decomposable Average Precision for Image Retrieval (Ramzi et al., 2021)",
    ),
    "002": Title(
        "DML deck", "Best Practice DML, lecture slides on good practice in deep metric learning"
    ),
    "003": Title(
        "CAM",
        "Class Anchor Margin Loss for Content-Based Image Retrieval (Ghita and Ionescu, 2023)",
    ),
    "004": Title(
        "Contextual",
        "Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization (Liao et al.)",
    ),
}
"""Titles by the number that a paper has in `tables.yaml` and in comments; `source` uses the short title."""


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table.

    paper, table: number of the paper, and its table.
    data: entry of `lab.data`. part: which of its test sets; "" if it has only one.
    method, encoder: as printed. loss: entry of `lab.losses`; None for a method that the lab lacks.
    dim: width of the embedding; None if not printed. size: side of the images in pixels; None if not printed.
    values: scores by column of our metrics, as shares in [0, 1].
    spread: standard deviations over the trials by column, where printed; also shares.
    selected_on_test: whether the checkpoint was chosen by the test score.
    recipe: name of the recipe that trains it, or None.
    like, flags: for a row without a recipe of its own, a recipe that trains it, and the flags to add to its command.
    quoted: whether the paper took the row from another paper, whose settings are not printed.
    note: further remarks, such as another number for the same row in another paper; "" if there are none.
    milliseconds: duration of one search on the authors' machine, and its deviation; None if not printed.
    protocol: knobs of data and evaluation that differ from the official protocol of the data set, where known.
    search: `two_stage` or `untold` by column, where the paper did not search exactly or does not say how.
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
        """The source in words, such as `RS@k, table 2`."""
        return f"{TITLES[self.paper].short}, {self.table}"

    @property
    def told_source(self) -> str:
        """The source, followed by `quoted` if the paper took the row from another one, for tables."""
        return f"{self.source}, quoted" if self.quoted else self.source

    @property
    def command(self) -> str | None:
        """The command that trains and measures it, except for a protocol that the note names; None if there is none."""
        recipe = self.recipe or self.like
        if recipe is None:
            return None
        return f"lab train --config {recipe} --data.root FOLDER {self.flags}".strip()

    @property
    def measured(self) -> str:
        """How its scores were measured or chosen, where unusual: `mAP: two-stage search; checkpoint by test score`."""
        parts = []
        for column, search in self.search.items():
            parts.append(f"{column}: {search.replace('_', '-')} search")
        for knob, value in self.protocol.items():
            if isinstance(value, bool):
                value = "yes" if value else "no"
            parts.append(f"{knob.replace('_', ' ')} {value}")
        if self.selected_on_test:
            parts.append("checkpoint by test score")
        return "; ".join(parts)

    @property
    def scores(self) -> str:
        """The scores in percent, as printed but without spreads, such as `r@1 82.8, r@10 92.9`."""
        return ", ".join(f"{column} {100 * value:.1f}" for column, value in self.values.items())


@cache
def _all() -> tuple[PublishedRow, ...]:
    """Return all rows of `tables.yaml`."""
    blocks = yaml_reader.load((Path(__file__).parent / "tables.yaml").read_text(encoding="utf-8"))
    rows = []
    for block in blocks:
        for cells in block["rows"]:
            rows.append(_row(block, *cells))
    return tuple(rows)


def _row(
    block: dict,
    method: str,
    loss: str | None,
    encoder: str,
    dim: int | None,
    numbers: list,
    extra: dict | None = None,
) -> PublishedRow:
    """Return the row that a block of `tables.yaml` lists; `extra` holds facts of this row alone."""
    extra = extra or {}

    # The recipe of another row trains this one, with further flags.
    like = None
    flags = ""
    if "like" in block:
        base_method, _, variant = method.partition(", ")
        like = block["like"].get(base_method) or block["like"][encoder]
        flags_of = {"": "", **block.get("flags", {})}
        flags = flags_of[variant]

    spread = {}
    if "spread" in extra:
        spread = _shares(block["columns"], extra["spread"])

    quoted = extra.get("quoted", False)
    protocol = {}
    if not quoted:
        protocol = {**block.get("protocol", {}), **extra.get("protocol", {})}

    return PublishedRow(
        paper=block["paper"],
        table=block["table"],
        data=block["data"],
        part=block.get("part", ""),
        method=method,
        loss=loss,
        encoder=encoder,
        dim=dim,
        values=_shares(block["columns"], numbers),
        size=extra.get("size", block.get("size")),
        selected_on_test=block.get("selected") == "test",
        recipe=extra.get("recipe"),
        like=like,
        flags=flags,
        quoted=quoted,
        note=" ".join(filter(None, _notes(block, extra))),
        milliseconds=tuple(extra["milliseconds"]) if "milliseconds" in extra else None,
        protocol=protocol,
        search=extra.get("search", {}),
        spread=spread,
    )


def _shares(columns: list[str], percentages: list[float | None]) -> dict[str, float]:
    """Return the percentages of a row as shares by column, without empty cells."""
    shares = {}
    for column, percentage in zip(columns, percentages, strict=True):
        if percentage is not None:
            shares[column] = round(percentage / 100, 6)
    return shares


def _notes(block: dict, extra: dict) -> Iterator[str]:
    """Yield the remarks on a row sentence by sentence; its cost on the authors' machine comes last."""
    if not extra.get("quoted"):
        yield block.get("note", "")
    yield extra.get("note", "")
    if "minutes" in extra:
        yield f"{extra['minutes']} minutes an epoch, on the authors' machine."
    if "milliseconds" in extra:
        yield "{} ± {} ms a search, on the authors' machine.".format(*extra["milliseconds"])


def rows(
    data: Collection[str] | None = None, loss: Collection[str] | None = None
) -> tuple[PublishedRow, ...]:
    """Return published rows in the order of the papers, optionally only those of the given data sets and losses."""
    selected = _all()
    if data is not None:
        selected = tuple(row for row in selected if row.data in data)
    if loss is not None:
        selected = tuple(row for row in selected if row.loss in loss)
    return selected


def of_recipe(name: str) -> tuple[PublishedRow, ...]:
    """Return the published rows that a recipe reproduces: one, or one for each of its test sets."""
    return tuple(row for row in _all() if row.recipe == name)
