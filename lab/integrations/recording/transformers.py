"""Record a training with Hugging Face's Trainer: `Trainer(..., callbacks=[TransformersRecording(run)])`. Needs
transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from lab.integrations.recording.recorder import Recorder

STEP = {"learning_rate": "lr", "grad_norm": "gradient_norm"}
"""The Trainer's names of numbers of a step, to ours."""


class TransformersRecording(TrainerCallback):
    """Passes the seed, the values that the Trainer logs (see its `logging_steps`) and each evaluation to a recorder.

    Args:
        run: from `lab.runs.record`, within its `with`.
        embed: called with the model after each evaluation; returns vectors [n d] and labels [n], which are kept.
    """

    def __init__(self, run: Recorder, embed: Callable[[Any], tuple[Any, Any]] | None = None):
        self.run = run
        self.embed = embed

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.run.describe(seed=args.seed)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        numbers = {
            STEP.get(name, name): float(value)
            for name, value in (logs or {}).items()
            if name != "epoch"
        }
        self.run.log(state.global_step, **numbers)

    def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if self.embed is not None:
            self.run.embeddings(state.global_step, *self.embed(model))
