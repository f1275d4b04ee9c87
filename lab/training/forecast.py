"""Forecast the memory of a step before it is taken, from measurements on a few images and rows."""

from __future__ import annotations

import copy
import itertools
import math
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.autograd.profiler import profile

from lab.evaluation.mixed_precision import MixedPrecision
from lab.kernels.memory import (
    EncoderBytes,
    Forecast,
    MeasuredPeak,
    Peak,
    available_bytes,
    forecast,
    require,
)
from lab.training.randomness import LOSS, RandomState, seeded

if TYPE_CHECKING:
    from lab.data.images.loading import Streamed

SAMPLED = 16
"""Images on which the bytes of an encoder's graph are measured."""

MEASURED = 512
"""Rows on which a loss is measured, at most."""

SHARE = 0.5
"""Default share of the free memory for kept graphs; the rest is for the loss and other processes."""


def of_step(
    encoder: Any,
    loss: nn.Module,
    images: torch.Tensor | Streamed,
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
    graph_memory: int = 0,
    precision: MixedPrecision | None = None,
) -> Forecast:
    """Forecast the bytes of one step: the encoder's graph is measured, the loss declares its bytes or is measured.

    Args:
        encoder: catalogued, or with its width `dim`. loss: of the catalogue, or any other. Both as in a step.
        images: [n 3 h w], a batch, or a streamed one, of which a chunk counts. labels: int64 [n]; the largest class
            decides the number of positive pairs.
        chunk: images embedded at once, None for all.
        graph_memory: bytes of graphs that a chunked step keeps beyond the chunk it is at.

    Time of embedding a few images. Not counted: on a CPU with AVX2 and without AVX-512, a convolution whose map is
    narrower than its filter (the last layers of a ResNet, for images of up to 64 pixels) takes four times its weights
    for each thread while its gradient is computed.
    """
    precision = precision or MixedPrecision()
    if isinstance(images, torch.Tensor):
        sampled = SAMPLED
        loaded = len(images)
    else:
        sampled = min(SAMPLED, chunk or SAMPLED)
        loaded = min(chunk or len(images), len(images))  # at once
    # Measure the graph of a few images, and count the bytes of the weights.
    few = images[:sampled]
    graph, largest_map = graph_bytes(encoder, few, precision)
    weights = []
    for weight in (*encoder.parameters(), *loss.parameters()):
        if weight.requires_grad:
            weights.append(weight.numel() * weight.element_size())
    return forecast(
        peak_of(loss, labels, encoder.trained_dim),
        len(images),
        encoder.trained_dim,
        per_class=int(torch.bincount(labels).max()),
        encoder=EncoderBytes(
            weights=sum(weights),
            largest_weight=max(weights, default=0),
            image=math.ceil(few[0].numel() * few.element_size() * loaded / len(images)),
            graph=graph // len(few),
            largest_map=largest_map // len(few),
        ),
        chunk=chunk,
        kept_bytes=graph_memory,
    )


def peak_of(loss: nn.Module, labels: torch.Tensor, dim: int) -> Peak | MeasuredPeak:
    """Return the memory that a ranking loss declares; of any other, what torch allocates for up to `MEASURED` rows.

    The rows are random. A quarter and a half of them are measured, too, and a parabola is fitted to the three, since a
    loss holds multiples of its rows, pairs and triplets; a loss that compares rows with class weights grows linearly.
    Takes hundredths of a second. labels: int64 [n], those of a batch.
    """
    declared = getattr(loss, "peak", None)
    if isinstance(declared, Peak):
        return declared
    classes = getattr(getattr(loss, "knobs", None), "num_classes", None)
    labels = labels.cpu().sort().values[:MEASURED]  # whole classes
    if classes is not None:
        labels = labels % classes
    parts: tuple[int, ...] = (4, 2, 1)
    if getattr(loss, "family", None) in ("proxy", "classification"):
        parts = (2, 1)
    sizes = sorted({math.ceil(len(labels) / part) for part in parts})
    try:
        taken = [allocated_bytes(loss, labels[:size], dim) for size in sizes]
    except Exception:  # the step itself reports the error, better than a forecast
        return MeasuredPeak((), guess=True)
    # a memory that fills
    grows = any(hasattr(inner, "images_of_batch") for inner in loss.modules())
    return MeasuredPeak(tuple(np.polyfit(sizes, taken, len(sizes) - 1)), guess=grows)


def allocated_bytes(loss: nn.Module, labels: torch.Tensor, dim: int) -> int:
    """Measure the most bytes that torch allocates while a copy of a loss and its gradient are computed on the CPU.

    The embeddings are random; they are not counted, and neither are the loss's weights.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # its library writes on the terminal by itself
    loss = copy.deepcopy(loss).cpu()
    rows = torch.randn(len(labels), dim, generator=torch.Generator().manual_seed(0))
    for module in loss.modules():
        if hasattr(module, "images_of_batch"):
            module.images_of_batch = torch.arange(len(labels))
    weights = [weight for weight in loss.parameters() if weight.requires_grad]
    with (
        seeded(0, LOSS),
        warnings.catch_warnings(),
        profile(use_device=None, profile_memory=True) as profiled,
    ):
        warnings.simplefilter("ignore")
        value = loss(rows.requires_grad_(), labels)
        gradients = torch.autograd.grad(value, [rows, *weights], allow_unused=True)
    del gradients
    events = [event for event in profiled.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return max(itertools.accumulate(event.nbytes() for event in events))


def graph_bytes(
    encoder: nn.Module, images: torch.Tensor, precision: MixedPrecision
) -> tuple[int, int]:
    """Measure the bytes that autograd keeps of the encoder for images [c 3 h w], and those of its largest map.
    Weights and images are not counted.
    """
    existing = {
        tensor.untyped_storage().data_ptr()
        for tensor in (*encoder.parameters(), *encoder.buffers(), images)
    }
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in existing:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # an output that held itself would never be freed

    buffers = [buffer.clone() for buffer in encoder.buffers()]
    keeping = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with RandomState.capture(precision.device).replayed(), keeping, precision.autocast():
        embeddings = encoder(images.to(precision.device))
        del embeddings
    for buffer, before in zip(encoder.buffers(), buffers, strict=True):
        buffer.data.copy_(before)
    return sum(kept.values()), max(kept.values(), default=0)


def chunks_kept(needed: Forecast, limit: int | None, device: torch.device) -> int:
    """Return how many chunks of a step may keep their graph within `limit` bytes; None: within half the free memory."""
    images = needed.arguments["chunk"] or needed.arguments["n"]
    encoder = needed.arguments["encoder"]
    if limit is None:
        limit = int(SHARE * available_bytes(str(device)))
    return limit // max(1, images * encoder.graph)


def refuse_what_cannot_be_had(needed: Forecast, device: torch.device) -> None:
    """Refuse a run that would not fit, before its first step; its weights and images are loaded already.

    Raises:
        ValueError: what is needed, what there is, and the batch or chunk that would fit.
    """
    held = needed.parts["weights"] + needed.parts["images"]
    require(needed, available_bytes(str(device)) + held)
