"""Time and memory of the ranking losses on a GPU, beside the bare similarity step; `tests/gpu/check.sh` runs it."""

import json
import sys
from pathlib import Path

import torch

import lab.losses
from lab import bench

SIZES, DIM, PER_CLASS, REPEATS = (1024, 4096, 16384), 512, 4, 10
LOSSES = ("recall_at_k", "smooth_ap", "sup_ap", "roadmap", "contextual", "fast_ap")


def bare_step(embeddings, labels):
    """The similarity product and its two backward products, nothing else."""
    (embeddings @ embeddings.T).sum()
    weights = torch.ones(len(embeddings), len(embeddings), device=embeddings.device)
    return weights @ embeddings + weights.T @ embeddings


def step(loss):
    def run(embeddings, labels):
        leaf = embeddings.detach().requires_grad_()
        loss(leaf, labels).backward()

    return run


def measured(work, embeddings, labels):
    """Median milliseconds by CUDA events, and the peak of memory beyond what was held, in MB."""
    work(embeddings, labels)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held, times = torch.cuda.memory_allocated(), []
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work(embeddings, labels)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[REPEATS // 2], (torch.cuda.max_memory_allocated() - held) / 2**20


def main(target: Path) -> None:
    rows = []
    for n in SIZES:
        labels = torch.arange(n, device="cuda") // PER_CLASS
        embeddings = torch.nn.functional.normalize(torch.randn(n, DIM, device="cuda"), dim=1)
        bare, _ = measured(bare_step, embeddings, labels)
        rows.append({"what": "bare step", "n": n, "ms": bare, "x bare": 1.0})
        for name in LOSSES:
            try:
                ms, mb = measured(step(lab.losses.create(name)), embeddings, labels)
            except (torch.cuda.OutOfMemoryError, ValueError) as refusal:
                rows.append({"what": name, "n": n, "refused": str(refusal)})
                continue
            rows.append({"what": name, "n": n, "ms": ms, "x bare": ms / bare, "MB": mb})
            print(rows[-1], flush=True)
    target.write_text(json.dumps({"machine": bench.machine(), "rows": rows}, indent=1))
    print(f"Written to {target}; copy the figures with the machine's name into docs/benchmarks.md.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gpu-bench.json"))
