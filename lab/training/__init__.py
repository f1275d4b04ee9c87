"""Training: plain and two-pass steps, the loop, checkpoints.

For a loop of your own: `gradients(encoder, loss, images, labels, chunk=64)`, a step with a batch larger than memory.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.training.steps import Diverged, StepResult, gradients

__all__ = ["Diverged", "StepResult", "gradients"]

__getattr__ = public(__name__)
