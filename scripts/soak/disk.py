"""A full disk or failing I/O at the n-th file operation: once, or from then on; then mended, resumed and compared.

    python scripts/soak/disk.py --trials 0        # every operation, each in turn once and for good

The failing operation is an open for writing, rename, remove, mkdir or fsync below the run's folder, or a write of
which half is done.
"""

from __future__ import annotations

import errno
import random
import shutil
import time
from pathlib import Path

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

import lab.runs


def failing(run, point: int, forever: bool, code: int) -> None:
    """Train on a disk whose operation of that number fails, and perhaps all later ones.

    Raises:
        OSError: with that code, as nobody else raises it.
    """
    left = [point]

    def fails() -> bool:
        left[0] -= 1
        return left[0] == 0 or (forever and left[0] < 0)

    def count(what: str, path: str) -> None:
        if fails():
            raise OSError(code, "injected", path)

    whole = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        if path.is_relative_to(run.path) and fails():
            whole(path, content[: len(content) // 2])
            raise OSError(code, "injected", str(path))
        return whole(path, content)

    Path.write_bytes = half
    Hook(run.path, count)
    for _ in lab.runs.execute(run):
        pass


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 0), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    # Half-done writes are operations, too, which the count of the others does not hold.
    total = points(lambda: train(bench.run("counted-run")), bench.folder)
    failures, said, tried = [], 0, chosen(total, asked.trials, generator)
    for point in tried:
        run, forever = bench.run(f"point-{point}"), point % 2 == 0
        code = generator.choice([errno.ENOSPC, errno.EIO, errno.EDQUOT])
        status = in_child(lambda run=run, p=point, f=forever, c=code: failing(run, p, f, c))
        said += status == 3
        wrong = "" if status in (0, 3) else f"ended with {status}, no sentence"
        wrong = wrong or readable(run)
        wrong = wrong or resumed(bench, run)
        if wrong:
            failures.append(
                f"point {point}, {'for good' if forever else 'once'}, {errno.errorcode[code]}: {wrong}"
            )
        else:
            shutil.rmtree(run.path)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude(
        "full disk and failing I/O",
        len(tried),
        failures,
        asked.seed,
        began,
        f"{said:,} said so in a sentence",
    )


if __name__ == "__main__":
    main()
