"""What a step of this encoder and this loss will need, before it is taken: graphs are measured on a few images."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lab.evaluation.precision import Precision
from lab.kernels.memory import Encoder, Forecast, available_bytes, forecast, require
from lab.training import budget
from lab.wrappers import Wrapper

SAMPLED = 16
"""Images on which the bytes of an encoder's graph are measured."""


def of_step(
    encoder: Any,
    loss: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
    graph_memory: int = 0,
    precision: Precision | None = None,
) -> Forecast:
    """Bytes of one step: the encoder's graph measured, the loss by `lab.kernels.forecast`.

    Args:
        encoder: catalogued, or with its width `dim`. loss: known by its catalogued name; what wrappers hold is not
            counted. Both as in a step.
        images: [n 3 h w], a batch; labels: int64 [n], whose largest class decides the number of positive pairs.
        chunk: images embedded at once, None for all.
        graph_memory: bytes of graphs that a chunked step keeps beyond the chunk it is at.

    Time of embedding a few images.
    """
    precision = precision or Precision()
    few = images[:SAMPLED]
    graph, largest_map = budget.graph_bytes(encoder, few, precision)
    weights = [p.numel() * p.element_size() for p in (*encoder.parameters(), *loss.parameters()) if p.requires_grad]
    core = loss
    while isinstance(core, Wrapper):
        core = core.loss
    knobs = getattr(core, "knobs", None)
    return forecast(
        type(core).__module__.rpartition(".")[2],
        len(images),
        encoder.dim,
        per_class=int(torch.bincount(labels).max()),
        simix=bool(getattr(knobs, "simix", False)),
        released=getattr(knobs, "variant", "paper") == "released",
        triplets=getattr(knobs, "triplets_per_anchor", None),
        class_vectors=sum(p.numel() for p in core.parameters()) // encoder.dim,
        encoder=Encoder(
            weights=sum(weights),
            largest_weight=max(weights, default=0),
            image=images[0].numel() * images.element_size(),
            graph=graph // len(few),
            largest_map=largest_map // len(few),
        ),
        chunk=chunk,
        kept_bytes=graph_memory,
    )


def refuse_what_cannot_be_had(needed: Forecast, device: torch.device) -> None:
    """Stop before the first step of a run that would not fit; its weights and images are there already.

    Raises:
        ValueError: what is needed, what there is, and the batch or chunk that would fit.
    """
    held = needed.parts["weights"] + needed.parts["images"]
    require(needed, available_bytes(str(device)) + held)
