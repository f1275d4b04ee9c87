"""One training step's gradients: plain, or in two passes when the batch is larger than memory allows.

The loss sees all embeddings of the batch at once; only the encoder's graph is cut into chunks. A chunk's graph is
either kept from the first pass, or dropped and rebuilt after the loss has said what gradient each embedding gets
(Gao et al. 2021, GradCache; Patel et al. 2022, section 4.2). A plain step is one chunk whose graph is kept.

Rebuilding costs one more forward pass: 4/3 of a plain step when no graph is kept. It is exact because the second pass
repeats the first: dropout's random state is replayed, autocast is entered again, and batch normalisation is frozen or,
when its owner asked for that, taken over each chunk with running statistics updated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import nn

from lab.training.precision import Precision
from lab.training.randomness import RandomState

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Gather(Protocol):
    """How the embeddings of several processes become one batch; see `lab.training.distributed`."""

    def embeddings(self, own: torch.Tensor) -> torch.Tensor:
        """Own [n d] to everyone's [N d], in the order of ranks, without graph."""

    def labels(self, own: torch.Tensor) -> torch.Tensor:
        """Own [n] to everyone's [N], in the order of ranks."""

    def share(self, everyone: torch.Tensor) -> torch.Tensor:
        """The rows of everyone's [N d] that are this process's own, [n d]."""


class Diverged(RuntimeError):
    """A value became NaN or infinite. Carries the batch, so that it can be saved and replayed.

    embeddings: float32 [n d]. labels: int64 [n].
    """

    def __init__(self, sentence: str, embeddings: torch.Tensor, labels: torch.Tensor):
        super().__init__(sentence)
        self.embeddings, self.labels = embeddings.detach(), labels


@dataclass(frozen=True)
class StepResult:
    """What a step computed; the gradients stand in the parameters' `.grad`.

    loss: scalar. embeddings: [n d], as the loss saw them, without graph.
    """

    loss: torch.Tensor
    embeddings: torch.Tensor


@dataclass
class _Chunk:
    """One chunk between the passes: its embeddings with their graph, or what it takes to embed it again."""

    images: torch.Tensor
    embeddings: torch.Tensor
    state: RandomState | None


def gradients(
    encoder: nn.Module,
    loss: Loss,
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
    keep: int = 0,
    batchnorm: Literal["refuse", "per_chunk"] = "refuse",
    precision: Precision | None = None,
    gather: Gather | None = None,
) -> StepResult:
    """Add the gradients of `loss(encoder(images), labels)` to the parameters of encoder and loss.

    Args:
        encoder: maps images [c 3 h w] to embeddings [c d].
        loss: maps embeddings [n d] and labels [n] to a scalar; its own weights get gradients, too.
        images: [n 3 h w], on any device; moved to the encoder's chunk by chunk.
        labels: int64 [n].
        chunk: images embedded at once; None embeds the whole batch at once, a plain step.
        keep: how many chunks keep their graph instead of being embedded again. Memory grows with it, time falls.
        batchnorm: what to do about train-mode batch normalisation when there are several chunks. `per_chunk` takes its
            statistics over each chunk, which is another model than the plain step's.
        precision: autocast and loss scale; float32 when not given.
        gather: under several processes, see `lab.training.distributed`; None in one process.

    Time is one plain step plus one forward pass of the chunks that are not kept; memory that of one chunk's graph and
    the kept ones, plus [n d].

    Raises:
        Diverged: an embedding, or the loss, is NaN or infinite; no gradient has been added then.
        ValueError: several chunks, and the encoder normalises over the batch.
    """
    precision = precision or Precision(device=_device(encoder))
    parts = (images,) if chunk is None else images.split(chunk)
    if len(parts) == 1:
        keep = 1
    elif batchnorm == "refuse":
        _refuse_batch_statistics(encoder)
    chunks = [_first_pass(encoder, part, precision, kept=i < keep) for i, part in enumerate(parts)]
    own = torch.cat([c.embeddings.detach() for c in chunks])
    labels = labels.to(own.device)
    everyone = own if gather is None else gather.embeddings(own)
    all_labels = labels if gather is None else gather.labels(labels)

    leaf = everyone.requires_grad_()
    _refuse_non_finite(leaf, all_labels)
    value = loss(leaf, all_labels)
    if not torch.isfinite(value):
        raise Diverged(f"the loss is {value.item()}", leaf, all_labels)
    precision.backward(value)

    grad = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    mine = grad if gather is None else gather.share(grad)
    for c, g in zip(chunks, mine.split([len(c.embeddings) for c in chunks]), strict=True):
        _second_pass(encoder, c, g, precision)
    return StepResult(value.detach(), leaf.detach())


def _first_pass(encoder: nn.Module, images: torch.Tensor, precision: Precision, kept: bool) -> _Chunk:
    device = _device(encoder)
    if kept:
        return _Chunk(images, _embed(encoder, images, precision), None)
    state = RandomState.capture(device)
    with torch.no_grad(), _running_statistics_held(encoder):
        return _Chunk(images, _embed(encoder, images, precision), state)


def _second_pass(encoder: nn.Module, chunk: _Chunk, grad: torch.Tensor, precision: Precision) -> None:
    if chunk.state is None:
        embeddings = chunk.embeddings
    else:
        with chunk.state.replayed():
            embeddings = _embed(encoder, chunk.images, precision)
    if embeddings.requires_grad:
        embeddings.backward(grad)
    chunk.embeddings = embeddings.detach()


def _embed(encoder: nn.Module, images: torch.Tensor, precision: Precision) -> torch.Tensor:
    with precision.autocast():
        embeddings = encoder(images.to(_device(encoder), non_blocking=True))
    return embeddings if embeddings.dtype == torch.float64 else embeddings.float()


def _refuse_non_finite(embeddings: torch.Tensor, labels: torch.Tensor) -> None:
    finite = torch.isfinite(embeddings).all(dim=1)
    if not finite.all():
        row = int((~finite).nonzero()[0, 0])
        raise Diverged(f"the embedding of batch row {row} is NaN or infinite", embeddings, labels)


def _refuse_batch_statistics(encoder: nn.Module) -> None:
    found = [name for name, module in encoder.named_modules() if _normalises_over_batch(module)]
    if found:
        raise ValueError(
            f"A step in chunks needs an encoder that treats each image by itself, but {len(found)} of its modules "
            f"normalise over the batch, {found[0]!r} first. Freeze them, or set chunk_batchnorm to per_chunk: "
            "each chunk is then normalised by itself, which is another model than the plain step's."
        )


def _normalises_over_batch(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.training


@contextmanager
def _running_statistics_held(encoder: nn.Module) -> Iterator[None]:
    """Undo what train-mode batch normalisation adds to its running statistics: the second pass will add it."""
    held = [m for m in encoder.modules() if _normalises_over_batch(m) and m.track_running_stats]
    before = [{name: buffer.clone() for name, buffer in module.named_buffers(recurse=False)} for module in held]
    try:
        yield
    finally:
        for module, buffers in zip(held, before, strict=True):
            for name, buffer in buffers.items():
                # `.data`: a kept graph holds these buffers without reading them, and must not see them change.
                getattr(module, name).data.copy_(buffer)


def _device(encoder: nn.Module) -> torch.device:
    return next((p.device for p in encoder.parameters()), torch.device("cpu"))
