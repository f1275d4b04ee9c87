"""Large batches: the two-pass step against the plain one, in time and memory, by what it keeps.

"half" keeps the graphs of half of the chunks, and embeds the others again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from lab import encoders, losses
from lab.doctor.bench._measure import BenchRow, medians
from lab.doctor.bench._memory import extra_megabytes
from lab.doctor.bench.losses import prepared_step as prepared_loss
from lab.training.steps import gradients

SHARES = {"all": 1.0, "half": 0.5, "a quarter": 0.25, "none": 0.0}
LOSS = "recall_at_k"


def measure(
    backbone: str = "resnet50",
    batch: int = 32,
    image_size: int = 224,
    chunk: int = 8,
    memory_batch: int = 128,
    memory_image_size: int = 64,
    repeats: int = 3,
) -> Iterator[BenchRow]:
    """Time of a step as a ratio to the plain one, and its peak memory.

    Args:
        backbone: timm's name; its weights are random, which changes neither time nor memory.
        batch, image_size: for the times; small images and chunks exaggerate what each chunk costs by itself, since
            every chunk reads all weights and adds to all their gradients.
        memory_batch, memory_image_size: for the memory, each way in a process of its own.
    """
    encoder, images, labels = parts(backbone, batch, image_size)
    setting = f"n={batch} {image_size} px {backbone}, chunks of {chunk}"
    loss = losses.create(LOSS)

    def step(chunk: int | None, keep: int) -> Callable[[], None]:
        def work() -> None:
            encoder.zero_grad(set_to_none=True)
            gradients(encoder, loss, images, labels, chunk=chunk, keep=keep)

        return work

    works = {"plain": step(None, 0)} | {
        name: step(chunk, int(share * batch / chunk)) for name, share in SHARES.items()
    }
    seconds = medians(works, repeats, ["plain"])
    yield seconds.row("plain", "large_batches", "plain step", setting)
    for name in SHARES:
        what = f"two passes, {name} kept"
        yield seconds.row(name, "large_batches", what, setting, "plain")
    sizes = {"backbone": backbone, "batch": memory_batch, "image_size": memory_image_size}
    setting = f"n={memory_batch} {memory_image_size} px {backbone}"
    for name, size, kept in (
        ("plain step", None, "all"),
        ("two passes, half kept", chunk, "half"),
        ("two passes, none kept", chunk, "none"),
    ):
        megabytes = extra_megabytes(prepared_step, **sizes, chunk=size, kept=kept)
        yield BenchRow("large_batches", f"{name}, peak memory", setting, megabytes, "MB")


def parts(
    backbone: str, batch: int, image_size: int
) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """An encoder with random weights and frozen batch normalisation, images [n 3 s s], labels [n] of four each."""
    torch.manual_seed(0)
    encoder = encoders.create(
        "timm_model",
        backbone=backbone,
        pretrained=False,
        freeze_batchnorm=True,
        image_size=image_size,
        dim=512,
    )
    return encoder, torch.randn(batch, 3, image_size, image_size), torch.arange(batch) // 4


def prepared_step(
    backbone: str, batch: int, image_size: int, chunk: int | None, kept: str
) -> Callable[[], object]:
    """One step's gradients, after a small one that loads code; `kept` names a share of `SHARES`."""
    encoder, images, labels = parts(backbone, batch, image_size)
    loss = losses.create(LOSS)
    gradients(encoder, loss, images[:8], labels[:8])
    prepared_loss(LOSS, 512, 16, 4)()  # compiles what a large batch takes
    keep = int(SHARES[kept] * batch / chunk) if chunk else 0
    encoder.zero_grad(set_to_none=True)
    return lambda: gradients(encoder, loss, images, labels, chunk=chunk, keep=keep)
