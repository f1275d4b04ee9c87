"""Out of memory at the n-th allocation of the loader: an error, or the same batch; it never leaves images out.

    python scripts/soak/memory.py --trials 0      # every allocation of Python

In a forked process one allocation of Python fails (`_testcapi.set_nomemory`) while JPEG, PNG and TIFF files are
decoded, cut and stacked. Afterwards, with memory again, the same loader must give the undisturbed batch.
"""

from __future__ import annotations

import _testcapi
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import arguments, chosen, conclude, in_child
from PIL import Image

import lab.data
from lab.core.explain import explain
from lab.data.images import loading, transforms
from lab.data.images.loading import Loader

ITEMS = np.arange(3)
PATIENCE = 300
"""Seconds after which a child that does not end is ended."""
MANY = 2_000_000
"""More allocations than a batch makes."""
SAID, SAME, ELSE = 0, 4, 7
"""Statuses of a child that was well: a sentence about memory, the undisturbed batch, or another error: Python itself
calls some failed allocations a TypeError or a RuntimeError."""
BAD = {5: "gave another batch", 6: "left images out", 8: "was no good afterwards"}


def pictures(root: Path) -> Path:
    """Two classes of noise in three formats."""
    draw = np.random.default_rng(0)
    for number, ending in enumerate(("jpg", "png", "tif")):
        folder = root / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 256, (96, 128, 4 if ending == "png" else 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.{ending}")
    return root


def made(root: Path) -> Loader:
    return Loader(lab.data.create("class_folders", root=str(root), test=0, validation=0), transforms.training(32))


def batch(loader: Loader) -> loading.LoadedBatch:
    return next(iter(loader.batches([ITEMS])))


def same(one: loading.LoadedBatch, other: loading.LoadedBatch) -> bool:
    return one.images.shape == other.images.shape and bool((one.images == other.images).all())


def status(loader: Loader, whole: loading.LoadedBatch, number: int) -> int:
    """Load while the allocation of that number fails, then again: what became of it."""
    signal.alarm(PATIENCE)
    try:
        _testcapi.set_nomemory(number, number + 1)
        found = batch(loader)
        _testcapi.remove_mem_hooks()
        ended = 6 if loader.problems else SAME if same(found, whole) else 5
    except BaseException as error:  # whatever comes is judged
        _testcapi.remove_mem_hooks()
        ended = SAID if "memory" in explain(error) else ELSE
    return 8 if ended in (SAID, SAME, ELSE) and not same(batch(loader), whole) else ended


def allocations(loader: Loader, into: Path) -> int:
    """How many a batch makes, nearly: by how many fewer come after it until the one that fails."""

    def left(before: Callable[[], object]) -> None:
        count = 0
        _testcapi.set_nomemory(MANY, MANY + 1)
        before()
        try:
            while True:
                bytes(1_000)
                count += 1
        except MemoryError:
            _testcapi.remove_mem_hooks()
        into.write_text(str(count))

    def told(before: Callable[[], object]) -> int:
        assert in_child(lambda: left(before)) == 0
        return int(into.read_text())

    return round(MANY * (1 - told(lambda: batch(loader)) / told(lambda: None)))


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 0), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    loader = made(pictures(folder / "pictures"))
    whole = batch(loader)
    every = allocations(loader, folder / "counted")
    failures, counts, tried = [], Counter(), chosen(every, asked.trials, random.Random(asked.seed))
    for number in tried:
        ended = in_child(lambda number=number: os._exit(status(loader, whole, number - 1)))
        counts[ended] += 1
        if ended not in (SAID, SAME, ELSE):
            failures.append(f"allocation {number}: {BAD.get(ended, f'ended with {ended}')}")
    shutil.rmtree(folder)
    told = f"of about {every:,} allocations of Python: {counts[SAID]:,} said so, {counts[SAME]:,} gave the same batch, "
    told += f"{counts[ELSE]:,} ended in another error of Python's"
    conclude("out of memory in the loader", len(tried), failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
