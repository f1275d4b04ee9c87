"""Several processes, one batch: each embeds its share, the loss sees all, one all-reduce makes the gradients whole.

Every process runs the whole loss, so any loss, wrapper or memory works unchanged; the kernels that walk over all pairs
share their tiles (`lab.kernels.sharing`). Each process then gets the gradient of its own rows. The encoder's gradients
are sums over processes, and equal those of one process with the whole batch. Start it with torchrun; NCCL on GPUs, gloo
on the CPU.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from lab.core.results import EmbeddingSet
from lab.kernels import gathering, paths, sharing
from lab.training.processes.batchnorm import normalises_over_batch

TIMEOUT = timedelta(minutes=30)
"""How long a collective waits for a process that stands still or is cut off; one that dies is noticed in seconds."""

PATIENCE = timedelta(hours=12)
"""How long the others wait for the first process, which searches and measures alone, and all for one another."""

PAUSE = 0.05
"""Seconds between two looks into the store."""


@contextmanager
def session(device: torch.device) -> Iterator[Processes]:
    """Join the other processes of torchrun for the length of the block: NCCL for training on GPUs, else gloo.

    Where whoever started the processes has made them one group already, as Ray Train does, that group is taken.
    """
    on_gpu, joined = device.type == "cuda", dist.is_initialized()
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if not joined:
        store, rank, world = next(dist.rendezvous("env://", timeout=PATIENCE))
        fresh = dist.PrefixStore(start_name(store, rank, world), store)
        backend = "nccl" if on_gpu else "gloo"
        dist.init_process_group(backend, store=fresh, rank=rank, world_size=world, timeout=TIMEOUT)
    try:
        yield Processes()
    finally:
        if not joined:
            dist.destroy_process_group()


def start_name(store: Any, rank: int, world: int) -> str:
    """What the first process calls this start: a name that all of its processes know and none of an earlier start does.

    torchrun may keep one store while it starts processes anew, so that new ones would wait for the addresses of those
    that died. How often it has started them is no such name: each machine's torchrun counts its own deaths alone.

    Each of the others leaves a number that nobody else has; the first answers every number it finds with the name, the
    ones of processes that died included, until each of the others has said by that name that it has it.

    Args:
        store: of torch.distributed, which may hold what earlier processes wrote.

    Raises:
        RuntimeError: they did not all come in time.
    """

    def read(key: str) -> str:
        return store.get(key).decode() if store.check([key]) else ""

    until, number = time.monotonic() + PATIENCE.total_seconds(), secrets.token_hex(8)
    missing = [] if rank else list(range(1, world))
    if rank:
        store.set(f"lab/arrived/{rank}", number)
    while time.monotonic() < until:
        if rank:
            answered, _, name = read(f"lab/answer/{rank}").partition(" ")
            if answered == number:
                store.set(f"lab/here/{name}/{rank}", "1")
                return name
        else:
            missing = [one for one in missing if not store.check([f"lab/here/{number}/{one}"])]
            if not missing:
                return number
            for one in missing:
                if arrived := read(f"lab/arrived/{one}"):
                    store.set(f"lab/answer/{one}", f"{arrived} {number}")
        time.sleep(PAUSE)
    raise RuntimeError(f"Process {rank} of {world} waited {PATIENCE} for the others, which did not come.")


class Processes:
    """The processes of one run, seen from one of them.

    rank: this one's number from 0. world: how many there are. first: whether this one writes the run.
    """

    def __init__(self) -> None:
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self._sizes: list[int] = []
        self._heard = 0
        self._shared = sharing.ALONE

    @property
    def first(self) -> bool:
        return self.rank == 0

    def embeddings(self, local: torch.Tensor) -> torch.Tensor:
        """Own [n d] to everyone's [N d], by rank; the shares may differ in size. No gradient flows through."""
        self._sizes = gathering.sizes_of_all(local)
        return gathering.rows_of_all(local, self._sizes)

    def labels(self, local: torch.Tensor) -> torch.Tensor:
        """Own [n] to everyone's [N], in the order of the last `embeddings`."""
        return gathering.rows_of_all(local, self._sizes)

    def rows(self, local: torch.Tensor) -> torch.Tensor:
        """Own [n ...] to everyone's [N ...], by rank; of anything, at any time."""
        return gathering.rows_of_all(local, gathering.sizes_of_all(local))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Within it, the processes share the work of a loss of everyone's embeddings."""
        with sharing.among(sharing.Share(self.rank, self.world if self._alike else 1)) as self._shared:
            yield

    def share(self, gradient: torch.Tensor) -> torch.Tensor:
        """This process's own rows, [n d], of the gradient of everyone's embeddings, [N d], when the loss was shared."""
        if not self._shared.split:
            return gradient.split(self._sizes)[self.rank]
        return gathering.mean_of_local_rows(gradient, self._sizes)

    @cached_property
    def _alike(self) -> bool:
        """Whether all processes run the same kernels; tiles of others would not fit together."""
        mine = torch.tensor([paths.number(_device())], device=_device())
        return len({int(other) for other in gathering.of_all(mine)}) == 1

    def part_of(self, items: np.ndarray, batch_size: int) -> np.ndarray:
        """This process's part of some images: whole batches, so that each is embedded in the company it would have."""
        batches = -(-len(items) // batch_size)
        first, last = (batches * rank // self.world * batch_size for rank in (self.rank, self.rank + 1))
        return items[first:last]

    def whole(self, part: EmbeddingSet | None, device: torch.device) -> EmbeddingSet:
        """The embeddings of everyone's parts, in order; `part` is None where a process had no image."""
        width = torch.tensor([0 if part is None else part.vectors.shape[1]], device=device)
        dist.all_reduce(width, dist.ReduceOp.MAX)  # who had no image does not know it: mixed inference changes it
        if part is None:
            nothing = np.zeros(0, np.int64)
            part = EmbeddingSet(np.zeros((0, int(width)), np.float32), nothing, nothing)
        columns = [
            torch.from_numpy(np.ascontiguousarray(c)).to(device) for c in (part.vectors, part.labels, part.items)
        ]
        sizes = gathering.sizes_of_all(columns[0])
        return EmbeddingSet(*(gathering.rows_of_all(column, sizes).cpu().numpy() for column in columns))

    def complete(self, encoder: nn.Module, loss: nn.Module, wish: bool = False) -> bool:
        """One all-reduce: sum the encoder's gradients, average what every process has alike.

        wish: whether this process is asked to stop; returns whether any is. The loss's own gradients and batch
        normalisation's running statistics are averaged, so that rounding cannot let the processes drift apart. A weight
        without gradient in all processes stays without.
        """
        sums = [p for p in encoder.parameters() if p.requires_grad]
        means = [p for p in loss.parameters() if p.requires_grad]
        statistics: list[Any] = [
            buffer
            for module in encoder.modules()
            if normalises_over_batch(module) and module.running_mean is not None
            for buffer in (module.running_mean, module.running_var)
        ]
        weights = [*sums, *means]
        flags = torch.tensor([*(p.grad is not None for p in weights), wish], dtype=torch.float32)
        values = [torch.zeros_like(p) if p.grad is None else p.grad for p in weights] + statistics
        widest = torch.float64 if any(v.dtype == torch.float64 for v in values) else torch.float32
        flags = flags.to(next(encoder.parameters()).device)
        flat = torch.cat([v.detach().reshape(-1).to(widest) for v in [*values, flags]])
        dist.all_reduce(flat)

        had = flat[-len(flags) : -1].tolist()
        pieces = flat[: -len(flags)].split([v.numel() for v in values])
        for i, (weight, piece) in enumerate(zip(weights, pieces, strict=False)):
            if had[i]:
                scale = 1 if i < len(sums) else self.world
                weight.grad = (piece / scale).view_as(weight).to(weight.dtype)
        for buffer, piece in zip(statistics, pieces[len(weights) :], strict=True):
            buffer.copy_((piece / self.world).view_as(buffer))
        return bool(flat[-1] > 0)

    def lists(self, mine: list[str]) -> list[str]:
        """Everyone's sentences, by rank."""
        boxes: list[list[str]] = [[]] * self.world
        dist.all_gather_object(boxes, mine)
        return [sentence for box in boxes for sentence in box]

    def from_first(self, text: str) -> str:
        """What the first process says, in every process. It may come hours later, for which no collective waits.

        Raises:
            RuntimeError: nothing was said for `PATIENCE`, or the first process is gone.
        """
        store, until = dist.distributed_c10d._get_default_store(), time.monotonic() + PATIENCE.total_seconds()
        self._heard += 1
        key = f"lab/first/{self._heard}"
        try:
            if self.first:
                store.set(key, text)
            while not store.check([key]):
                if time.monotonic() > until:
                    raise RuntimeError(f"The first process has said nothing for {PATIENCE}.")
                time.sleep(PAUSE)
            return str(store.get(key).decode())
        except dist.DistError as error:
            raise RuntimeError(f"Connection closed by peer: {error}") from error


def _device() -> str:
    """Where collectives work."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
