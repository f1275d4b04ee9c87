"""Time and memory of losses, large batches, recipes and search on a GPU, in one run; `tests/gpu/check.sh` runs it.

What is measured is written at once, and a section that fails leaves a line and lets the others go on. In the end comes
a table to paste. With `--device cpu` it rehearses on tiny sizes, to be tried where there is no GPU; those figures mean
nothing.
"""

import argparse
import gc
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import lab.losses
import lab.search
from lab.doctor import bench
from lab.doctor.bench import large_batches
from lab.doctor.bench._measure import around, centres
from lab.evaluation.mixed_precision import MixedPrecision
from lab.papers import recipes
from lab.runs import RunConfig
from lab.runs.building.parts import encoder_and_loss
from lab.training import forecast
from lab.training.steps import gradients

DIM, PER_CLASS = 512, 4
LOSSES = {
    "recall_at_k": {}, "recall_at_k with SiMix": {"simix": True}, "smooth_ap": {}, "sup_ap": {}, "roadmap": {},
    "calibration": {}, "contextual": {}, "fast_ap": {}, "softbin_ap": {},
}  # fmt: skip
RECIPES = (
    "rsk_sop_r50_512", "rsk_simix_sop_r50_512", "rsk_sop_r50_512_b384", "sap_sop_r50_512", "roadmap_sop_r50_512",
    "contextual_sop_r50_512_224", "supap_sop_r50_512_b64", "softbin_sop_r50_512",
)  # fmt: skip
"""One for each loss, at the size that its paper trains with; the first is ResNet-50, 224 px, 4,000 images in chunks."""
CLASSES = 11_318
"""Of Stanford Online Products' training half."""


@dataclass(frozen=True)
class Sizes:
    """Batches of the losses; a backbone, its batch, image size and chunk; anchors, gallery and queries; the largest
    batch and image of a recipe, its backbone, None for its own, and which recipes."""

    batches: tuple[int, ...] = (1024, 4096, 16_384, 65_536)
    backbone: str = "resnet50"
    images: int = 512
    pixels: int = 224
    chunk: int = 64
    anchors: int = 100
    items: int = 50_000
    queries: int = 5000
    repeats: int = 10
    recipe_images: int = 4000
    recipe_pixels: int = 512
    recipe_backbone: str | None = None
    recipes: tuple[str, ...] = RECIPES


REHEARSAL = Sizes((64,), "resnet10t", 8, 32, 4, 10, 500, 20, 1, 8, 32, "resnet10t", RECIPES[:2])

Rows = Iterator[dict]


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
    return sorted(times)[repeats // 2], (most - held) / 1e6


def of_losses(device: torch.device, sizes: Sizes) -> Rows:
    """Forward and backward of each loss beside the similarity product and its two backward products."""
    for n in sizes.batches:
        labels = torch.arange(n, device=device) // PER_CLASS
        rows = torch.nn.functional.normalize(torch.randn(n, DIM, device=device), dim=1)

        def bare(rows=rows):
            similarities = rows @ rows.T
            return similarities @ rows, similarities.T @ rows

        def step(loss, rows=rows, labels=labels):
            loss(rows.detach().requires_grad_(), labels).backward()

        repeats = sizes.repeats if n < 65_536 else min(3, sizes.repeats)
        said = {"section": "losses", "n": n}
        try:
            base, _ = measured(bare, device, repeats)
            yield said | {"what": "bare step", "ms": base, "x bare": 1.0}
        except torch.cuda.OutOfMemoryError as refusal:  # its matrix; the losses hold none
            base = float("nan")
            yield said | {"what": "bare step", "refused": in_a_line(refusal)}
        for name, knobs in LOSSES.items():
            loss = lab.losses.create(name.split(" ")[0], **knobs)
            try:
                ms, mb = measured(partial(step, loss), device, repeats)
            except (torch.cuda.OutOfMemoryError, ValueError) as refusal:
                yield said | {"what": name, "refused": in_a_line(refusal)}
                continue
            yield said | {"what": name, "ms": ms, "x bare": ms / base, "MB": mb}


def of_large_batches(device: torch.device, sizes: Sizes) -> Rows:
    """The two-pass step beside the plain one, by what it keeps; the plain one where it fits."""
    encoder, images, labels = large_batches.parts(sizes.backbone, sizes.images, sizes.pixels)
    encoder, images, loss = encoder.to(device), images.to(device), lab.losses.create("recall_at_k")
    precision = MixedPrecision("float32", device)

    def step(chunk=None, keep=0):
        encoder.zero_grad(set_to_none=True)
        gradients(encoder, loss, images, labels, chunk=chunk, keep=keep, precision=precision)

    said = {
        "section": "large batches",
        "n": sizes.images,
        "chunk": sizes.chunk,
        "backbone": sizes.backbone,
    }
    plain = float("nan")
    try:
        plain, mb = measured(step, device, sizes.repeats)
        yield said | {"what": "plain step", "ms": plain, "MB": mb, "x plain": 1.0}
    except torch.cuda.OutOfMemoryError as refusal:
        release(device)
        yield said | {"what": "plain step", "refused": in_a_line(refusal)}
    for name, share in large_batches.SHARES.items():
        keep = int(share * sizes.images / sizes.chunk)
        try:
            ms, mb = measured(lambda keep=keep: step(sizes.chunk, keep), device, sizes.repeats)
        except torch.cuda.OutOfMemoryError as refusal:
            release(device)
            yield said | {"what": f"two passes, {name} kept", "refused": in_a_line(refusal)}
            continue
        yield said | {"what": f"two passes, {name} kept", "ms": ms, "MB": mb, "x plain": ms / plain}


def of_search(device: torch.device, sizes: Sizes) -> Rows:
    """Two-stage search beside the exact one, in batch and one query at a time, and recall@k."""
    k, places = 100, centres(sizes.anchors, DIM, seed=0)
    gallery = around(places, sizes.items, 1.5, seed=1)
    asked = around(places, sizes.queries, 1.5, seed=2).vectors
    indexes = {
        "exact": lab.search.create("exact", k=k).build(gallery),
        "two-stage, 1 anchor": lab.search.create("two_stage", k=k, probes=1).build(
            gallery, anchors=places
        ),
    }
    for how, some in (("in batch", asked), ("one at a time", asked[:1])):
        works = {name: partial(index.neighbours, some) for name, index in indexes.items()}
        taken = {name: measured(work, device, sizes.repeats) for name, work in works.items()}
        for name, (ms, mb) in taken.items():
            times = taken["exact"][0] / ms
            yield {
                "section": "search",
                "what": f"{name}, {how}",
                "queries": len(some),
                "ms": ms,
                "MB": mb,
            } | {"times quicker than exact": times}
    right, found = (index.neighbours(asked)[1] for index in indexes.values())
    shared = [len(set(a) & set(b)) / k for a, b in zip(right.tolist(), found.tolist(), strict=True)]
    yield {
        "section": "search",
        "what": f"two-stage, recall@{k}",
        "share": sum(shared) / len(shared),
    }


def of_forecast(device: torch.device, sizes: Sizes) -> Rows:
    """What a step was forecast to take beside what it took, plain and in chunks with nothing kept."""
    encoder, images, labels = large_batches.parts(sizes.backbone, sizes.images // 2, sizes.pixels)
    encoder, images, loss = encoder.to(device), images.to(device), lab.losses.create("recall_at_k")
    precision = MixedPrecision("float32", device)
    for what, chunk in (("plain step", None), ("in chunks, none kept", max(1, sizes.chunk // 4))):
        needed = forecast.of_step(encoder, loss, images, labels, chunk=chunk, precision=precision)
        encoder.zero_grad(set_to_none=True)

        def step(chunk=chunk):
            encoder.zero_grad(set_to_none=True)
            gradients(encoder, loss, images, labels, chunk=chunk, precision=precision)

        _, mb = measured(step, device, 1)
        foreseen = needed.total - needed.parts["weights"] - needed.parts["images"]
        said = {"section": "forecast", "what": what, "n": len(images), "backbone": sizes.backbone}
        yield said | {"MB": mb, "MB forecast": foreseen / 1e6}


def of_recipes(device: torch.device, sizes: Sizes) -> Rows:
    """Two steps of each recipe, on random images: the first with everything that comes once, and the second's time."""
    for name in sizes.recipes:
        said = {"section": "recipes", "what": name}
        try:
            yield said | first_steps(name, device, sizes)
        except (torch.cuda.OutOfMemoryError, ValueError) as refusal:
            yield said | {"refused": in_a_line(refusal)}
        release(device)


def first_steps(name: str, device: torch.device, sizes: Sizes) -> dict:
    sections = recipes.get(name).sections
    # Weights need a network, and change neither time nor memory; batch normalisation is frozen where they are there.
    encoder_knobs = {"freeze_batchnorm": True, **sections["encoder"], "pretrained": False}
    if sizes.recipe_backbone:
        encoder_knobs["backbone"] = sizes.recipe_backbone
    config = RunConfig.of({**sections, "data": {"name": "emoji7"}, "encoder": encoder_knobs})
    knobs = config.training.knobs
    encoder, loss = encoder_and_loss(config, CLASSES)
    encoder, loss = encoder.to(device).train(), loss.to(device).train()
    optimiser = config.optimiser.create().build(encoder, loss)
    n = min(config.sampler.values["batch_size"], sizes.recipe_images)
    pixels = min(config.augmentation.knobs.size or encoder.input_size, sizes.recipe_pixels)
    chunk = knobs.chunk and min(knobs.chunk, max(1, n // 2))
    images, labels = (
        torch.randn(n, 3, pixels, pixels),
        torch.arange(n) // config.sampler.values.get("per_class", 4),
    )
    precision, losses, times = MixedPrecision(knobs.precision, device), [], []
    on_gpu, keep = device.type == "cuda", None
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        begin = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        if keep is None:
            needed = forecast.of_step(
                encoder, loss, images, labels, chunk=chunk, precision=precision
            )
            keep = forecast.chunks_kept(needed, None, device)
        result = gradients(
            encoder,
            loss,
            images,
            labels,
            chunk=chunk,
            keep=keep,
            batchnorm=knobs.chunk_batchnorm,
            precision=precision,
        )
        precision.clip(optimiser, encoder.parameters(), knobs.clip)
        precision.step(optimiser)
        losses.append(float(result.loss))
        times.append(time.perf_counter() - begin)
    most = torch.cuda.max_memory_allocated() if on_gpu else 0
    told = {
        "n": n,
        "px": pixels,
        "chunk": chunk or n,
        "first step s": times[0],
        "ms": 1000 * times[1],
        "MB": most / 1e6,
    }
    return told | {"loss": losses[0], "loss after a step": losses[1]}


def in_a_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def release(device: torch.device) -> None:
    """Give back what the last work held."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def as_table(rows: list[dict]) -> str:
    """The rows as Markdown, a table a section, to paste into docs/benchmarks.md."""
    parts = []
    for section in dict.fromkeys(row["section"] for row in rows):
        mine = [row for row in rows if row["section"] == section]
        names = [
            name for name in dict.fromkeys(key for row in mine for key in row) if name != "section"
        ]
        lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += [
            "| " + " | ".join(cell(row.get(name, "")) for name in names) + " |" for row in mine
        ]
        parts.append(f"### {section}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(target: Path, device: torch.device, sizes: Sizes) -> int:
    """How many sections failed."""
    rows, failed = [], 0
    about = bench.machine()
    for section in (of_losses, of_large_batches, of_recipes, of_forecast, of_search):
        begin = time.perf_counter()
        try:
            for row in section(device, sizes):
                rows.append(row)
                print(row, flush=True)
                write(target, about, device, rows)
        except Exception as error:  # whatever stops one section must not cost the others
            failed += 1
            traceback.print_exc()
            rows.append(
                {
                    "section": section.__name__.removeprefix("of_"),
                    "what": "failed",
                    "refused": in_a_line(error),
                }
            )
            write(target, about, device, rows)
        print(f"{section.__name__}: {time.perf_counter() - begin:.0f} s", flush=True)
        release(device)
    print(
        "\n"
        + ", ".join(f"{name} {value}" for name, value in about.items())
        + ".\n\n"
        + as_table(rows)
    )
    print(
        f"\nWritten to {target}; the table above, with the machine's name, belongs into docs/benchmarks.md."
    )
    return failed


def write(target: Path, about: dict, device: torch.device, rows: list[dict]) -> None:
    target.write_text(json.dumps({"machine": about, "device": str(device), "rows": rows}, indent=1))


def command(words: list[str]) -> int:
    """What these words of a command line ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=Path("gpu-bench.json"))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args(words)
    chosen = Sizes() if given.device == "cuda" else REHEARSAL
    return min(1, main(given.target, torch.device(given.device), chosen))


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
