"""SIGKILL of a training with its evaluation, at random or right before file operations; resumed, compared to the bit.

    python scripts/soak/kills.py --trials 500
    python scripts/soak/kills.py --trials 0 --points    # before every open for writing, rename, remove, mkdir and fsync

A random trial kills a training up to three times, and lets it end after that.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from common import (
    Bench,
    Hook,
    arguments,
    chosen,
    conclude,
    in_child,
    points,
    readable,
    resumed,
    train,
)


def killed_training(bench: Bench, number: int, generator: random.Random) -> tuple[int, str]:
    """How many kills fell while it was at work, and what is wrong."""
    run = bench.run(f"trial-{number}")
    kills = 0
    for _ in range(generator.randint(1, 3)):
        kills += in_child(lambda: train(run), generator.uniform(0, 1.1 * bench.work)) == -9
        if wrong := readable(run):
            return kills, wrong
    return kills, resumed(bench, run)


def killed_at_point(bench: Bench, point: int) -> tuple[int, str]:
    """Train, be killed right before the operation of that number, and go on."""
    run, left = bench.run(f"point-{point}"), [point]

    def count(what: str, path: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def dying() -> None:
        Hook(run.path, count)
        train(run)

    status = in_child(dying)
    # the status is written by the clock, so that a quicker run makes fewer operations
    if status == 0:
        return 0, ""
    if status != -9:
        return 0, f"was not killed but ended with {status}"
    return 1, readable(run) or resumed(bench, run)


def main() -> None:
    at_points = "--points" in sys.argv and not sys.argv.remove("--points")
    asked, began = arguments(__doc__.splitlines()[0], 500), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    failures, kills, numbers = [], 0, list(range(asked.trials))
    if at_points:
        total = points(lambda: train(bench.run("counted-run")), bench.folder)
        numbers = chosen(total, asked.trials, generator)
    for number in numbers:
        fell, wrong = (
            killed_at_point(bench, number)
            if at_points
            else killed_training(bench, number, generator)
        )
        kills += fell
        failures += [f"trial {number}: {wrong}"] if wrong else []
    bench.close() if not failures else print(f"kept: {bench.folder}")
    name = f"SIGKILL {'before file operations' if at_points else 'at random moments'}"
    conclude(name, len(numbers), failures, asked.seed, began, f"{kills:,} kills fell at work")


if __name__ == "__main__":
    main()
