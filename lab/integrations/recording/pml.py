"""Record a training by pytorch-metric-learning's trainers: their two hooks, end of iteration and end of epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab.integrations.recording.recorder import Recorder


def _step(trainer: Any) -> int:
    """Return the number of finished steps: the library counts from 0."""
    return trainer.get_global_iteration() + 1


def end_of_iteration(run: Recorder) -> Callable[[Any], None]:
    """Return an `end_of_iteration_hook` that records the total loss of every step, and each of its parts by name."""

    def hook(trainer: Any) -> None:
        parts = dict(trainer.losses)
        run.log(_step(trainer), loss=parts.pop("total_loss"), **parts)

    return hook


def end_of_epoch(run: Recorder, embed: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], None]:
    """Return an `end_of_epoch_hook` that stores embeddings.

    Args:
        embed: called with the trainer's models; returns vectors [n d] and labels [n].
    """

    def hook(trainer: Any) -> None:
        run.embeddings(_step(trainer), *embed(trainer.models))

    return hook
