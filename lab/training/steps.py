"""One training step's gradients: plain, or in two passes when the batch is larger than memory allows.

The loss sees all embeddings of the batch at once; only the encoder's graph is cut into chunks. A chunk's graph is kept
from the first pass, or dropped and rebuilt after the loss has said what gradient each embedding gets (Gao et al. 2021,
GradCache; Patel et al. 2022, section 4.2). A plain step is one chunk whose graph is kept.

Rebuilding costs one more forward pass: 4/3 of a plain step when no graph is kept. It is exact because the second pass
repeats the first: dropout's random state is replayed, autocast is entered again, and batch normalisation is frozen or,
with `per_chunk`, taken over each chunk with running statistics updated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from lab.evaluation.mixed_precision import MixedPrecision
from lab.training.processes.batchnorm import is_shared, normalises_over_batch
from lab.training.randomness import RandomState
from lab.training.stopwatch import Stopwatch

if TYPE_CHECKING:
    from lab.training.distributed import Processes

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Diverged(RuntimeError):
    """A value became NaN or infinite. Carries the batch, so that it can be saved and replayed.

    embeddings: float32 [n d]. labels: int64 [n].
    """

    def __init__(self, sentence: str, embeddings: torch.Tensor, labels: torch.Tensor):
        super().__init__(sentence)
        self.embeddings = embeddings.detach()
        self.labels = labels


@dataclass(frozen=True)
class StepResult:
    """The result of a step; the gradients are in the parameters' `.grad`.

    loss: scalar. embeddings: [n d], as the loss saw them, without graph.
    """

    loss: torch.Tensor
    embeddings: torch.Tensor


Chunk = tuple[torch.Tensor, RandomState | None]
"""Embeddings of a chunk between the passes: with their graph, or with the random state that rebuilds it."""


def gradients(
    encoder: Any,
    loss: Loss,
    images: Any,
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
    keep: int = 0,
    batchnorm: Literal["refuse", "per_chunk"] = "refuse",
    precision: MixedPrecision | None = None,
    gather: Processes | None = None,
    watch: Stopwatch | None = None,
) -> StepResult:
    """Add the gradients of `loss(encoder(images), labels)` to the parameters of encoder and loss.

    Args:
        encoder: maps images [c 3 h w] to embeddings [c d].
        loss: maps embeddings [n d] and labels [n] to a scalar; its own weights get gradients, too.
        images, labels: [n 3 h w] on any device, moved to the encoder's chunk by chunk, and int64 [n]. Streamed images
            are also loaded chunk by chunk, and again for the second pass.
        chunk: images embedded at once; None embeds the whole batch at once, a plain step.
        keep: how many chunks keep their graph instead of being embedded again. More memory, less time.
        batchnorm: what happens to train-mode batch normalisation with chunks or processes. `per_chunk` takes its
            statistics over each chunk, which is another model than the plain step's.
        precision: autocast and loss scale; by default the autocast that is on around the call, and no scale.
        gather: of several processes, see `lab.training.distributed`; None in one process, and for an encoder in DDP
            with a loss in `lab.losses.gathered`, which is averaged once a step; all processes have as many chunks then.
        watch: measures the parts of the step.

    Time: a plain step and the forward pass of what was not kept. Memory: one chunk's graph, what was kept, and [n d].

    Raises:
        Diverged: an embedding, or the loss, is NaN or infinite; no gradient has been added then.
        ValueError: several chunks, and the encoder normalises over the batch.

    Example:
        >>> import lab, torch
        >>> encoder, loss = torch.nn.Linear(3, 2), lab.losses.create("smooth_ap")
        >>> images, labels = torch.randn(64, 3), torch.arange(64) // 4
        >>> result = lab.training.gradients(encoder, loss, images, labels, chunk=16)  # sees 64, holds a graph of 16
        >>> result.embeddings.shape, encoder.weight.grad.shape
        (torch.Size([64, 2]), torch.Size([2, 3]))
    """
    precision = precision or MixedPrecision(device=_device(encoder))
    watch = watch or Stopwatch(_device(encoder))
    parts = images.split(chunk or len(images))
    if batchnorm == "refuse" and (len(parts) > 1 or gather is not None):
        _refuse_batch_statistics(encoder, shared_is_fine=len(parts) == 1)
    with watch.of("encoder"):
        chunks = _first_passes(encoder, images, parts, keep, precision)
    local = torch.cat([embeddings.detach() for embeddings, _ in chunks])
    labels = labels.to(local.device)
    if gather is not None:
        local = gather.embeddings(local)
        labels = gather.labels(labels)
    with watch.of("loss"):
        value, grad = _through_loss(loss, local.requires_grad_(), labels, precision, gather)
    with watch.of("backward"):
        _second_passes(encoder, chunks, images, parts, grad, precision)
    return StepResult(value, local.detach())


def _first_passes(
    encoder: nn.Module, images: Any, parts: Any, keep: int, precision: MixedPrecision
) -> list[Chunk]:
    if len(parts) == 1:
        keep = 1
    elif hasattr(
        encoder, "no_sync"
    ):  # DDP counts backward passes, and one for each forward pass with graph
        keep = 0
    chunks: list[Chunk] = []
    for part in parts if isinstance(images, torch.Tensor) else images.parts(parts):
        kept = len(chunks) < keep
        state = None if kept else RandomState.capture(_device(encoder))
        with nullcontext() if kept else torch.no_grad():
            chunks.append((_embed(encoder, part, precision), state))
    return chunks


def _second_passes(
    encoder: Any,
    chunks: list[Chunk],
    images: Any,
    parts: Any,
    gradient: torch.Tensor,
    precision: MixedPrecision,
) -> None:
    """Carry the gradient of the embeddings [n d] into the weights, chunk by chunk; each chunk is freed then."""
    missing = [part for part, (_, state) in zip(parts, chunks, strict=True) if state]
    # Chunks whose graph was not kept are embedded again.
    again = iter(missing) if isinstance(images, torch.Tensor) else images.parts(missing)
    for of_chunk in gradient.split([len(embeddings) for embeddings, _ in chunks]):
        embeddings, state = chunks.pop(0)
        waits = hasattr(encoder, "no_sync") and chunks  # DDP averages once a step
        with encoder.no_sync() if waits else nullcontext():
            if state is not None:
                with state.replayed(), _running_statistics_held(encoder):
                    embeddings = _embed(encoder, next(again), precision)
            if embeddings.requires_grad:
                embeddings.backward(of_chunk)


def _through_loss(
    loss: Loss,
    embeddings: torch.Tensor,
    labels: torch.Tensor,
    precision: MixedPrecision,
    gather: Processes | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the loss of everyone's embeddings [n d], a leaf of its graph, and the gradient of this process's rows."""
    finite = torch.isfinite(embeddings).all(dim=1)
    if not finite.all():
        row = int((~finite).nonzero()[0, 0])
        raise Diverged(f"the embedding of batch row {row} is NaN or infinite", embeddings, labels)
    with nullcontext() if gather is None else gather.shared():
        value = loss(embeddings, labels)
        if not torch.isfinite(value):
            raise Diverged(f"the loss is {value.item()}", embeddings, labels)
        precision.backward(value)
    grad = embeddings.grad
    if grad is None:
        grad = torch.zeros_like(embeddings)
    if gather is not None:
        grad = gather.share(grad)
    return value.detach(), grad


def _embed(encoder: nn.Module, images: torch.Tensor, precision: MixedPrecision) -> torch.Tensor:
    with precision.autocast():
        embeddings = encoder(images.to(_device(encoder), non_blocking=True))
    return embeddings if embeddings.dtype == torch.float64 else embeddings.float()


def _refuse_batch_statistics(encoder: nn.Module, shared_is_fine: bool) -> None:
    layers = [
        (name, module) for name, module in encoder.named_modules() if normalises_over_batch(module)
    ]
    names = [name for name, module in layers if not (shared_is_fine and is_shared(module))]
    if names:
        raise ValueError(
            f"A step in chunks or processes needs each image embedded by itself, but {len(names)} of the encoder's "
            f"modules normalise over the batch, {names[0]!r} first. Freeze them, or set chunk_batchnorm to per_chunk "
            "(batchnorm='per_chunk' of lab.training.gradients): "
            "each chunk is then normalised by itself, which is another model than the plain step's."
        )


@contextmanager
def _running_statistics_held(encoder: nn.Module) -> Iterator[None]:
    """Undo the second update of batch normalisation's running statistics: the first pass has updated them."""
    modules = [
        module
        for module in encoder.modules()
        if normalises_over_batch(module) and module.track_running_stats
    ]
    before = []
    for module in modules:
        before.append(
            {name: buffer.clone() for name, buffer in module.named_buffers(recurse=False)}
        )
    try:
        yield
    finally:
        for module, buffers in zip(modules, before, strict=True):
            for name, buffer in buffers.items():
                # `.data`: a graph holds these buffers without reading them, and must not notice the change.
                getattr(module, name).data.copy_(buffer)


def _device(encoder: nn.Module) -> torch.device:
    for weight in encoder.parameters():
        return weight.device
    return torch.device("cpu")
