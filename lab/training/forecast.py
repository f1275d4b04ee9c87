"""What a step of this encoder and this loss will need, before it is taken: graphs are measured on a few images."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lab.evaluation.precision import Precision
from lab.kernels import GUESS, Peak
from lab.kernels.memory import EncoderBytes, Forecast, available_bytes, forecast, require
from lab.training import budget

if TYPE_CHECKING:
    from lab.data.images.loading import Streamed

SAMPLED = 16
"""Images on which the bytes of an encoder's graph are measured."""


def of_step(
    encoder: Any,
    loss: nn.Module,
    images: torch.Tensor | Streamed,
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
    graph_memory: int = 0,
    precision: Precision | None = None,
) -> Forecast:
    """Bytes of one step: the encoder's graph measured, the loss by `lab.kernels.forecast`.

    Args:
        encoder: catalogued, or with its width `dim`. loss: of ours, or any other, which is guessed at. Both as in a
            step.
        images: [n 3 h w], a batch, or a streamed one, of which a chunk counts. labels: int64 [n], whose largest class
            decides the number of positive pairs.
        chunk: images embedded at once, None for all.
        graph_memory: bytes of graphs that a chunked step keeps beyond the chunk it is at.

    Time of embedding a few images. Not counted: on a CPU with AVX2 and without AVX-512, a convolution whose map is
    narrower than its filter (the last layers of a ResNet, for images of up to 64 pixels) takes four times its weights
    for each thread while its gradient is computed.
    """
    precision = precision or Precision()
    few = images[: SAMPLED if isinstance(images, torch.Tensor) else min(SAMPLED, chunk or SAMPLED)]
    graph, largest_map = budget.graph_bytes(encoder, few, precision)
    weights = [p.numel() * p.element_size() for p in (*encoder.parameters(), *loss.parameters()) if p.requires_grad]
    return forecast(
        peak_of(loss, encoder.trained_dim),
        len(images),
        encoder.trained_dim,
        per_class=int(torch.bincount(labels).max()),
        encoder=EncoderBytes(
            weights=sum(weights),
            largest_weight=max(weights, default=0),
            image=_bytes_an_image(images, few, chunk),
            graph=graph // len(few),
            largest_map=largest_map // len(few),
        ),
        chunk=chunk,
        kept_bytes=graph_memory,
    )


def peak_of(loss: nn.Module, dim: int) -> Peak:
    """What a loss declares that it holds, or a guess, with as many class vectors of width dim as it owns."""
    declared = getattr(loss, "peak", None)
    vectors = sum(p.numel() for p in loss.parameters()) // dim
    return replace(declared if isinstance(declared, Peak) else GUESS, class_vectors=vectors)


def _bytes_an_image(images: torch.Tensor | Streamed, few: torch.Tensor, chunk: int | None) -> int:
    """Of each image of the batch, however many are held at once."""
    one = few[0].numel() * few.element_size()
    held = len(images) if isinstance(images, torch.Tensor) else min(chunk or len(images), len(images))
    return math.ceil(one * held / len(images))


def refuse_what_cannot_be_had(needed: Forecast, device: torch.device) -> None:
    """Stop before the first step of a run that would not fit; its weights and images are there already.

    Raises:
        ValueError: what is needed, what there is, and the batch or chunk that would fit.
    """
    held = needed.parts["weights"] + needed.parts["images"]
    require(needed, available_bytes(str(device)) + held)
