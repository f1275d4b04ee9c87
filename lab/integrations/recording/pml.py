"""A training by pytorch-metric-learning's trainers as a run: their two hooks, end of iteration and end of epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab.integrations.recording.recorder import Recorder


def _step(trainer: Any) -> int:
    """Steps that are done: the library counts from 0, as no other does."""
    return trainer.get_global_iteration() + 1


def end_of_iteration(run: Recorder) -> Callable[[Any], None]:
    """For `end_of_iteration_hook`: tells the total loss of every step, and each of its parts by name."""

    def hook(trainer: Any) -> None:
        parts = dict(trainer.losses)
        run.log(_step(trainer), loss=parts.pop("total_loss"), **parts)

    return hook


def end_of_epoch(run: Recorder, embed: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], None]:
    """For `end_of_epoch_hook`: keeps embeddings.

    Args:
        embed: called with the trainer's models; returns vectors [n d] and labels [n].
    """

    def hook(trainer: Any) -> None:
        run.embeddings(_step(trainer), *embed(trainer.models))

    return hook
