"""SIGKILL right before every single file operation of a training with its evaluation; resumed, compared to the bit.

    python scripts/soak/points.py --trials 0      # every point there is

The operations are open for writing, rename, remove, mkdir and fsync below the run's folder.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time

from common import Bench, Hook, arguments, chosen, conclude, in_child, points, readable, resumed, train


def dying(bench: Bench, run, point: int) -> None:
    """Train, and be killed right before the operation of that number."""
    left = [point]

    def count(what: str, path: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Hook(run.path, count)
    train(run)


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 0), time.monotonic()
    bench = Bench()
    counted = bench.run("counted-run")
    total = points(lambda: train(counted), bench.folder)
    failures, tried = [], chosen(total, asked.trials, random.Random(asked.seed))
    for point in list(tried):
        run = bench.run(f"point-{point}")
        status = in_child(lambda run=run, point=point: dying(bench, run, point))
        if status == 0:  # the status is written by the clock, so that a quicker run makes fewer operations
            tried.remove(point)
            continue
        wrong = readable(run) if status == -9 else f"was not killed but ended with {status}"
        wrong = wrong or resumed(bench, run)
        if wrong:
            failures.append(f"point {point}: {wrong}")
        else:
            shutil.rmtree(run.path)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("SIGKILL at enumerated points", len(tried), failures, asked.seed, began, f"of {total:,} file operations")


if __name__ == "__main__":
    main()
