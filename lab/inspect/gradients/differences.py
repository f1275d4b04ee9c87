"""Check whether the gradient is the slope of the value, by central differences along random directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import Subject, batch

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Differences(Insight):
    """Derivatives by autograd and by central differences.

    name: the loss.
    autograd, measured: float64 [directions], derivatives along random unit directions of the whole batch.
    step: length of the difference.
    tolerance: largest relative difference that counts as equal.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> slope = lab.inspect.finite_differences(loss, embeddings, labels)
        >>> slope.holds, len(slope.measured)
        (True, 8)
    """

    name: str
    autograd: np.ndarray
    measured: np.ndarray
    step: float
    tolerance: float

    @property
    def worst(self) -> float:
        """Largest difference, relative to the largest derivative of both."""
        size = max(np.abs(self.autograd).max(), np.abs(self.measured).max())
        if size > 1e-12:
            return float(np.abs(self.autograd - self.measured).max() / size)
        return 0.0

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return self.worst <= self.tolerance

    @property
    def summary(self) -> str:
        if self.holds:
            return f"{style.RIGHT} The gradient of {self.name} is the slope of its value (worst {self.worst:.1e})."
        return (
            f"{style.WRONG} The gradient of {self.name} is not the slope of its value: they differ by "
            f"{self.worst:.0%}. A hard step, a kink, a stop-gradient or a made-up backward pass does this, on purpose "
            "or not."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per direction: autograd, measured."""
        return frame(autograd=self.autograd, measured=self.measured)

    def figure(self) -> go.Figure:
        """Draw measured derivatives against those of autograd; they agree on the diagonal."""
        figure = style.canvas(
            f"{self.name}: gradient against measured slope",
            self.summary,
            x="derivative by autograd (loss / unit step)",
            y="derivative by differences (loss / unit step)",
        )
        both = np.concatenate([self.autograd, self.measured])
        ends = [both.min(), both.max()]
        figure.add_scatter(x=ends, y=ends, mode="lines", name="agreement", line=style.line(6, 1))
        figure.add_scatter(
            x=self.autograd,
            y=self.measured,
            mode="markers",
            name="direction",
            marker=style.marker(0 if self.holds else 1),
        )
        return figure


def finite_differences(
    loss: Callable,
    embeddings: Any,
    labels: Any = None,
    directions: int = 8,
    step: float = 1e-6,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> Differences:
    """Compare autograd with (L(x + h v) - L(x - h v)) / 2h along random directions v of the whole batch, in float64.

    Raises:
        ValueError: the loss is not a callable that returns one number with a gradient.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.finite_differences(loss, embeddings, labels, directions=4).worst < 1e-4
        True
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    _, grad = subject.gradient(vectors, classes)
    generator = torch.Generator().manual_seed(seed)
    autograd = []
    measured = []
    for _ in range(directions):
        v = torch.randn(vectors.shape, generator=generator, dtype=torch.float64).to(vectors.device)
        v = v / v.norm()
        autograd.append((grad * v).sum().item())
        with torch.no_grad():
            ahead = subject.value(vectors + step * v, classes).item()
            behind = subject.value(vectors - step * v, classes).item()
        measured.append((ahead - behind) / (2 * step))
    return Differences(subject.name, np.array(autograd), np.array(measured), step, tolerance)
