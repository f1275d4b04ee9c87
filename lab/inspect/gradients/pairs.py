"""The gradient of any loss with respect to every pairwise similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import Subject, batch, cosines

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

PROBE = 1e-8
"""Length of the probe dimensions. Its square vanishes beside 1 in float64, so probing leaves every value as it was."""

CLOSURE = 1e-5
"""A larger part of the embedding gradient that the pairs cannot explain means the loss sees more than similarities."""


@dataclass(frozen=True)
class PairGradients(Insight):
    """How the loss pulls on every pair.

    name: the loss.
    value: the loss.
    labels: int64 [n].
    similarities: float64 [n n], cosines.
    gradients: float64 [n n], symmetric, zero diagonal: d loss / d similarity of the unordered pair, in loss / cosine.
        Positive means that descent pushes the pair apart. For kind "motion", minus the first-order change of the
        similarity under one gradient step of the embeddings, so that signs read the same way.
    ranks: int64 [n n], 1-based place of j in i's list, self left out; 0 on the diagonal. Equal similarities rank by
        position.
    kind: "gradient", or "motion" for losses that do not see pairs.

    Example (`pairs` are those of `lab.inspect`):
        >>> pairs.gradients.round(2)[1]  # image 1 is drawn to image 0, and pushed from 2 and 3
        array([-0.37,  0.  ,  0.18,  0.28])
    """

    name: str
    value: float
    labels: np.ndarray
    similarities: np.ndarray
    gradients: np.ndarray
    ranks: np.ndarray
    kind: Literal["gradient", "motion"] = "gradient"

    @property
    def same(self) -> np.ndarray:
        """bool [n n]: pairs of one label, an item with itself left out."""
        same = self.labels[:, None] == self.labels[None, :]
        np.fill_diagonal(same, False)
        return same

    @property
    def scale(self) -> float:
        """The largest gradient magnitude."""
        return float(np.abs(self.gradients).max())

    @property
    def active(self) -> np.ndarray:
        """bool [n n]: pairs whose gradient is more than rounding noise (1e-8 of the largest)."""
        return np.abs(self.gradients) > 1e-8 * self.scale if self.scale > 0 else np.zeros_like(self.same)

    @property
    def summary(self) -> str:
        if not self.active.any():
            return f"{self.name} = {self.value:.4g}; none of the pairs has a gradient."
        other = ~self.same & ~np.eye(len(self.labels), dtype=bool)
        what = "have a gradient" if self.kind == "gradient" else "move under one gradient step"
        return (
            f"{self.name} = {self.value:.4g}; {_share(self.active, self.same)} of the same-label pairs and "
            f"{_share(self.active, other)} of the other pairs {what}, the largest {self.scale:.3g}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row an unordered pair: i, j, same, similarity, gradient, rank of j for i and of i for j."""
        i, j = np.triu_indices(len(self.labels), 1)
        found = {"same": self.same, "similarity": self.similarities, "gradient": self.gradients}
        columns = {name: values[i, j] for name, values in found.items()}
        return frame(i=i, j=j, **columns, rank_j_for_i=self.ranks[i, j], rank_i_for_j=self.ranks[j, i])

    def figure(self) -> go.Figure:
        """Gradient against similarity, one mark a pair; at most 4,000 pairs of each kind are drawn."""
        what = "gradient of the loss / cosine" if self.kind == "gradient" else "minus change of the cosine per step"
        figure = style.canvas(
            f"{self.name}: how it pulls on every pair",
            "above zero the pair is pushed apart, below zero pulled together",
            x="cosine similarity of the pair",
            y=what,
        )
        i, j = np.triu_indices(len(self.labels), 1)
        same = self.same[i, j]
        for index, (name, mask) in enumerate((("same label", same), ("different label", ~same))):
            chosen = np.flatnonzero(mask)
            if len(chosen) > 4000:
                chosen = np.sort(np.random.default_rng(0).choice(chosen, 4000, replace=False))
            a, b = i[chosen], j[chosen]
            figure.add_scatter(
                x=self.similarities[a, b], y=self.gradients[a, b], mode="markers",
                name=f"{name} ({int(mask.sum())} pairs)", marker={**style.marker(index, 6), "opacity": 0.6},
                customdata=np.stack([a, b], 1),
                hovertemplate="items %{customdata[0]} and %{customdata[1]}<br>cosine %{x:.3f}<br>%{y:.3g}",
            )  # fmt: skip
        figure.add_hline(y=0, line={"color": style.BLACK, "width": 1})
        return figure


def pair_gradients(loss: Callable, embeddings: Any, labels: Any = None) -> PairGradients:
    """d loss / d similarity for every pair, for any callable that sees embeddings only through their similarities.

    The embeddings are widened by n probe dimensions, X' = [X | PROBE I]. A loss of the Gram matrix S = X X^T has
    dL/dX' = (G + G^T) X', so the probe block of the gradient, divided by PROBE, is G + G^T itself: one backward pass,
    whatever the loss does inside. Cosines, inner products and Euclidean distances are all functions of S.

    Args:
        loss: callable(embeddings [n d], labels [n]) -> scalar.
        embeddings: floats [n d], arrays or tensors.
        labels: integers [n].

    Raises:
        ValueError: the loss is no such callable (see `Subject`), owns weights of the embeddings' width, or looks at
            more than similarities. `pair_motion` works for those.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> pairs = lab.inspect.pair_gradients(loss, embeddings, labels)
        >>> bool(pairs.same[0, 1]), bool(pairs.gradients[0, 1] < 0)  # of one label, so the loss pulls them together
        (True, True)
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    value, plain = subject.gradient(vectors, classes)
    n, width = vectors.shape
    probes = torch.eye(n, dtype=vectors.dtype, device=vectors.device) * PROBE
    try:
        probed, grad = subject.gradient(torch.cat([vectors, probes], dim=1), classes)
    except ValueError as error:
        owned = subject.weights(width)
        why = (
            f"owns weights of the embeddings' width ({', '.join(owned)}) and compares embeddings with those"
            if owned
            else f"accepts {width} dimensions but not {width + n}"
        )
        raise ValueError(
            f"{subject.name} {why}, so the similarity of two embeddings has no gradient of its own. pair_motion shows "
            "what one step does to the pairs instead."
        ) from error
    lengths = vectors.norm(dim=1)
    gradients = grad[:, width:] / PROBE * lengths[:, None] * lengths[None, :]
    gradients = (gradients + gradients.T) / 2
    gradients.fill_diagonal_(0)
    unexplained = _unexplained(vectors, plain, gradients)
    if abs(probed - value) > CLOSURE * max(1.0, abs(value)) or unexplained > CLOSURE:
        raise ValueError(
            f"{subject.name} looks at more than the similarities of the embeddings ({unexplained:.0%} of its gradient "
            "cannot be written as pulls between pairs), for instance at single coordinates, at a rotation or at "
            "weights of its own, so a gradient per pair does not exist. pair_motion shows what one step does to the "
            "pairs instead."
        )
    return _record(subject.name, value, vectors, classes, gradients, "gradient")


def pair_motion(loss: Callable, embeddings: Any, labels: Any = None) -> PairGradients:
    """What one step of gradient descent on the embeddings does to every cosine, for any loss at all.

    To first order a step of size t along -g changes the cosine of i and j by -t (g_i^T u_j / |x_i| + g_j^T u_i / |x_j|)
    with the radial parts removed; the record holds minus that change for t = 1, in cosine per unit step.

    Raises:
        ValueError: the loss is not a callable that returns one number with a gradient.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> anchored = lab.losses.create("class_anchor_margin", num_classes=2, dim=2)
        >>> lab.inspect.pair_motion(anchored, embeddings, labels).kind
        'motion'
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    value, grad = subject.gradient(vectors, classes)
    units, lengths = _units(vectors)
    tangent = grad - (grad * units).sum(dim=1, keepdim=True) * units
    moved = (tangent / lengths) @ units.T
    gradients = moved + moved.T
    gradients.fill_diagonal_(0)
    return _record(subject.name, value, vectors, classes, gradients, "motion")


def measured(pairs: PairGradients, who: str) -> PairGradients:
    """What an inspection of pairs is given.

    Raises:
        ValueError: it is something else, such as the loss.
    """
    if not isinstance(pairs, PairGradients):
        raise ValueError(f"{who} reads what lab.inspect.pair_gradients returned, got {type(pairs).__name__}.")
    return pairs


def _units(vectors: Tensor) -> tuple[Tensor, Tensor]:
    lengths = vectors.norm(dim=1, keepdim=True)
    return vectors / lengths, lengths


def _unexplained(vectors: Tensor, plain: Tensor, gradients: Tensor) -> float:
    """Share of the tangential embedding gradient that the pair gradients do not reproduce."""
    units, lengths = _units(vectors)

    def tangent(rows: Tensor) -> Tensor:
        return rows - (rows * units).sum(dim=1, keepdim=True) * units

    direct, rebuilt = tangent(plain * lengths), tangent(gradients @ units)
    missing, size = (direct - rebuilt).norm().item(), direct.norm().item()
    noise = 1e-10 * gradients.norm().item()
    return 0.0 if missing <= noise else missing / max(size, noise)


def _record(
    name: str, value: float, vectors: Tensor, classes: Tensor, gradients: Tensor, kind: Literal["gradient", "motion"]
) -> PairGradients:
    similarities = cosines(vectors)
    return PairGradients(
        name=name,
        value=value,
        labels=classes.cpu().numpy(),
        similarities=similarities,
        gradients=gradients.cpu().numpy(),
        ranks=ranks(similarities),
        kind=kind,
    )


def ranks(similarities: np.ndarray) -> np.ndarray:
    """int64 [n n]: the 1-based place of item j in the list of query i, itself left out; 0 on the diagonal."""
    n = len(similarities)
    scores = similarities.copy()
    np.fill_diagonal(scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")
    place = np.empty((n, n), dtype=np.int64)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(1, n + 1), (n, n)), axis=1)
    np.fill_diagonal(place, 0)
    return place


def _share(mask: np.ndarray, of: np.ndarray) -> str:
    return f"{mask[of].mean():.0%}" if of.any() else "none"
