"""From a configuration to its loss alone, without what loading images takes to import."""

from __future__ import annotations

from typing import Any

from torch import nn

import lab.losses
import lab.wrappers
from lab.runs.config import RunConfig


def wrapped_loss(config: RunConfig, num_classes: int, dim: int, custom: nn.Module | None = None) -> nn.Module:
    """Fresh loss, or a person's own, with its wrappers, on the CPU.

    Raises:
        ValueError: class weights are to be shared out and cannot be, see `check_sharded`; or there are fewer classes
            than processes.
    """
    derived: dict[str, Any] = {"num_classes": num_classes, "dim": dim}
    if config.training.knobs.class_weights == "sharded":
        check_sharded(config)
        kind, seed = lab.losses.get(config.loss.name), config.training.knobs.seed
        return lab.losses.sharded(kind, **derived, seed=seed, **config.loss.values)  # type: ignore[arg-type]
    loss = config.loss.create(**derived) if custom is None else custom
    for choice in config.wrappers:
        open_knobs = {k: derived[k] for k in choice.derived}
        loss = lab.wrappers.create(choice.name, loss=loss, **choice.values, **open_knobs)
    return loss


def check_sharded(config: RunConfig) -> None:
    """Refuse, before anything is made, what class weights that are shared out cannot do.

    Raises:
        ValueError: the loss has none, or it is a person's own, or in a wrapper, or a search or the choice of the best
            checkpoint wants the weights of all classes.
    """
    if config.wrappers or config.loss.outside or "num_classes" not in config.loss.derived:
        raise ValueError(
            "training: class_weights sharded is for a loss with class weights, in no wrapper, for instance "
            "--loss arc_face; leave it whole."
        )
    if config.evaluation.knobs.search == "two_stage":
        raise ValueError(
            "evaluation: search two_stage reads the anchors of all classes, which no checkpoint holds with training: "
            "class_weights sharded; take search exact, or leave the weights whole."
        )
    from lab.training.validation import columns_of

    chosen, made = config.training.knobs.select_by, {choice.name: choice.create() for choice in config.metrics}
    if chosen in columns_of({name: one for name, one in made.items() if one.needs in ("anchors", "classifier")}):
        raise ValueError(
            f"training: select_by {chosen!r} is measured with the weights of all classes, which no process holds "
            "with class_weights sharded; choose another column, for instance --training.select_by MAP@R, or leave the "
            "weights whole."
        )
