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
"""Length of the probe dimensions. Its square vanishes beside 1 in float64, so the probes do not change any value."""

CLOSURE = 1e-5
"""Largest share of the embedding gradient that pair gradients may leave unexplained. A loss above it depends on more
than similarities."""


@dataclass(frozen=True)
class PairGradients(Insight):
    """The gradient of a loss with respect to the similarity of every pair.

    name, value: name and value of the loss.
    labels: int64 [n].
    similarities: float64 [n n], cosines.
    gradients: float64 [n n], symmetric, zero diagonal: d loss / d similarity of the unordered pair, in loss / cosine.
        Positive means that descent pushes the pair apart. For kind "motion", minus the first-order change of the
        similarity under one gradient step of the embeddings, so that the signs have the same meaning.
    ranks: int64 [n n], rank of j in i's list from 1, without i itself; 0 on the diagonal. Equal similarities rank by
        position.
    kind: "gradient", or "motion" for losses that do not compare pairs.

    Example (`pairs` are those of `lab.inspect`):
        >>> pairs.gradients.round(2)[1]  # image 1 is pulled to image 0, and pushed from 2 and 3
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
        """bool [n n]: pairs of different items with the same label."""
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
        if self.scale > 0:
            return np.abs(self.gradients) > 1e-8 * self.scale
        return np.zeros_like(self.same)

    @property
    def summary(self) -> str:
        if not self.active.any():
            return f"{self.name} = {self.value:.4g}; none of the pairs has a gradient."
        other = ~self.same & ~np.eye(len(self.labels), dtype=bool)
        if self.kind == "gradient":
            verb = "have a gradient"
        else:
            verb = "move under one gradient step"
        return (
            f"{self.name} = {self.value:.4g}; {_share(self.active, self.same)} of the same-label pairs and "
            f"{_share(self.active, other)} of the other pairs {verb}, the largest {self.scale:.3g}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per unordered pair: i, j, same, similarity, gradient, rank of j for i and of i for j."""
        i, j = np.triu_indices(len(self.labels), 1)
        return frame(
            i=i,
            j=j,
            same=self.same[i, j],
            similarity=self.similarities[i, j],
            gradient=self.gradients[i, j],
            rank_j_for_i=self.ranks[i, j],
            rank_i_for_j=self.ranks[j, i],
        )

    def figure(self) -> go.Figure:
        """Draw gradient against similarity with one mark per pair, at most 4,000 of each kind."""
        if self.kind == "gradient":
            axis = "gradient of the loss / cosine"
        else:
            axis = "minus change of the cosine per step"
        figure = style.canvas(
            f"{self.name}: how it pulls on every pair",
            "above zero the pair is pushed apart, below zero pulled together",
            x="cosine similarity of the pair",
            y=axis,
        )
        i, j = np.triu_indices(len(self.labels), 1)
        same = self.same[i, j]
        for index, (name, mask) in enumerate((("same label", same), ("different label", ~same))):
            chosen = np.flatnonzero(mask)
            if len(chosen) > 4000:
                chosen = np.sort(np.random.default_rng(0).choice(chosen, 4000, replace=False))
            a = i[chosen]
            b = j[chosen]
            figure.add_scatter(
                x=self.similarities[a, b],
                y=self.gradients[a, b],
                mode="markers",
                name=f"{name} ({int(mask.sum())} pairs)",
                marker={**style.marker(index, 6), "opacity": 0.6},
                customdata=np.stack([a, b], 1),
                hovertemplate="items %{customdata[0]} and %{customdata[1]}<br>cosine %{x:.3f}<br>%{y:.3g}",
            )
        figure.add_hline(y=0, line={"color": style.BLACK, "width": 1})
        return figure


def pair_gradients(loss: Callable, embeddings: Any, labels: Any = None) -> PairGradients:
    """Compute d loss / d similarity of every pair, for any loss that depends on embeddings only by their similarities.

    The embeddings are widened by n probe dimensions, X' = [X | PROBE I]. A loss of the Gram matrix S = X X^T has
    dL/dX' = (G + G^T) X', so the probe block of the gradient, divided by PROBE, is G + G^T itself: one backward pass,
    whatever the loss does inside. Cosines, inner products and Euclidean distances are all functions of S.

    Args:
        loss: callable(embeddings [n d], labels [n]) -> scalar.
        embeddings: floats [n d], arrays or tensors.
        labels: integers [n].

    Raises:
        ValueError: the callable cannot be inspected (see `Subject`), has weights of the embeddings' width, or depends
            on more than similarities. `pair_motion` works for the latter two.

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
        weights = subject.weights(width)
        if weights:
            reason = f"owns weights of the embeddings' width ({', '.join(weights)}) and compares embeddings with them"
        else:
            reason = f"accepts {width} dimensions but not {width + n}"
        raise ValueError(
            f"{subject.name} {reason}, so the similarity of two embeddings has no gradient of its own. pair_motion "
            "shows what one step does to the pairs instead."
        ) from error

    # The probe block of the gradient is that of dot products; the lengths turn it into that of cosines.
    lengths = vectors.norm(dim=1)
    gradients = grad[:, width:] / PROBE * lengths[:, None] * lengths[None, :]
    gradients = (gradients + gradients.T) / 2
    gradients.fill_diagonal_(0)
    unexplained = _unexplained(vectors, plain, gradients)
    if abs(probed - value) > CLOSURE * max(1.0, abs(value)) or unexplained > CLOSURE:
        raise ValueError(
            f"{subject.name} depends on more than the similarities of the embeddings ({unexplained:.0%} of its "
            "gradient cannot be written as pulls between pairs), for instance on single coordinates, on a rotation or "
            "on weights of its own, so a gradient per pair does not exist. pair_motion shows what one step does to the "
            "pairs instead."
        )
    return _record(subject.name, value, vectors, classes, gradients, "gradient")


def pair_motion(loss: Callable, embeddings: Any, labels: Any = None) -> PairGradients:
    """Compute how one step of gradient descent on the embeddings changes every cosine, for any loss.

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


def require_pairs(pairs: PairGradients, caller: str) -> PairGradients:
    """Return the argument if it is a `PairGradients`.

    Args:
        caller: name of the function in the message.

    Raises:
        ValueError: it is something else, such as the loss.
    """
    if not isinstance(pairs, PairGradients):
        raise ValueError(
            f"{caller} reads what lab.inspect.pair_gradients returned, got {type(pairs).__name__}."
        )
    return pairs


def _units(vectors: Tensor) -> tuple[Tensor, Tensor]:
    lengths = vectors.norm(dim=1, keepdim=True)
    return vectors / lengths, lengths


def _unexplained(vectors: Tensor, plain: Tensor, gradients: Tensor) -> float:
    """Return the share of the tangential embedding gradient that the pair gradients do not reproduce."""
    units, lengths = _units(vectors)

    def tangent(rows: Tensor) -> Tensor:
        return rows - (rows * units).sum(dim=1, keepdim=True) * units

    direct = tangent(plain * lengths)
    rebuilt = tangent(gradients @ units)
    missing = (direct - rebuilt).norm().item()
    size = direct.norm().item()
    noise = 1e-10 * gradients.norm().item()
    if missing <= noise:
        return 0.0
    return missing / max(size, noise)


def _record(
    name: str,
    value: float,
    vectors: Tensor,
    classes: Tensor,
    gradients: Tensor,
    kind: Literal["gradient", "motion"],
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
    """Return the rank of item j in the list of query i from 1, without i itself, int64 [n n]; 0 on the diagonal."""
    n = len(similarities)
    scores = similarities.copy()
    np.fill_diagonal(scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty((n, n), dtype=np.int64)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(1, n + 1), (n, n)), axis=1)
    np.fill_diagonal(rank, 0)
    return rank


def _share(mask: np.ndarray, group: np.ndarray) -> str:
    """Return the share of a group of pairs that is in the mask, as text."""
    if not group.any():
        return "none"
    return f"{mask[group].mean():.0%}"
