"""Histograms of the similarities of same-label pairs and of other pairs, and their overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import batch, cosines

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class SimilarityHistograms(Insight):
    """Histograms of the cosine of two kinds of pairs.

    edges: float64 [b + 1].
    positive, negative: float64 [b], share of the same-label pairs, and of the other pairs, in each bin.
    positive_mean, negative_mean: mean cosine of each kind.
    overlap: sum over the bins of the smaller share; 0 for separate histograms, 1 for equal ones.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> histograms = lab.inspect.similarity_histograms(embeddings, labels, bins=4)
        >>> round(histograms.positive_mean, 2), round(histograms.negative_mean, 2)
        (0.8, 0.54)
    """

    edges: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    positive_mean: float
    negative_mean: float
    overlap: float

    @property
    def summary(self) -> str:
        return (
            f"Same-label pairs have a mean cosine of {self.positive_mean:.3f}, the others {self.negative_mean:.3f}; "
            f"the two histograms overlap by {self.overlap:.0%}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin: low, high, positive, negative."""
        return frame(
            low=self.edges[:-1], high=self.edges[1:], positive=self.positive, negative=self.negative
        )

    def figure(self) -> go.Figure:
        """Draw both histograms over the cosine."""
        figure = style.canvas(
            "Similarities of same-label and other pairs",
            self.summary,
            x="cosine similarity",
            y="share of the pairs in the bin",
        )
        for index, (name, shares) in enumerate(
            (("same label", self.positive), ("different label", self.negative))
        ):
            figure.add_scatter(
                x=self.edges,
                y=np.append(shares, shares[-1]),
                name=name,
                line={**style.line(index), "shape": "hv"},
                fill="tozeroy",
                opacity=0.8,
            )
        return figure


def similarity_histograms(
    embeddings: Any, labels: Any = None, bins: int = 50
) -> SimilarityHistograms:
    """Compute histograms of the cosines of all unordered pairs over [-1, 1].

    Raises:
        ValueError: embeddings or labels are malformed, or bins is below 2.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.similarity_histograms(embeddings, labels, bins=4).to_frame().shape
        (4, 4)
    """
    if bins < 2:
        raise ValueError(f"similarity_histograms: bins must satisfy 2 <= bins, got {bins!r}.")
    vectors, classes = batch(embeddings, labels)
    i, j = np.triu_indices(len(vectors), 1)
    similarities = cosines(vectors)[i, j].clip(-1, 1)
    same = (classes[:, None] == classes[None, :]).cpu().numpy()[i, j]
    edges = np.linspace(-1, 1, bins + 1)

    def shares(values: np.ndarray) -> np.ndarray:
        return np.histogram(values, edges)[0] / max(1, len(values))

    def mean(values: np.ndarray) -> float:
        return float(values.mean()) if len(values) else float("nan")

    positive = shares(similarities[same])
    negative = shares(similarities[~same])
    return SimilarityHistograms(
        edges=edges,
        positive=positive,
        negative=negative,
        positive_mean=mean(similarities[same]),
        negative_mean=mean(similarities[~same]),
        overlap=float(np.minimum(positive, negative).sum()),
    )
