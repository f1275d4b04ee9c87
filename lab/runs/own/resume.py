"""`lab.resume`: go on with a training that was stopped, with the objects that it was begun with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lab.core.records import Record
from lab.runs.building.parts import parts_of
from lab.runs.building.trained import read_checkpoint
from lab.runs.execute import check_at_hand, execute
from lab.runs.folder import Run
from lab.runs.own.modules import Own, again, own_loss
from lab.runs.store import open_run
from lab.training.processes.class_shards import held_by


def resume(
    run: Run | str | Path,
    encoder: nn.Module | str | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    *,
    root: Path | str | None = None,
    listen: Callable[[Record], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Run:
    """Train on from the last checkpoint of a run, evaluate, and return the run.

    What `lab.train` was given as objects of your own is given again: the folder holds their weights, not their code.
    The pictures are in the folder. The result is that of a training that was never interrupted.

    Args:
        run: a run, its folder or its name.
        encoder: the module that the run was begun with, or `module:function` that makes it; its weights are replaced
            by those of the checkpoint. None for one of ours.
        loss: the callable that the run was begun with. None for one of ours.
        root: folder of runs, for a name; by default `lab.runs.default_root()`.
        listen, stop: as `lab.train` has them.

    Raises:
        ValueError: there is no such run, an object is missing or one too many, or does not fit the checkpoint; the run
            is then as it was.
        lab.training.loop.Stopped: training diverged.
        OSError: the disk is full or the folder cannot be written.

    Example (`root` is that of `lab.runs`):
        >>> import lab, torch
        >>> random = torch.Generator().manual_seed(0)
        >>> data = [(torch.rand(3, 16, 16, generator=random), i % 8) for i in range(64)]
        >>> def net():
        ...     return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 8))
        >>> known = {"name": "to-go-on", "root": root, "training": {"device": "cpu"}}
        >>> run = lab.train(net(), data, "smooth_ap", steps=3, batch_size=8, stop=lambda: True, **known)
        >>> run.state, run.status["step"]
        ('stopped', 1)
        >>> lab.resume("to-go-on", encoder=net(), root=root).state
        'finished'
    """
    run = run if isinstance(run, Run) else open_run(run, root)
    config = run.config
    if loss is not None and not config.loss.outside:
        raise ValueError(f"This run was trained with {config.loss.name}, which is built by itself; leave loss out.")
    own = Own(None if encoder is None else again(encoder, config), None if loss is None else own_loss(loss))
    check_at_hand(run, own)
    _check(run, own)
    for record in execute(run, stop, own=own):
        if listen is not None:
            listen(record)
    return run


def _check(run: Run, own: Own) -> None:
    """Refuse objects that the last checkpoint is not of, before anything is written."""
    if run.checkpoint("last") is None:
        return
    parts = parts_of(run.config, run.dataset(), own)
    if own.loss is not None:
        width: Any = parts.encoder.trained_dim
        own.loss.try_out(width)
    _, state = read_checkpoint(run, "last")
    held = held_by(parts.loss, parts.optimiser)  # class weights that are shared out stand in files of their own
    for name in ("encoder", "loss"):
        weights = getattr(parts, name).state_dict()
        _compare(f"The {name} does not fit run {run.name}", held.whole(weights) if held else weights, state[name])


def _compare(what: str, offered: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    ours, theirs = (
        {name: f"of shape {list(value.shape)}" for name, value in one.items() if isinstance(value, torch.Tensor)}
        for one in (offered, kept)
    )
    for name in dict.fromkeys([*theirs, *ours]):
        shape, wanted = ours.get(name, "missing"), theirs.get(name, "missing")
        if shape != wanted:
            raise ValueError(f"{what}: its weight {name} is {shape}, and that of the checkpoint is {wanted}.")
