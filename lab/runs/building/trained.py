"""A trained run, opened once: the model of a checkpoint with what measuring it needs, to be passed on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from lab.core import ownership
from lab.core.explain import last_line, quoted
from lab.data.images.loading import Loader
from lab.evaluation.scores import anchors_in, classifier_in
from lab.runs.building import published
from lab.runs.building.parts import testing_loader
from lab.runs.config import RunConfig, without_fetching
from lab.runs.folder import PUBLISHED
from lab.training import checkpoint

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.encoders import Encoder
    from lab.runs.folder import Run


@dataclass
class Trained:
    """What a checkpoint of a run holds for use.

    Data set and loader are made when first asked for, and once: to embed other images takes neither.

    run: whose it is. config: what it is measured by, the run's or one that differs in how to measure.
    encoder: in evaluation mode, on the CPU. loss: the state of the wrapped loss.
    checkpoint, step: which weights they are.
    """

    run: Run
    config: RunConfig
    encoder: Encoder
    loss: dict[str, Tensor]
    checkpoint: str
    step: int

    @cached_property
    def dataset(self) -> ImageSet:
        """The images of the run, as its data set lists them now."""
        return self.run.dataset(changed=True)

    @cached_property
    def classes(self) -> np.ndarray:
        """int64 [c]: labels of the training images, in the order of the loss's class weights."""
        return self.dataset.splits["train"].by_class(self.dataset.labels)[0]

    @cached_property
    def loader(self) -> Loader:
        """Loads the images of `dataset` as the configuration wants to see them."""
        return self.loader_of(self.dataset)

    def loader_of(self, images: ImageSet) -> Loader:
        """The same for other images."""
        return testing_loader(self.config, images, self.encoder, with_contents=True)

    @cached_property
    def anchors(self) -> np.ndarray | None:
        """Class anchors [c d], if the loss has any; row i is that of `classes[i]`."""
        return anchors_in(self.loss)

    @cached_property
    def classifier(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Weight [c d] and bias [c] of the loss's linear classifier, wrapped or not, if it has one."""
        return classifier_in(self.loss)


def open_trained(
    run: Run, which: str | None = None, config: RunConfig | None = None, encoder: Any = None
) -> Trained:
    """Read a checkpoint of a run.

    Args:
        which: `best` or `last`; by default the one that the configuration evaluates. `last` where there is no `best`.
        config: the run's by default, or a changed one whose `evaluation`, `testing` and `metrics` are used instead.
        encoder: the person's own that the run was trained with; it gets the weights of the checkpoint.

    Raises:
        ValueError: the run has no checkpoint, it needs an encoder that its folder does not hold, the checkpoint does
            not fit the configuration, or its backbone pools by itself.
    """
    config = run.config if config is None else config
    name, state = read_checkpoint(run, which or config.evaluation.knobs.checkpoint)
    if encoder is None:
        _check_size(run, name, state)
        encoder = _empty(run)
    try:
        weights, loss, step = _parts_of(state)
        for part, value in {**loss, **weights}.items():
            if not isinstance(value, torch.Tensor):
                raise ValueError(f"{part} is no tensor.")
        encoder.load_state_dict(weights)
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"The {name} checkpoint of {run.name} does not fit its config.yaml: {last_line(error)}"
        ) from None
    if config.evaluation.knobs.pooling != "trained":
        encoder.pool_as(config.evaluation.knobs.pooling)
    return Trained(run, config, encoder.eval(), loss, name, step)


def _parts_of(state: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor], int]:
    """The weights, the loss's state and the step of a checkpoint.

    Raises:
        ValueError: one is not there, or is something else.
    """
    for part in ("encoder", "loss", "progress"):
        if not isinstance(state.get(part), dict):
            raise ValueError(f"it holds no {part}.")
    step = state["progress"].get("step")
    if type(step) is not int:
        raise ValueError(f"its step is {quoted(step)}, no whole number.")
    return dict(state["encoder"]), dict(state["loss"]), step


def _check_size(run: Run, name: str, state: dict[str, Any]) -> None:
    """Refuse a configuration of somebody else whose encoder is another one than the weights are of.

    It is built without memory first: a line of a file can name a network of any size, and weights cost their sender.

    Raises:
        ValueError: the encoder has other weights than the checkpoint holds, or cannot be built.
    """
    choice, weights = run.config.encoder, state.get("encoder")
    if choice.outside or not isinstance(weights, dict) or ownership.is_own(run.path, "config.yaml"):
        return
    choice.check(without_fetching(choice))
    tensors = {part: value for part, value in weights.items() if isinstance(value, torch.Tensor)}
    held = {part: value.shape for part, value in tensors.items()}
    most = LARGER * sum(value.numel() for value in tensors.values()) + SMALL
    try:
        with torch.device("meta"), _at_most(most, f"The {name} checkpoint of {run.name}"):
            shapes = {
                part: value.shape
                for part, value in choice.create(without_fetching(choice)).state_dict().items()
            }
    except ValueError:
        raise
    except (
        RuntimeError,
        NotImplementedError,
        TypeError,
    ):  # a network that computes with its weights while it is built
        return
    other = next((part for part in shapes if held.get(part) != shapes[part]), None)
    if other is not None:
        raise ValueError(
            f"The {name} checkpoint of {run.name} does not fit its config.yaml: the encoder has {other} of the shape "
            f"{list(shapes[other])}, and the checkpoint {list(held[other]) if other in held else 'none'}."
        )


LARGER, SMALL = 4, 1_000_000
"""How many times as many numbers as its checkpoint holds a network may have while it is built, which may make some
parts twice; and how many any network may have."""


@contextmanager
def _at_most(most: int, what: str) -> Iterator[None]:
    """Stop building a network in this thread once it has more than so many numbers: a network of billions takes
    seconds to build even without memory.

    Raises:
        ValueError: it has; `what` is the checkpoint that it does not fit.
    """
    here, built = threading.get_ident(), 0

    def count(_module: nn.Module, _name: str, values: Tensor | None) -> None:
        nonlocal built
        if values is not None and threading.get_ident() == here:
            built += values.numel()
            if built > most:
                raise RuntimeError("it is too large")

    try:
        with (
            register_module_parameter_registration_hook(count),
            register_module_buffer_registration_hook(count),
        ):
            yield
    except Exception:  # libraries have sentences of their own for a network that they cannot build
        if built <= most:
            raise
    if built > most:
        raise ValueError(
            f"{what} does not fit its config.yaml: the encoder has more than {most:,} numbers, many times as many as "
            "the checkpoint."
        )


def _empty(run: Run) -> Encoder:
    """The encoder of a run, before it gets its weights."""
    choice = run.config.encoder
    if choice.outside:
        raise ValueError(
            f"Run {run.name} was trained with an encoder of your own ({choice.values.get('what')}), and its folder "
            "holds only the weights; give the module: lab.load(run, encoder=module), or --encoder module:function."
        )
    return choice.create(without_fetching(choice))


def read_checkpoint(run: Run, which: str | None = None) -> tuple[str, dict[str, Any]]:
    """Name and content of a checkpoint, by default of the one that the run evaluates.

    Raises:
        ValueError: there is none.
    """
    name = run.used_checkpoint(which)
    path = name and run.checkpoint(name)
    if not name or not path:
        if run.config.imported:
            raise ValueError(
                f"Run {run.name} holds vectors of {run.config.encoder.values.get('what')}, but no encoder to embed "
                "other pictures with; name that encoder, or a run that was trained here."
            )
        raise ValueError(
            f"Run {run.name} has no checkpoint yet; train it first: lab train --resume {run.path}."
        )
    return name, published.state_of(run) if name == PUBLISHED else checkpoint.load(path)


class FromPixels(nn.Module):
    """From the pixels of square images, uint8 [n 3 s s], to embeddings [n d]: scaled and normalised as the encoder
    wants them. Resizing and cropping to s pixels come before it; see `lab.runs.building.parts.testing_transform`."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder
        self.mean: torch.Tensor
        self.std: torch.Tensor
        for name in ("mean", "std"):
            self.register_buffer(
                name, torch.tensor(getattr(encoder, name)).reshape(1, 3, 1, 1), persistent=False
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.encoder((images.float() / 255 - self.mean) / self.std)
