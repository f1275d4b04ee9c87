"""A report of all findings of the inspector about one loss on one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.inspect._insight import Insight, frame
from lab.inspect.gradients.dead import DeadGradients, dead_gradients
from lab.inspect.gradients.differences import Differences, finite_differences
from lab.inspect.gradients.direction import WrongDirection, wrong_direction
from lab.inspect.gradients.pairs import PairGradients, pair_gradients, pair_motion
from lab.inspect.gradients.worst import WorstPairs, worst_pairs
from lab.inspect.histograms import SimilarityHistograms, similarity_histograms

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class LossReport(Insight):
    """All findings about a loss on one batch.

    limits: a sentence that says why there is no gradient per pair; empty if there is.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> report = lab.inspect.inspect_loss(loss, embeddings, labels)
        >>> list(report.parts)
        ['pairs', 'direction', 'dead', 'differences', 'histograms', 'worst']
    """

    pairs: PairGradients
    direction: WrongDirection
    dead: DeadGradients
    differences: Differences
    histograms: SimilarityHistograms
    worst: WorstPairs
    limits: str = ""

    @property
    def parts(self) -> dict[str, Insight]:
        """Every finding by name, in reading order."""
        names = ("pairs", "direction", "dead", "differences", "histograms", "worst")
        return {name: getattr(self, name) for name in names}

    @property
    def summary(self) -> str:
        lines = [part.summary for part in self.parts.values()]
        if self.limits:
            lines.insert(0, self.limits)
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per finding: finding, summary."""
        return frame(
            finding=list(self.parts), summary=[part.summary for part in self.parts.values()]
        )

    def figure(self) -> go.Figure:
        """Draw the gradient of every pair; each finding has a figure of its own."""
        return self.pairs.figure()


def inspect_loss(
    loss: Callable, embeddings: Any, labels: Any = None, items: ArrayLike | None = None
) -> LossReport:
    """Inspect a loss: gradients per pair, wrong directions, dead gradients, slope check, histograms, worst pairs.

    For a loss that does not compare pairs (class anchors, proxies) the findings about pairs describe how one gradient
    step changes their similarity, and `limits` says why.

    Args:
        loss: any callable(embeddings [n d], labels [n]) -> scalar.
        embeddings, labels: the batch.
        items: [n] names of the embeddings, for the worst pairs.

    Raises:
        ValueError: the callable cannot be inspected; the message says what is needed.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> report = lab.inspect.inspect_loss(loss, embeddings, labels)
        >>> report.differences.holds, report.direction.share
        (True, 0.0)
    """
    motion = pair_motion(loss, embeddings, labels)
    try:
        pairs = pair_gradients(loss, embeddings, labels)
        limits = ""
    except ValueError as error:
        pairs = motion
        limits = str(error)
    return LossReport(
        pairs=pairs,
        direction=wrong_direction(pairs),
        dead=dead_gradients(pairs),
        differences=finite_differences(loss, embeddings, labels, directions=4),
        histograms=similarity_histograms(embeddings, labels),
        worst=worst_pairs(pairs, items=items),
        limits=limits,
    )
