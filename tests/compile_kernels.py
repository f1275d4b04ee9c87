"""Compile the kernels once, while pytest still collects: otherwise each worker would, and each process that they start.

In a fresh clone that is half a minute of processor time a process. What is compiled is kept beside the modules.
"""

import torch

from lab import losses, search
from lab.core.results import EmbeddingSet
from lab.doctor.bench._measure import around, centres

CLASSES, WIDTH = 512, 16
BATCH, GALLERY = 2_048, 5_100
"""Rows: more than one tile of a loss has, so that what adds tiles up is compiled, too, and as many as make a search
worth compiling."""


def main() -> None:
    torch.set_num_threads(1)
    by_rank = [(name, {}) for name in losses.names() if losses.get(name).family == "ranking"]
    for noise in (8.0, 1.0):  # nearly every pair has a gradient, or few have
        images = made(BATCH, noise)
        for name, knobs in [*by_rank, ("recall_at_k", {"simix": True}), ("contextual", {})]:
            rows = torch.from_numpy(images.vectors).clone().requires_grad_()
            losses.create(name, **knobs)(rows, torch.from_numpy(images.labels)).backward()
    gallery = made(GALLERY, 8.0)
    search.create("exact", k=8, device="cpu").build(gallery).rank(gallery, True)


def made(rows: int, noise: float) -> EmbeddingSet:
    return around(centres(CLASSES, WIDTH, 0), rows, noise, 0)


if __name__ == "__main__":
    main()
