"""Out of memory at the n-th allocation of the loader: it says so, or gives the same batch; it never leaves images out.

    python scripts/soak/memory.py --trials 0      # every allocation of Python, and every step of the address space

In a forked process one allocation of Python fails (`_testcapi.set_nomemory`), or the address space is limited to a
little more than it takes (so that those of Pillow, NumPy and torch fail, too), while a batch of JPEG, PNG and TIFF
files is decoded, cut and stacked. Afterwards, with memory again, the same loader must give the undisturbed batch.
"""

from __future__ import annotations

import _testcapi
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
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
STEP = 16 * 1024
"""Bytes by which the limits of the address space differ, and from which on every allocation asks the system."""
PATIENCE = 60
"""Seconds after which a child that does not end is ended."""
THRESHOLD = "MALLOC_MMAP_THRESHOLD_"
SAID, SAME = 0, 4
"""Statuses of a child that was well: a sentence about memory, or the undisturbed batch."""
BAD = {5: "gave another batch", 6: "left images out", 7: "said something else", 8: "was no good afterwards"}


def pictures(root: Path) -> Path:
    """Two classes of noise in three formats, large enough that decoding one takes several pages."""
    draw = np.random.default_rng(0)
    for number, ending in enumerate(("jpg", "png", "tif")):
        folder = root / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 256, (192, 256, 4 if ending == "png" else 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.{ending}")
    return root


def made(root: Path) -> Loader:
    return Loader(lab.data.create("class_folders", root=str(root), test=0, validation=0), transforms.training(32))


def batch(loader: Loader) -> loading.LoadedBatch:
    return next(iter(loader.batches([ITEMS])))


def same(one: loading.LoadedBatch, other: loading.LoadedBatch) -> bool:
    return one.images.shape == other.images.shape and bool((one.images == other.images).all())


def status(loader: Loader, whole: loading.LoadedBatch, limit, lift) -> int:
    """Load under a limit, then again without: what became of it."""
    signal.alarm(PATIENCE)
    ended = SAME
    try:
        limit()
        found = batch(loader)
        lift()
        if loader.problems:
            ended = 6
        elif not same(found, whole):
            ended = 5
    except BaseException as error:  # whatever comes is judged
        lift()
        said = explain(error)
        ended = SAID if "memory" in said else 7
        if ended:
            print(f"{type(error).__name__}: {said[:200]}", file=sys.stderr)
    if ended in (SAID, SAME) and not same(batch(loader), whole):
        ended = 8
    return ended


def failing_at(number: int) -> tuple:
    """Fail the allocation of Python of that number."""
    return lambda: _testcapi.set_nomemory(number, number + 1), _testcapi.remove_mem_hooks


def allocations(loader: Loader, into: Path) -> int:
    """How many a batch takes of Python, nearly: by how many fewer come after it until the one that fails."""
    many = 2_000_000

    def left(before: Callable[[], object]) -> None:
        count = 0
        _testcapi.set_nomemory(many, many + 1)
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

    return round(many * (1 - told(lambda: batch(loader)) / told(lambda: None)))


def no_more_than(extra: int) -> tuple:
    """Limit the address space to what is taken and so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_AS)

    def limit() -> None:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + extra, before[1]))

    return limit, lambda: resource.setrlimit(resource.RLIMIT_AS, before)


def enough(tried, highest: int) -> int:
    """The smallest number at which a batch comes, by halving."""
    low = 0
    while low < highest:
        middle = (low + highest) // 2
        low, highest = (low, middle) if tried(middle) == SAME else (middle + 1, highest)
    return highest


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 0), time.monotonic()
    if THRESHOLD not in os.environ:  # glibc reads it when a process begins
        os.environ[THRESHOLD] = str(STEP)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    loader = made(pictures(folder / "pictures"))
    whole = batch(loader)

    def tried(given: tuple) -> int:
        return in_child(lambda: os._exit(status(loader, whole, *given)))

    every = allocations(loader, folder / "counted")
    steps = enough(lambda n: tried(no_more_than(n * STEP)), 1_024)
    half = asked.trials // 2
    places = [(f"allocation {n}", failing_at(n - 1)) for n in chosen(every, half, random.Random(asked.seed))]
    places += [
        (f"{n * STEP:,} bytes more", no_more_than(n * STEP)) for n in chosen(steps, half, random.Random(asked.seed))
    ]
    failures = []
    for words, given in places:
        ended = tried(given)
        if ended not in (SAID, SAME):
            failures.append(f"{words}: {BAD.get(ended, f'ended with {ended}')}")
    shutil.rmtree(folder)
    told = f"of about {every:,} allocations of Python and {steps:,} limits of the address space"
    conclude("out of memory in the loader", len(places), failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
