"""List the pairs with the largest gradient or the worst similarity, by item, so that their images can be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect.gradients.pairs import PairGradients, require_pairs

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike

By = Literal["gradient", "hard positives", "hard negatives"]


@dataclass(frozen=True)
class WorstPairs(Insight):
    """The extreme pairs of a batch, worst first.

    by: the criterion.
    items: int64 [w 2], positions in the data set if the caller gave them, otherwise in the batch.
    same: bool [w].
    similarities, gradients: float64 [w].

    Example (`pairs` are those of `lab.inspect`):
        >>> lab.inspect.worst_pairs(pairs, count=1, by="hard negatives").items
        array([[1, 2]])
    """

    name: str
    by: By
    items: np.ndarray
    same: np.ndarray
    similarities: np.ndarray
    gradients: np.ndarray

    @property
    def summary(self) -> str:
        if not len(self.items):
            return f"{self.name}: the batch holds no such pair."
        a, b = self.items[0]
        kind = "same label" if self.same[0] else "different labels"
        return (
            f"{self.name}, worst by {self.by}: items {a} and {b} ({kind}), cosine {self.similarities[0]:.3f}, "
            f"gradient {self.gradients[0]:.3g}; {len(self.items)} pairs listed."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: item_a, item_b, same, similarity, gradient."""
        a, b = self.items.T
        return frame(
            item_a=a,
            item_b=b,
            same=self.same,
            similarity=self.similarities,
            gradient=self.gradients,
        )

    def figure(self) -> go.Figure:
        """Draw the gradient of each pair as a bar, named by the two items."""
        figure = style.canvas(
            f"{self.name}: the worst pairs, by {self.by}",
            "right of zero the pair is pushed apart, left of zero pulled together",
            x="gradient of the loss / cosine",
            height=max(320, 140 + 24 * len(self.items)),
            y="pair",
        )
        names = [f"{a} · {b}" for a, b in self.items]
        for index, (label, mask) in enumerate(
            (("same label", self.same), ("different label", ~self.same))
        ):
            figure.add_bar(
                y=[n for n, m in zip(names, mask, strict=True) if m],
                x=self.gradients[mask],
                orientation="h",
                name=label,
                marker={
                    "color": style.COLOURS[index],
                    "pattern": {"shape": "" if index == 0 else "/", "fgopacity": 0.3},
                },
                text=[f"cosine {s:.2f}" for s in self.similarities[mask]],
            )
        return figure.update_yaxes(
            type="category", categoryorder="array", categoryarray=names[::-1]
        )


def worst_pairs(
    pairs: PairGradients, count: int = 12, by: By = "gradient", items: ArrayLike | None = None
) -> WorstPairs:
    """Return the worst pairs by a criterion.

    Args:
        pairs: result of `pair_gradients` or `pair_motion`.
        count: number of pairs.
        by: "gradient", the largest magnitude; "hard positives", same label and least similar; "hard negatives",
            different label and most similar.
        items: [n] names or positions of the embeddings in their data set; None keeps batch positions.

    Raises:
        ValueError: `by` is unknown, count is below one, or items has another length.

    Example (`pairs` are those of `lab.inspect`):
        >>> worst = lab.inspect.worst_pairs(pairs, count=1, by="hard positives", items=["a", "b", "c", "d"])
        >>> worst.items, worst.similarities.round(2)
        (array([['a', 'b']], dtype='<U1'), array([0.8]))
    """
    n = len(require_pairs(pairs, "worst_pairs").labels)
    if count < 1:
        raise ValueError(f"worst_pairs: count must satisfy 1 <= count, got {count!r}.")
    names = np.arange(n) if items is None else np.asarray(items)
    if len(names) != n:
        raise ValueError(f"worst_pairs: items must name all {n} embeddings, got {len(names)}.")
    i, j = np.triu_indices(n, 1)
    same = pairs.same[i, j]
    cosine = pairs.similarities[i, j]
    gradient = pairs.gradients[i, j]
    if by == "gradient":
        badness = np.where(gradient != 0, np.abs(gradient), -np.inf)
    elif by == "hard positives":
        badness = np.where(same, -cosine, -np.inf)
    elif by == "hard negatives":
        badness = np.where(same, -np.inf, cosine)
    else:
        raise ValueError(
            f"worst_pairs: by must be gradient, hard positives or hard negatives, got {by!r}."
        )
    order = np.argsort(-badness, kind="stable")[:count]
    order = order[np.isfinite(badness[order])]
    return WorstPairs(
        name=pairs.name,
        by=by,
        items=np.stack([names[i[order]], names[j[order]]], axis=1),
        same=same[order],
        similarities=cosine[order],
        gradients=gradient[order],
    )
