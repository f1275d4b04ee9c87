"""Train with several processes: each embeds its share of a batch, the loss sees all of it, and one all-reduce sums the
gradients.

Every process runs the whole loss, so any loss, wrapper or memory works unchanged; the kernels that walk over all pairs
share their tiles (`lab.kernels.sharing`). Each process then gets the gradient of its own rows. The encoder's gradients
are sums over processes, and equal those of one process with the whole batch. Start it with torchrun; NCCL on GPUs, gloo
on the CPU.
"""

from __future__ import annotations

import itertools
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
"""Time that a collective waits for a process that is stopped or cut off; a process that dies is noticed in seconds."""

PATIENCE = timedelta(hours=12)
"""Time that the others wait for the first process, which searches and measures alone, and all for one another."""

PAUSE = 0.05
"""Seconds between two polls of the store."""


@contextmanager
def session(device: torch.device) -> Iterator[Processes]:
    """Join the other processes of torchrun for the length of the block: NCCL for training on GPUs, else gloo.

    If the processes are one group already, as with Ray Train, that group is used.
    """
    on_gpu = device.type == "cuda"
    joined = dist.is_initialized()
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
    """Agree with the other processes on a name of this start, which no earlier start had.

    torchrun may keep one store while it restarts processes, so that new ones would wait for the addresses of those
    that died. The number of restarts is no such name: each machine's torchrun counts its own deaths alone.

    Each other process writes a random number; the first answers every number it finds with the name, also numbers of
    processes that died, until each of the others has confirmed under that name that it has it.

    Args:
        store: of torch.distributed, which may hold what earlier processes wrote.

    Raises:
        RuntimeError: they did not all come in time.
    """

    def read(key: str) -> str:
        return store.get(key).decode() if store.check([key]) else ""

    until = time.monotonic() + PATIENCE.total_seconds()
    number = secrets.token_hex(8)
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
            missing = [
                other for other in missing if not store.check([f"lab/here/{number}/{other}"])
            ]
            if not missing:
                return number
            for other in missing:
                arrived = read(f"lab/arrived/{other}")
                if arrived:
                    store.set(f"lab/answer/{other}", f"{arrived} {number}")
        time.sleep(PAUSE)
    raise RuntimeError(
        f"Process {rank} of {world} waited {PATIENCE} for the others, which did not come."
    )


class Processes:
    """The processes of one run, seen from one of them.

    rank: this one's number from 0. world: how many there are. first: whether this one writes the run.
    """

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self._sizes: list[int] = []
        self._heard = 0
        self._shared = sharing.ALONE

    @property
    def first(self) -> bool:
        return self.rank == 0

    def embeddings(self, local: torch.Tensor) -> torch.Tensor:
        """Gather own [n d] to everyone's [N d], by rank; the shares may differ in size. No gradient flows through."""
        self._sizes = gathering.sizes_of_all(local)
        return gathering.rows_of_all(local, self._sizes)

    def labels(self, local: torch.Tensor) -> torch.Tensor:
        """Gather own [n] to everyone's [N], in the order of the last `embeddings`."""
        return gathering.rows_of_all(local, self._sizes)

    def rows(self, local: torch.Tensor) -> torch.Tensor:
        """Gather own [n ...] to everyone's [N ...], by rank; of anything, at any time."""
        return gathering.rows_of_all(local, gathering.sizes_of_all(local))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Within the block, the processes share the work of a loss of everyone's embeddings."""
        with sharing.among(
            sharing.Share(self.rank, self.world if self._alike else 1)
        ) as self._shared:
            yield

    def share(self, gradient: torch.Tensor) -> torch.Tensor:
        """Return this process's own rows, [n d], of the gradient of everyone's embeddings, [N d], of a shared loss."""
        if not self._shared.split:
            return gradient.split(self._sizes)[self.rank]
        return gathering.mean_of_local_rows(gradient, self._sizes)

    @cached_property
    def _alike(self) -> bool:
        """Whether all processes run the same kernels; tiles of other kernels would not fit together."""
        own = torch.tensor([paths.number(_device())], device=_device())
        return len({int(number) for number in gathering.of_all(own)}) == 1

    def part_of(self, items: np.ndarray, batch_size: int) -> np.ndarray:
        """Return this process's part of some images: whole batches, which are then the same as in one process."""
        batches = -(-len(items) // batch_size)
        first = batches * self.rank // self.world * batch_size
        last = batches * (self.rank + 1) // self.world * batch_size
        return items[first:last]

    def whole(self, part: EmbeddingSet | None, device: torch.device) -> EmbeddingSet:
        """Gather the embeddings of everyone's parts, in order; `part` is None if a process had no image."""
        width = torch.tensor([0 if part is None else part.vectors.shape[1]], device=device)
        # a process without images does not know it: pooling may change it
        dist.all_reduce(width, dist.ReduceOp.MAX)
        if part is None:
            nothing = np.zeros(0, np.int64)
            part = EmbeddingSet(np.zeros((0, int(width)), np.float32), nothing, nothing)
        columns = []
        for column in (part.vectors, part.labels, part.items):
            columns.append(torch.from_numpy(np.ascontiguousarray(column)).to(device))
        sizes = gathering.sizes_of_all(columns[0])
        return EmbeddingSet(
            *(gathering.rows_of_all(column, sizes).cpu().numpy() for column in columns)
        )

    def complete(self, encoder: nn.Module, loss: nn.Module, wish: bool = False) -> bool:
        """Sum the encoder's gradients, and average what every process has alike, in one all-reduce.

        wish: whether this process was asked to stop; returns whether any was. The loss's own gradients and batch
        normalisation's running statistics are averaged, so that rounding cannot let the processes drift apart. A weight
        without gradient in all processes stays without.
        """
        encoder_weights = [weight for weight in encoder.parameters() if weight.requires_grad]
        loss_weights = [weight for weight in loss.parameters() if weight.requires_grad]
        weights = encoder_weights + loss_weights
        statistics: list[Any] = []
        for module in encoder.modules():
            if normalises_over_batch(module) and module.running_mean is not None:
                statistics += [module.running_mean, module.running_var]

        # One flat tensor: gradients, statistics, which gradients exist, and the wish to stop.
        values = [
            torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights
        ] + statistics
        flags = torch.tensor(
            [*(weight.grad is not None for weight in weights), wish], dtype=torch.float32
        )
        widest = (
            torch.float64
            if any(value.dtype == torch.float64 for value in values)
            else torch.float32
        )
        flags = flags.to(next(encoder.parameters()).device)
        flat = torch.cat([value.detach().reshape(-1).to(widest) for value in [*values, flags]])
        dist.all_reduce(flat)

        has_gradient = flat[-len(flags) : -1].tolist()
        parts = flat[: -len(flags)].split([value.numel() for value in values])
        for number, (weight, part) in enumerate(zip(weights, parts, strict=False)):
            if has_gradient[number]:
                scale = 1 if number < len(encoder_weights) else self.world
                weight.grad = (part / scale).view_as(weight).to(weight.dtype)
        for buffer, part in zip(statistics, parts[len(weights) :], strict=True):
            buffer.copy_((part / self.world).view_as(buffer))
        return bool(flat[-1] > 0)

    def lists(self, own: list[str]) -> list[str]:
        """Gather everyone's sentences, by rank."""
        boxes: list[list[str]] = [[]] * self.world
        dist.all_gather_object(boxes, own)
        return list(itertools.chain.from_iterable(boxes))

    def from_first(self, text: str) -> str:
        """Return the first process's text in every process. It may come hours later, for which no collective waits.

        Raises:
            RuntimeError: no text came within `PATIENCE`, or the first process is gone.
        """
        store = dist.distributed_c10d._get_default_store()
        until = time.monotonic() + PATIENCE.total_seconds()
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
    """Return the device of collectives."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
