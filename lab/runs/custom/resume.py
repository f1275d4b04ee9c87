"""`lab.resume`: go on with a training that was stopped, with the objects that it was begun with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import torch
from torch import nn

from lab.core.explain import last_line
from lab.core.records import Record
from lab.runs.building.parts import parts_of
from lab.runs.building.trained import read_checkpoint
from lab.runs.custom.modules import Custom, again, custom_loss
from lab.runs.execute import check_at_hand, execute
from lab.runs.folder import Run
from lab.runs.store import open_run


def resume(
    run: Run | str | Path,
    encoder: nn.Module | str | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    *,
    runs: Path | str | None = None,
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
        runs: folder of runs, for a name; by default `lab.runs.default_root()`.
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
        >>> known = {"name": "to-go-on", "runs": root, "training": {"device": "cpu"}}
        >>> run = lab.train(net(), data, "smooth_ap", steps=3, batch_size=8, stop=lambda: True, **known)
        >>> run.state, run.status["step"]
        ('stopped', 1)
        >>> lab.resume("to-go-on", encoder=net(), runs=root).state
        'finished'
    """
    run = run if isinstance(run, Run) else open_run(run, runs)
    config = run.config
    if loss is not None and not config.loss.outside:
        raise ValueError(f"This run was trained with {config.loss.name}, which is built by itself; leave loss out.")
    custom = Custom(None if encoder is None else again(encoder, config), None if loss is None else custom_loss(loss))
    check_at_hand(run, custom)
    _check(run, custom)
    for record in execute(run, stop, custom=custom):
        if listen is not None:
            listen(record)
    return run


def _check(run: Run, custom: Custom) -> None:
    """Refuse objects that the last checkpoint is not of, before anything is written; the others get its weights."""
    if run.checkpoint("last") is None:
        return
    parts = parts_of(run.config, run.dataset(), custom)
    if custom.loss is not None:
        custom.loss.try_out(cast(int, parts.encoder.trained_dim))
    _, state = read_checkpoint(run, "last")
    for name in ("encoder", "loss"):
        if getattr(custom, name) is not None:
            try:
                getattr(parts, name).load_state_dict(state[name])
            except RuntimeError as error:
                raise ValueError(f"The {name} does not fit run {run.name}: {last_line(error)}") from None
