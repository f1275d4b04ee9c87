"""Time and memory of losses, large batches and search on a GPU, in one run; `tests/gpu/check.sh` runs it.

With `--device cpu` it rehearses on tiny sizes, to be tried where there is no GPU; those figures mean nothing.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import lab.losses
import lab.search
from lab import bench
from lab.bench import large_batches
from lab.bench._embeddings import around, centres
from lab.evaluation.precision import Precision
from lab.training import budget
from lab.training.steps import gradients

DIM, PER_CLASS = 512, 4
LOSSES = ("recall_at_k", "smooth_ap", "sup_ap", "roadmap", "contextual", "fast_ap")


@dataclass(frozen=True)
class Sizes:
    """Batches of the losses; a backbone, its batch, image size and chunk; anchors, gallery and queries."""

    batches: tuple[int, ...] = (1024, 4096, 16_384, 65_536)
    backbone: str = "resnet50"
    images: int = 512
    pixels: int = 224
    chunk: int = 64
    anchors: int = 100
    items: int = 50_000
    queries: int = 5000
    repeats: int = 10


REHEARSAL = Sizes((64, 128), "resnet10t", 8, 32, 4, 10, 500, 20, 1)


def measured(work: Callable[[], object], device: torch.device, repeats: int) -> tuple[float, float]:
    """Median milliseconds until the device is done, and the peak of its memory beyond what was held, in MB."""
    on_gpu = device.type == "cuda"
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    work()
    wait()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    held, times = torch.cuda.memory_allocated() if on_gpu else 0, []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        wait()
        times.append(1000 * (time.perf_counter() - begin))
    most = torch.cuda.max_memory_allocated() if on_gpu else 0
    return sorted(times)[repeats // 2], (most - held) / 2**20


def of_losses(device: torch.device, sizes: Sizes) -> Iterator[dict]:
    """Forward and backward of each loss beside the similarity product and its two backward products."""
    for n in sizes.batches:
        labels = torch.arange(n, device=device) // PER_CLASS
        rows = torch.nn.functional.normalize(torch.randn(n, DIM, device=device), dim=1)

        def bare(rows=rows):
            similarities = rows @ rows.T
            return similarities @ rows, similarities.T @ rows

        def step(loss, rows=rows, labels=labels):
            loss(rows.detach().requires_grad_(), labels).backward()

        base, _ = measured(bare, device, sizes.repeats)
        yield {"section": "losses", "what": "bare step", "n": n, "ms": base, "x bare": 1.0}
        for name in LOSSES:
            said = {"section": "losses", "what": name, "n": n}
            try:
                ms, mb = measured(partial(step, lab.losses.create(name)), device, sizes.repeats)
            except (torch.cuda.OutOfMemoryError, ValueError) as refusal:
                yield said | {"refused": str(refusal)}
                continue
            yield said | {"ms": ms, "x bare": ms / base, "MB": mb}


def of_large_batches(device: torch.device, sizes: Sizes) -> Iterator[dict]:
    """The two-pass step beside the plain one, by what it keeps; the plain one where it fits."""
    encoder, images, labels = large_batches.parts(sizes.backbone, sizes.images, sizes.pixels)
    encoder, images, loss = encoder.to(device), images.to(device), lab.losses.create("recall_at_k")
    precision = Precision("float32", device)
    some = budget.graph_bytes(encoder, images[: sizes.chunk], precision)[0]
    whole = some * sizes.images // sizes.chunk

    def step(chunk=None, keep=()):
        encoder.zero_grad(set_to_none=True)
        gradients(encoder, loss, images, labels, chunk=chunk, keep=keep, precision=precision)

    said = {"section": "large batches", "n": sizes.images, "chunk": sizes.chunk, "backbone": sizes.backbone}
    plain, mb = measured(step, device, sizes.repeats)
    yield said | {"what": "plain step", "ms": plain, "MB": mb, "x plain": 1.0}
    for name, share in large_batches.SHARES.items():
        keep = budget.plan(encoder, images, sizes.chunk, int(share * whole), precision)
        ms, mb = measured(lambda keep=keep: step(sizes.chunk, keep), device, sizes.repeats)
        yield said | {"what": f"two passes, {name} kept", "ms": ms, "MB": mb, "x plain": ms / plain}


def of_search(device: torch.device, sizes: Sizes) -> Iterator[dict]:
    """Two-stage search beside the exact one, in batch and one query at a time, and recall@k."""
    k, places = 100, centres(sizes.anchors, DIM, seed=0)
    gallery = around(places, sizes.items, 1.5, seed=1)
    asked = around(places, sizes.queries, 1.5, seed=2).vectors
    indexes = {
        "exact": lab.search.create("exact", k=k).build(gallery),
        "two-stage, 1 anchor": lab.search.create("two_stage", k=k, probes=1).build(gallery, anchors=places),
    }
    for how, some in (("in batch", asked), ("one at a time", asked[:1])):
        works = {name: partial(index.neighbours, some) for name, index in indexes.items()}
        taken = {name: measured(work, device, sizes.repeats) for name, work in works.items()}
        for name, (ms, mb) in taken.items():
            times = taken["exact"][0] / ms
            yield {"section": "search", "what": f"{name}, {how}", "queries": len(some), "ms": ms, "MB": mb} | {
                "times quicker than exact": times
            }
    right, found = (index.neighbours(asked)[1] for index in indexes.values())
    shared = [len(set(a) & set(b)) / k for a, b in zip(right.tolist(), found.tolist(), strict=True)]
    yield {"section": "search", "what": f"two-stage, recall@{k}", "share": sum(shared) / len(shared)}


def main(target: Path, device: torch.device, sizes: Sizes) -> None:
    rows = []
    for section in (of_losses, of_large_batches, of_search):
        for row in section(device, sizes):
            rows.append(row)
            print(row, flush=True)
    target.write_text(json.dumps({"machine": bench.machine(), "device": str(device), "rows": rows}, indent=1))
    print(f"Written to {target}; copy the figures with the machine's name into docs/benchmarks.md.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=Path("gpu-bench.json"))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args()
    main(given.target, torch.device(given.device), Sizes() if given.device == "cuda" else REHEARSAL)
