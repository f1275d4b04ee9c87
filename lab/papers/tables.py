"""Numbers that papers report, in one place: recipes, `lab report`, figures and the dashboard read them here.

None of them was measured by this program.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TITLES = {
    "000": "Recall@k Surrogate Loss with Large Batches and Similarity Mixup (Patel et al., 2022)",
    "001": "Robust and Decomposable Average Precision for Image Retrieval (Ramzi et al., 2021)",
    "003": "Class Anchor Margin Loss for Content-Based Image Retrieval (Ghita and Ionescu, 2023)",
    "004": "Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization (Liao et al.)",
}
"""Number of a paper, as sources are named everywhere in this project, to its title."""


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table.

    paper, table: where it stands. data: entry of `lab.data`; part: which of its test sets, "" where there is one.
    method: as printed. loss: entry of `lab.losses`. encoder: as printed. dim: width of the embedding, None if not told.
    values: column of our metrics to share in [0, 1].
    size: side of the images in pixels, None if not told. trials: seeds behind a number.
    selected_on_test: the checkpoint was chosen by the test score. recipe: name of the one that trains it, or None.
    """

    paper: str
    table: str
    data: str
    part: str
    method: str
    loss: str
    encoder: str
    dim: int | None
    values: dict[str, float]
    size: int | None = None
    trials: int = 1
    selected_on_test: bool = False
    recipe: str | None = None

    @property
    def source(self) -> str:
        """`000, table 2`."""
        return f"{self.paper}, {self.table}"

    @property
    def scores(self) -> str:
        """`r@1 82.8, r@10 92.9`, in percent, as printed."""
        return ", ".join(f"{column} {100 * value:.1f}" for column, value in self.values.items())


@cache
def _all() -> tuple[PublishedRow, ...]:
    import yaml

    blocks = yaml.safe_load((Path(__file__).parent / "tables.yaml").read_text(encoding="utf-8"))
    return tuple(_row(block, *row) for block in blocks for row in block["rows"])


def _row(
    block: dict, method: str, loss: str, encoder: str, dim: int | None, numbers: list, *apart: dict
) -> PublishedRow:
    own = apart[0] if apart else {}
    values = {c: round(n / 100, 6) for c, n in zip(block["columns"], numbers, strict=True) if n is not None}
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
        size=own.get("size", block.get("size")),
        trials=block.get("trials", 1),
        selected_on_test=block.get("selected") == "test",
        recipe=own.get("recipe"),
    )


def rows(data: Collection[str] | None = None, loss: Collection[str] | None = None) -> tuple[PublishedRow, ...]:
    """Published rows in the order of the papers, of all data sets and losses or of those named."""
    return tuple(r for r in _all() if (data is None or r.data in data) and (loss is None or r.loss in loss))


def of_recipe(name: str) -> tuple[PublishedRow, ...]:
    """The rows that a recipe trains for: one, or one for each of its test sets."""
    return tuple(r for r in _all() if r.recipe == name)
