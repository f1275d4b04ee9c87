"""The training loop to read first: what `lab.training.loop` does in earnest, and bit by bit equal to it.

    from lab.runs.building.parts import parts_of
    parts = parts_of(lab.runs.RunConfig.of({"loss": "smooth_ap"}))
    for step, value in train(parts, steps=100):
        print(step, value)

The real loop adds what long work needs: validation, checkpoints and resuming, several processes, mixed precision,
clipping, streamed images, kept graphs, records to look at. None of it changes a number of a plain run
(tests/training/test_simple.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from lab.training.randomness import ENCODER, LOSS, RandomState, seeded

if TYPE_CHECKING:
    from lab.training.loop import Parts


def train(
    parts: Parts, steps: int, seed: int = 0, chunk: int | None = None
) -> Iterator[tuple[int, float]]:
    """Yields the number and the loss of each step, 1 first; encoder and loss are trained in place.

    Args:
        parts: encoder, loss, sampler, images, optimiser and schedule, as `lab.runs.building.parts.parts_of` makes them.
        seed: each draw depends on it and the step alone.
        chunk: images embedded at once, with the loss still over the whole batch; None embeds them all at once.
    """
    encoder, loss, optimiser = parts.encoder.train(), parts.loss.train(), parts.optimiser
    # some images of some classes
    positions = (parts.items[parts.sampler.batch(step)] for step in range(steps))
    for step, batch in enumerate(parts.loader.batches(positions), start=1):
        # classes as 0, 1, 2, ...
        labels = torch.from_numpy(np.searchsorted(parts.classes, batch.labels.numpy()))
        for group in optimiser.param_groups:
            group["lr"] = group["base_lr"] * parts.schedule.factor(step, steps)
        optimiser.zero_grad()
        with seeded(seed, ENCODER, step, 0):  # the last is the number of the process
            embeddings, gradient_of = embedded(encoder, batch.images, chunk)
            leaf = embeddings.requires_grad_()
            with seeded(seed, LOSS, step):
                value = loss(leaf, labels)  # all pairs, lists or classes of the batch at once
            value.backward()
            assert leaf.grad is not None
            gradient_of(leaf.grad)
        optimiser.step()
        yield step, value.item()


def embedded(
    encoder: nn.Module, images: torch.Tensor, chunk: int | None
) -> tuple[torch.Tensor, Callable[[torch.Tensor], object]]:
    """Embeddings [n d] without graph, and the function that carries their gradient [n d] into the encoder's weights.

    In chunks (Gao et al. 2021, GradCache; RS@k, section 4.2) no graph is kept: each chunk is embedded again, with the
    same dropout, when its gradient is known. One more forward pass buys a batch as large as one likes.
    """
    if chunk is None:
        embeddings = encoder(images)
        return embeddings.detach(), embeddings.backward
    parts = images.split(chunk)
    states = []
    rows = []
    for part in parts:
        states.append(RandomState.capture())
        with torch.no_grad():
            rows.append(encoder(part))

    def backward(gradient: torch.Tensor) -> None:
        for part, state, of_part in zip(parts, states, gradient.split(chunk), strict=True):
            with state.replayed():
                encoder(part).backward(of_part)

    return torch.cat(rows), backward
