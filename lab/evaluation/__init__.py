"""From a model to scores: embed, rank, measure. Whether anything was trained does not matter.

Short ways for loops of one's own: `lab.evaluate(vectors, labels)`, and `for_torchmetrics(...)` for a torchmetrics loop.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.evaluation.direct import evaluate
    from lab.evaluation.scores import Evaluation
    from lab.evaluation.torchmetrics import for_torchmetrics

__all__ = ["Evaluation", "evaluate", "for_torchmetrics"]

__getattr__ = public(__name__)
