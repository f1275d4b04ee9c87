"""Record a Lightning training: `Trainer(callbacks=[LightningRecording(run)])`. Needs the package lightning."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import lightning.pytorch as lightning

from lab.integrations.recording.recorder import Recorder, named_in


class LightningRecording(lightning.Callback):
    """Passes the loss of every step and the values logged at each validation to a recorder; also the seed of
    `seed_everything`, and `method` (or `loss`) and `seed` of the module's hyper-parameters, unless `record` was given
    them.

    Args:
        run: from `lab.runs.record`, within its `with`.
        embed: called with the module after each validation; returns vectors [n d] and labels [n], which are kept.
    """

    def __init__(self, run: Recorder, embed: Callable[[Any], tuple[Any, Any]] | None = None):
        self.run = run
        self.embed = embed

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        seed = os.environ.get("PL_GLOBAL_SEED", "")  # of `seed_everything`
        method, module_seed = named_in(pl_module.hparams)
        self.run.describe(method, int(seed) if seed.isdecimal() else module_seed)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            self.run.log(
                trainer.global_step, loss=loss, lr=trainer.optimizers[0].param_groups[0]["lr"]
            )

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.sanity_checking:
            return
        self.run.log(
            trainer.global_step,
            **{name: float(value) for name, value in trainer.logged_metrics.items()},
        )
        if self.embed is not None:
            self.run.embeddings(trainer.global_step, *self.embed(pl_module))
