"""Large batches: the two-pass step against the plain one, in time by what it keeps and in memory over the batch.

"half" keeps the graphs of half of the chunks, and embeds the others again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import torch

from lab import encoders, losses
from lab.bench._measure import BenchRow, growth, medians
from lab.bench._memory import extra_megabytes
from lab.bench.losses import prepared_step as prepared_loss
from lab.training.steps import gradients

SHARES = {"all": 1.0, "half": 0.5, "a quarter": 0.25, "none": 0.0}
GOALS = {"all": 1.03, "half": 1.19, "a quarter": 1.27, "none": 1.34}
"""Of a plain step's time. Embedding everything again is one forward more, 4/3 where backward takes twice as long."""

LOSS = "recall_at_k"


def measure(
    backbone: str = "resnet50",
    batch: int = 32,
    image_size: int = 224,
    chunk: int = 8,
    memory_batches: tuple[int, ...] = (32, 64, 128),
    memory_image_size: int = 64,
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[BenchRow]:
    """Time of a step as a ratio to the plain one, and its peak memory over n with fitted growth.

    Args:
        backbone: timm's name; its weights are random, which changes neither time nor memory.
        batch, image_size: for the times; small images and chunks exaggerate what each chunk costs by itself, since
            every chunk reads all weights and adds to all their gradients.
        memory_batches, memory_image_size: for the memory, each in a process of its own.
    """
    encoder, images, labels = parts(backbone, batch, image_size)
    setting = f"n={batch} {image_size} px {backbone}, chunks of {chunk}"
    loss = losses.create(LOSS)

    def step(chunk: int | None, keep: int) -> Callable[[], None]:
        def work() -> None:
            encoder.zero_grad(set_to_none=True)
            gradients(encoder, loss, images, labels, chunk=chunk, keep=keep)

        return work

    works = {"plain": step(None, 0)} | {name: step(chunk, int(share * batch / chunk)) for name, share in SHARES.items()}
    seconds = medians(works, repeats, clock, ["plain"])
    yield seconds.row("plain", "large_batches", "plain step", setting)
    for name in SHARES:
        what = f"two passes, {name} kept"
        yield seconds.row(name, "large_batches", what, setting, "plain", "plain step", goal=GOALS[name])
    yield from _memory(backbone, memory_batches, memory_image_size, chunk)


def parts(backbone: str, batch: int, image_size: int) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """An encoder with random weights and frozen batch normalisation, images [n 3 s s], labels [n] of four each."""
    torch.manual_seed(0)
    encoder = encoders.create(
        "timm_model", backbone=backbone, pretrained=False, freeze_batchnorm=True, image_size=image_size, dim=512
    )
    return encoder, torch.randn(batch, 3, image_size, image_size), torch.arange(batch) // 4


def prepared_step(backbone: str, batch: int, image_size: int, chunk: int | None, kept: str) -> Callable[[], object]:
    """One step's gradients, after a small one that loads code; `kept` names a share of `SHARES`."""
    encoder, images, labels = parts(backbone, batch, image_size)
    loss = losses.create(LOSS)
    gradients(encoder, loss, images[:8], labels[:8])
    prepared_loss(LOSS, 512, 16, 4)()  # compiles what a large batch takes
    keep = int(SHARES[kept] * batch / chunk) if chunk else 0
    encoder.zero_grad(set_to_none=True)
    return lambda: gradients(encoder, loss, images, labels, chunk=chunk, keep=keep)


def _memory(backbone: str, batches: tuple[int, ...], image_size: int, chunk: int) -> Iterator[BenchRow]:
    ways = (
        ("plain step", None, "all"),
        ("two passes, half kept", chunk, "half"),
        ("two passes, none kept", chunk, "none"),
    )
    for name, size, kept in ways:
        taken = [
            extra_megabytes(prepared_step, backbone=backbone, batch=n, image_size=image_size, chunk=size, kept=kept)
            for n in batches
        ]
        for n, megabytes in zip(batches, taken, strict=True):
            setting = f"n={n} {image_size} px {backbone}"
            yield BenchRow("large_batches", f"{name}, peak memory", setting, megabytes, "MB", n=n)
        words = f"{image_size} px {backbone}"
        yield from growth("large_batches", f"{name}, growth of memory", words, batches, taken)
