"""A step shared by all GPUs of the machine against the same step by one, and what sharing a loss saves.

    torchrun --standalone --nproc-per-node GPUS tests/gpu/gpu_ddp.py FILE [--device cpu]

`tests/gpu/check.sh` runs it. With `--device cpu` it rehearses on tiny sizes; those figures mean nothing.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch

import lab
from lab.kernels import gathering, sharing
from lab.training import distributed

SHARED = {"smooth_ap": {}, "recall_at_k": {"tau1": 30.0}, "fast_ap": {}}
"""Losses and knobs: untrained embeddings are so alike that recall@k has no gradient at its own temperature on ranks. Of
contextual, the last bit of an embedding may move a neighbour."""
CLOSE = 1e-3
"""Largest difference of the gradients as a share of their length, in float32."""


def gradient_of(encoder: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None])


def difference(name: str, processes: distributed.Processes, device: torch.device, n: int) -> float:
    """How far the shared step's gradient is from that of one process that has every image."""
    torch.manual_seed(0)
    encoder = lab.encoders.create("small_cnn", freeze_batchnorm=True).to(device)
    images, labels = torch.randn(n, 3, 32, 32), torch.arange(n) // 4
    loss = lab.losses.create(name, **SHARED[name])
    lab.training.gradients(encoder, loss, images, labels)
    alone = gradient_of(encoder)
    assert alone.norm() > 0, f"{name} has no gradient here, which would compare nothing."
    encoder.zero_grad(set_to_none=True)
    own = sharing.Share(processes.rank, processes.world).local(n)
    lab.training.gradients(encoder, loss, images[own], labels[own], gather=processes)
    processes.complete(encoder, loss)
    return float((gradient_of(encoder) - alone).norm() / alone.norm())


def seconds(name: str, share: sharing.Share, device: torch.device, n: int) -> float:
    """Median seconds of a loss of n embeddings, forward and backward, by a share of the processes."""
    torch.manual_seed(0)
    labels = torch.arange(n, device=device) // 4
    rows = torch.nn.functional.normalize(torch.randn(n, 512), dim=1).to(device)
    loss, times = lab.losses.create(name, **SHARED[name]), []
    for _ in range(6):
        leaf = rows.clone().requires_grad_()
        wait(device)
        begin = time.perf_counter()
        with sharing.among(share):
            loss(leaf, labels).backward()
        if share.split:
            gathering.mean_of_local_rows(leaf.grad, share.even(n))
        wait(device)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main(target: Path, device: torch.device, images: int, rows: int) -> int:
    found, wrong = [], 0
    with distributed.session(device) as processes:
        for name in SHARED:
            apart = difference(name, processes, device, images)
            alone = seconds(name, sharing.ALONE, device, rows)
            shared = seconds(name, sharing.Share(processes.rank, processes.world), device, rows)
            wrong += not apart < CLOSE
            told = {"section": "several GPUs", "what": name, "processes": processes.world, "difference": apart}
            found.append(told | {"n": rows, "ms": 1000 * shared, "ms alone": 1000 * alone})
            if processes.first:
                print(found[-1], flush=True)
                target.write_text(json.dumps({"rows": found}, indent=1))
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args()
    sizes = (256, 16_384) if given.device == "cuda" else (32, 256)
    sys.exit(min(1, main(given.target, torch.device(given.device), *sizes)))
