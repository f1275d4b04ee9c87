"""Metrics as a torchmetrics metric, for Lightning and for loops that use that library."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lab.evaluation.direct import DEFAULT, evaluate, metrics_of

if TYPE_CHECKING:
    import torchmetrics
    from torch import Tensor


def for_torchmetrics(metrics: Any = DEFAULT, **how: Any) -> torchmetrics.Metric:
    """Return a torchmetrics metric that keeps embeddings and labels and measures them at the end of an epoch.

    `update(embeddings, labels)` takes a batch, `compute()` gives a dictionary of columns, `reset()` forgets. Under
    several processes torchmetrics gathers the rows, so that every process has the scores of all; images that a
    distributed sampler showed twice count twice, as with any metric. In Lightning: `self.log_dict(metric.compute())`.

    Args:
        metrics: as for `lab.evaluate`.
        how: its other arguments: k, similarity, device.

    Raises:
        ImportError: torchmetrics is not installed; `pip install torchmetrics`.
        ValueError: an unknown metric, or in `compute`, whatever `lab.evaluate` refuses.

    Example:
        >>> import lab, torch
        >>> metric = lab.evaluation.for_torchmetrics("map_at_r")
        >>> for rows in torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.8, 0.6], [0.6, 0.8]]):
        ...     metric.update(rows, torch.tensor([0, 1]))
        >>> round(metric.compute()["MAP@R"].item(), 2)
        0.5
    """
    return _adapter()(metrics_of(metrics), how)


@cache
def _adapter() -> type:
    try:
        from torchmetrics import Metric
        from torchmetrics.utilities import dim_zero_cat
    except ImportError:
        raise ImportError(
            "for_torchmetrics needs torchmetrics: `pip install torchmetrics`."
        ) from None
    import torch

    class RetrievalScores(Metric):
        """Rows of all batches, measured together."""

        is_differentiable = False
        higher_is_better = True
        full_state_update = False
        embeddings: list[Tensor]
        labels: list[Tensor]

        def __init__(self, metrics: dict, how: dict):
            super().__init__()
            self.metrics = metrics
            self.how = how
            self.add_state("embeddings", default=[], dist_reduce_fx="cat")
            self.add_state("labels", default=[], dist_reduce_fx="cat")

        def update(self, embeddings: Tensor, labels: Tensor) -> None:
            self.embeddings.append(embeddings.detach())
            self.labels.append(labels)

        def compute(self) -> dict[str, Tensor]:
            if isinstance(self.embeddings, list) and not self.embeddings:
                raise ValueError(
                    "There is nothing to measure: call update(embeddings, labels) first."
                )
            evaluation = evaluate(
                dim_zero_cat(self.embeddings), dim_zero_cat(self.labels), self.metrics, **self.how
            )
            return {column: torch.tensor(value) for column, value in evaluation.values.items()}

    return RetrievalScores
