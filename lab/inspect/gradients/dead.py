"""Find dead gradients: positives that rank behind negatives and still get almost no gradient."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect.gradients.pairs import PairGradients, require_pairs
from lab.surrogates import DEAD

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

NOTHING = 1e-9
"""A pair gradient, in loss / cosine, that is too small for any optimiser."""


@dataclass(frozen=True)
class DeadGradients(Insight):
    """The pull on every (query, positive), with its similarity gap and rank.

    name: the loss.
    queries, positives: int64 [p], the ordered pairs.
    gaps: float64 [p], cosine of the query's best negative minus that of the positive; above 0 the ranking is wrong.
    ranks: int64 [p], rank of the positive in the query's list.
    pulls: float64 [p], minus the gradient of the pair, divided by the batch's largest magnitude (but `NOTHING` at
        least, so that a batch can be dead as a whole); a pull below `DEAD` is dead.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> steep = lab.losses.create("smooth_ap", tau=0.02)
        >>> wide = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-0.6, 0.8]])
        >>> far_pairs = lab.inspect.pair_gradients(steep, wide, torch.tensor([0, 1, 1, 0]))
        >>> lab.inspect.dead_gradients(far_pairs).share  # between images 0 and 3 the steep sigmoid is flat
        0.5
    """

    name: str
    queries: np.ndarray
    positives: np.ndarray
    gaps: np.ndarray
    ranks: np.ndarray
    pulls: np.ndarray

    @property
    def dead(self) -> np.ndarray:
        """bool [p]: pairs whose positive ranks behind a negative but is not pulled."""
        return (self.gaps > 0) & (self.pulls < DEAD)

    @property
    def share(self) -> float:
        """Share of the wrongly ranked positives that get no pull, 0 to 1; NaN if no positive is wrongly ranked."""
        wrong = self.gaps > 0
        if wrong.any():
            return float(self.dead.sum() / wrong.sum())
        return float("nan")

    @property
    def summary(self) -> str:
        wrong = int((self.gaps > 0).sum())
        if not wrong:
            return f"{style.RIGHT} No positive ranks behind a negative, so no gradient is missed."
        sign = style.RIGHT if self.share < 0.05 else style.WRONG
        return (
            f"{sign} {int(self.dead.sum())} of {wrong} positives behind a negative ({self.share:.0%}) get less than "
            f"{DEAD:.0%} of the largest pull of {self.name}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per (query, positive): query, positive, gap, rank, pull, dead."""
        return frame(
            query=self.queries,
            positive=self.positives,
            gap=self.gaps,
            rank=self.ranks,
            pull=self.pulls,
            dead=self.dead,
        )

    def grid(self, columns: int = 24, rows: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the median pull on a grid of gaps and ranks.

        Returns:
            edges of the gaps, edges of the ranks (in logarithmic steps), and the median of each cell, NaN if empty.
        """
        reach = 1.0
        last_rank = 1
        if len(self.gaps):
            reach = max(1e-6, np.abs(self.gaps).max())
            last_rank = self.ranks.max()
        gap_edges = np.linspace(-reach, reach, columns + 1)
        rank_edges = np.unique(np.round(np.geomspace(1, last_rank + 1, rows + 1)))

        column = np.clip(np.digitize(self.gaps, gap_edges) - 1, 0, columns - 1)
        row = np.clip(np.digitize(self.ranks, rank_edges) - 1, 0, len(rank_edges) - 2)
        median = np.full((len(rank_edges) - 1, columns), np.nan)
        for r, c in set(zip(row.tolist(), column.tolist(), strict=True)):
            median[r, c] = np.median(self.pulls[(row == r) & (column == c)])
        return gap_edges, rank_edges, median

    def figure(self) -> go.Figure:
        """Draw the median pull over gap and rank, on a logarithmic colour scale from dead to strongest."""
        gap_edges, rank_edges, median = self.grid()
        logarithms = np.log10(np.clip(median, 1e-4, 1))
        rank_names = []
        for low, high in itertools.pairwise(rank_edges):
            rank_names.append(f"{int(low)}" if high - low == 1 else f"{int(low)}–{int(high) - 1}")
        figure = style.canvas(
            f"{self.name}: where its gradient dies",
            self.summary,
            x="similarity gap, best negative minus positive (cosine)",
            y="rank of the positive",
        )
        figure.add_heatmap(
            x=(gap_edges[1:] + gap_edges[:-1]) / 2,
            y=rank_names,
            z=logarithms,
            zmin=-4,
            zmax=0,
            customdata=median,
            colorscale=style.SEQUENTIAL,
            colorbar={
                "title": "pull / largest",
                "tickvals": [-4, -3, -2, -1, 0],
                "ticktext": ["≤ 0.0001", "0.001", f"{DEAD:g} dead below", "0.1", "1"],
            },
            hovertemplate="gap %{x:.3f}<br>rank %{y}<br>median pull %{customdata:.4f}<extra></extra>",
            xgap=1,
            ygap=1,
        )
        figure.add_vline(x=0, line={"color": style.BLACK, "width": 2, "dash": "dash"})
        style.note(
            figure, "ranked right", -0.02, 1.0, xanchor="right", yref="paper", yanchor="bottom"
        )
        style.note(
            figure, "ranked wrong", 0.02, 1.0, xanchor="left", yref="paper", yanchor="bottom"
        )
        return figure


def dead_gradients(pairs: PairGradients) -> DeadGradients:
    """Compute the similarity gap, the rank and the pull of every (query, positive).

    Both directions of a pair share one gradient, so a positive is dead for a query only if neither direction pulls.

    Example (`pairs` are those of `lab.inspect`):
        >>> lab.inspect.dead_gradients(pairs).share  # every positive behind a negative is pulled
        0.0
    """
    same = require_pairs(pairs, "dead_gradients").same
    negative = pairs.similarities.copy()
    negative[pairs.labels[:, None] == pairs.labels[None, :]] = -np.inf
    best = negative.max(axis=1)
    queries, positives = np.nonzero(same & np.isfinite(best)[:, None])
    pulls = -pairs.gradients[queries, positives]
    return DeadGradients(
        name=pairs.name,
        queries=queries,
        positives=positives,
        gaps=best[queries] - pairs.similarities[queries, positives],
        ranks=pairs.ranks[queries, positives],
        pulls=pulls / max(pairs.scale, NOTHING),
    )
