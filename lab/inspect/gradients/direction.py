"""Find the pairs that a loss moves against their label: the audit behind 004, equation 10 and table 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect.gradients.pairs import PairGradients, require_pairs

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class WrongDirection(Insight):
    """Pairs whose gradient contradicts their label: same-label pairs pushed apart, other pairs pulled together.

    pairs: the audited gradients.
    i, j: int64 [w], the pairs, strongest contradiction first, i < j.
    share: share of the active pairs that move the wrong way, 0 to 1.
    mass: share of the summed gradient magnitude that points the wrong way, 0 to 1.

    A wrong direction is not always a fault: the contextual loss pulls on whole neighbourhoods, and clamping its wrong
    gradients costs test accuracy (004, table 1). In a loss that is meant to be pairwise it is a fault.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> negated = lab.inspect.pair_gradients(lambda e, y: -loss(e, y), embeddings, labels)
        >>> wrong = lab.inspect.wrong_direction(negated)
        >>> wrong.share, wrong.pushed_apart  # with the opposite sign all pairs move the wrong way
        (1.0, 2)
    """

    pairs: PairGradients
    i: np.ndarray
    j: np.ndarray
    share: float
    mass: float

    @property
    def pushed_apart(self) -> int:
        """Number of wrong pairs that share a label."""
        return int(self.pairs.same[self.i, self.j].sum())

    @property
    def summary(self) -> str:
        if not len(self.i):
            return f"{style.RIGHT} Every active pair of {self.pairs.name} moves the way its label asks."
        pushed = self.pushed_apart
        return (
            f"{style.WRONG} {self.share:.1%} of the active pairs of {self.pairs.name} ({self.mass:.1%} of the "
            f"gradient) contradict their label: {pushed} same-label pairs are pushed apart, {len(self.i) - pushed} "
            "other pairs pulled together."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per wrong pair, strongest first: i, j, same, similarity, gradient."""
        return frame(
            i=self.i,
            j=self.j,
            same=self.pairs.same[self.i, self.j],
            similarity=self.pairs.similarities[self.i, self.j],
            gradient=self.pairs.gradients[self.i, self.j],
        )

    def figure(self) -> go.Figure:
        """Draw the gradient mass by label and direction as four bars."""
        gradients = np.triu(self.pairs.gradients, 1)
        same = self.pairs.same
        groups = {  # name of a bar: its pairs, and whether they move the right way
            "same label,<br>pulled together": (same & (gradients < 0), True),
            "same label,<br>pushed apart": (same & (gradients > 0), False),
            "different label,<br>pushed apart": (~same & (gradients > 0), True),
            "different label,<br>pulled together": (~same & (gradients < 0), False),
        }
        heights = []
        texts = []
        colours = []
        patterns = []
        for mask, right in groups.values():
            heights.append(np.abs(gradients[mask]).sum())
            texts.append(f"{style.RIGHT if right else style.WRONG} {int(mask.sum())} pairs")
            colours.append(style.BLUE if right else style.VERMILLION)
            patterns.append("" if right else "/")

        figure = style.canvas(
            f"{self.pairs.name}: does every pair move the way its label asks?",
            self.summary,
            y="summed |gradient| of the pairs",
        )
        figure.add_bar(
            x=list(groups),
            y=heights,
            text=texts,
            marker={"color": colours, "pattern": {"shape": patterns}},
        )
        return figure


def wrong_direction(pairs: PairGradients) -> WrongDirection:
    """Find the pairs with a wrong sign: descent should raise the similarity of same-label pairs and lower the others.

    Example (`pairs` are those of `lab.inspect`):
        >>> lab.inspect.wrong_direction(pairs).share
        0.0
    """
    active = np.triu(require_pairs(pairs, "wrong_direction").active, 1)
    wrong = active & np.where(pairs.same, pairs.gradients > 0, pairs.gradients < 0)
    i, j = np.nonzero(wrong)
    order = np.argsort(-np.abs(pairs.gradients[i, j]), kind="stable")
    magnitude = np.abs(pairs.gradients)
    total = magnitude[active].sum()
    return WrongDirection(
        pairs=pairs,
        i=i[order],
        j=j[order],
        share=float(wrong.sum() / max(1, active.sum())),
        mass=float(magnitude[wrong].sum() / total) if total > 0 else 0.0,
    )
