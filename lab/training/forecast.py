"""What a step of this encoder and this loss will need, before it is taken, as measured on a few images and rows."""

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
from lab.kernels.memory import EncoderBytes, Forecast, MeasuredPeak, Peak, available_bytes, forecast, require
from lab.training.randomness import LOSS, RandomState, seeded

if TYPE_CHECKING:
    from lab.data.images.loading import Streamed

SAMPLED = 16
"""Images on which the bytes of an encoder's graph are measured."""

MEASURED = 512
"""Rows on which a loss is measured, at most."""

SHARE = 0.5
"""Part of the free memory that kept graphs may take when nobody says how much; the rest is for the loss and others."""


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
    """Bytes of one step: the encoder's graph measured, the loss declared or measured.

    Args:
        encoder: catalogued, or with its width `dim`. loss: of ours, or any other. Both as in a step.
        images: [n 3 h w], a batch, or a streamed one, of which a chunk counts. labels: int64 [n], whose largest class
            decides the number of positive pairs.
        chunk: images embedded at once, None for all.
        graph_memory: bytes of graphs that a chunked step keeps beyond the chunk it is at.

    Time of embedding a few images. Not counted: on a CPU with AVX2 and without AVX-512, a convolution whose map is
    narrower than its filter (the last layers of a ResNet, for images of up to 64 pixels) takes four times its weights
    for each thread while its gradient is computed.
    """
    precision = precision or MixedPrecision()
    few = images[: SAMPLED if isinstance(images, torch.Tensor) else min(SAMPLED, chunk or SAMPLED)]
    graph, largest_map = graph_bytes(encoder, few, precision)
    held = len(images) if isinstance(images, torch.Tensor) else min(chunk or len(images), len(images))  # at once
    weights = [p.numel() * p.element_size() for p in (*encoder.parameters(), *loss.parameters()) if p.requires_grad]
    return forecast(
        peak_of(loss, labels, encoder.trained_dim),
        len(images),
        encoder.trained_dim,
        per_class=int(torch.bincount(labels).max()),
        encoder=EncoderBytes(
            weights=sum(weights),
            largest_weight=max(weights, default=0),
            image=math.ceil(few[0].numel() * few.element_size() * held / len(images)),
            graph=graph // len(few),
            largest_map=largest_map // len(few),
        ),
        chunk=chunk,
        kept_bytes=graph_memory,
    )


def peak_of(loss: nn.Module, labels: torch.Tensor, dim: int) -> Peak | MeasuredPeak:
    """What a ranking loss declares that it holds; of any other, what torch allocates for up to `MEASURED` random rows.

    A quarter and a half of them are measured, too, and a parabola goes through the three, since a loss holds multiples
    of its rows, pairs and triplets; one that compares rows with weights of classes grows along a line. Takes hundredths
    of a second. labels: int64 [n], those of a batch.
    """
    declared = getattr(loss, "peak", None)
    if isinstance(declared, Peak):
        return declared
    classes = getattr(getattr(loss, "knobs", None), "num_classes", None)
    labels = labels.cpu().sort().values[:MEASURED]  # whole classes
    labels = labels if classes is None else labels % classes
    parts = (2, 1) if getattr(loss, "family", None) in ("proxy", "classification") else (4, 2, 1)
    sizes = sorted({math.ceil(len(labels) / part) for part in parts})
    try:
        taken = [allocated_bytes(loss, labels[:size], dim) for size in sizes]
    except Exception:  # the step itself will say what is wrong, better than a forecast
        return MeasuredPeak((), guess=True)
    grows = any(hasattr(inner, "images_of_batch") for inner in loss.modules())  # a memory that fills
    return MeasuredPeak(tuple(np.polyfit(sizes, taken, len(sizes) - 1)), guess=grows)


def allocated_bytes(loss: nn.Module, labels: torch.Tensor, dim: int) -> int:
    """Bytes that torch allocates at most while a copy of a loss and its gradient are taken on the CPU.

    The embeddings are random; they are not counted, and neither are the loss's weights.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # its library writes on the terminal by itself
    loss, rows = copy.deepcopy(loss).cpu(), torch.randn(len(labels), dim, generator=torch.Generator().manual_seed(0))
    for module in loss.modules():
        if hasattr(module, "images_of_batch"):
            module.images_of_batch = torch.arange(len(labels))
    weights = [weight for weight in loss.parameters() if weight.requires_grad]
    with seeded(0, LOSS), warnings.catch_warnings(), profile(use_device=None, profile_memory=True) as seen:
        warnings.simplefilter("ignore")
        value = loss(rows.requires_grad_(), labels)
        gradients = torch.autograd.grad(value, [rows, *weights], allow_unused=True)
    del gradients
    events = [event for event in seen.kineto_results.events() if event.name() == "[memory]"]
    return max(itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))


def graph_bytes(encoder: nn.Module, images: torch.Tensor, precision: MixedPrecision) -> tuple[int, int]:
    """Bytes that autograd keeps of the encoder for images [c 3 h w], and of its largest map.

    Weights and images are not counted.
    """
    standing = {t.untyped_storage().data_ptr() for t in (*encoder.parameters(), *encoder.buffers(), images)}
    held: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in standing:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # an output that held itself would never be freed

    buffers = [buffer.clone() for buffer in encoder.buffers()]
    keeping = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with RandomState.capture(precision.device).replayed(), keeping, precision.autocast():
        embeddings = encoder(images.to(precision.device))
        del embeddings
    for buffer, before in zip(encoder.buffers(), buffers, strict=True):
        buffer.data.copy_(before)
    return sum(held.values()), max(held.values(), default=0)


def chunks_kept(needed: Forecast, limit: int | None, device: torch.device) -> int:
    """How many chunks of a step may keep their graph within `limit` bytes, or within half of what is free for None."""
    images, encoder = needed.arguments["chunk"] or needed.arguments["n"], needed.arguments["encoder"]
    limit = int(SHARE * available_bytes(str(device))) if limit is None else limit
    return limit // max(1, images * encoder.graph)


def refuse_what_cannot_be_had(needed: Forecast, device: torch.device) -> None:
    """Stop before the first step of a run that would not fit; its weights and images are there already.

    Raises:
        ValueError: what is needed, what there is, and the batch or chunk that would fit.
    """
    held = needed.parts["weights"] + needed.parts["images"]
    require(needed, available_bytes(str(device)) + held)
