"""Loss of power at random file operations: what was not synced is dropped, kept, cut or zeroed, in any combination.

    python scripts/soak/power.py --trials 300

Of a file only what fsync was called for is sure, of a folder only the names that its own fsync saw. At a random
operation of a training each name and each file is set, at random, to what was synced or to what was written since. In
what is left the last checkpoint that was reported must load, with every record before it, and the run must resume to
the same bits.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

from common import Bench, Hook, arguments, conclude, in_child, points, readable, resumed, train

import lab.runs
from lab.runs import Run
from lab.training import checkpoint


class Disk:
    """What of a folder would outlive a loss of power now. Files are known by inode, whatever they are called."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.contents: dict[int, bytes] = {}
        self.names: dict[Path, dict[str, int]] = {}
        self.open: list[int] = []
        for path in [folder, *folder.rglob("*")]:
            self.synced(path)

    def synced(self, path: Path) -> None:
        if not path.exists():
            return
        self.open.append(os.open(path, os.O_RDONLY))  # so that its inode is not given to another file
        if path.is_dir():
            self.names[path] = {p.name: p.stat().st_ino for p in path.iterdir()}
        else:
            self.contents[path.stat().st_ino] = path.read_bytes()

    def cut_off(self, into: Path, generator: random.Random) -> None:
        """Write into another folder what could be found after a loss of power."""
        self._folder(self.folder, into, generator)

    def _folder(self, folder: Path, into: Path, generator: random.Random) -> None:
        into.mkdir()
        sure = self.names.get(folder, {})
        now = {p.name: p for p in folder.iterdir()}
        for name in sorted({*sure, *now}):
            path = now.get(name)
            if path is not None and path.is_dir():
                if name in sure or generator.random() < 0.5:
                    self._folder(path, into / name, generator)
                continue
            inode = None if path is None else path.stat().st_ino
            # The name may still stand for what it stood for at the last sync, or already for what it does now.
            if sure.get(name) != inode and generator.random() < 0.5:
                if name in sure:
                    (into / name).write_bytes(self.contents.get(sure[name], b""))
            elif path is not None:
                (into / name).write_bytes(self._content(path, inode, generator))

    def _content(self, path: Path, inode: int, generator: random.Random) -> bytes:
        now, sure = path.read_bytes(), self.contents.get(inode, b"")
        if now == sure:
            return now
        kept = len(sure) if now.startswith(sure) else 0
        length = generator.randint(kept, len(now))
        zeroed = now[:length] + bytes(len(now) - length)
        return generator.choice([sure, now, now[:length], zeroed])


def losing_power(run: Run, point: int, into: Path, generator: random.Random) -> None:
    """Train until the operation of that number, and leave in `into` what a loss of power could have left."""
    disk, left, hook = Disk(run.path), [point], None

    def count(what: str, path: str) -> None:
        hook.quiet = True
        left[0] -= 1
        if left[0] == 0:
            disk.cut_off(into, generator)
            os._exit(9)
        if what == "fsync":
            disk.synced(Path(path))
        hook.quiet = False

    hook = Hook(run.path, count)
    reported = into.with_suffix(".reported")
    for record in lab.runs.execute(run):
        if record.kind == "saved" and record.name == "last":
            hook.quiet = True
            reported.write_text(str(record.step))
            hook.quiet = False


def wrong_after(run: Run, reported: Path) -> str:
    """What the promise lacks: the checkpoint that was reported loads, and no record before it is lost."""
    promised = int(reported.read_text()) if reported.is_file() else 0
    if not promised:
        return readable(run)
    try:
        step = checkpoint.load(run.path / "checkpoints" / "last.safetensors")["progress"]["step"]
    except (ValueError, OSError) as error:
        return f"step {promised} was reported as saved, but: {error}"
    steps = {r["step"] for r in run.metrics("stepped")}
    if step < promised or not set(range(1, step + 1)) <= steps:
        return f"step {promised} was reported as saved; found {step}, records of {sorted(steps)}"
    return ""


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 300), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    total = points(lambda: train(bench.run("counted-run")), bench.folder)
    failures = []
    for trial in range(asked.trials):
        run, into = bench.run(f"run-{trial}"), bench.folder / f"left-{trial}"
        chance, point = random.Random(generator.random()), generator.randint(1, total)
        status = in_child(lambda run=run, into=into, c=chance, p=point: losing_power(run, p, into, c))
        if status == 0:
            continue  # the last operations are those of making the folder, which are done before
        wrong = f"ended with {status}" if status != 9 else ""
        left = Run(into) if not wrong else run
        wrong = wrong or wrong_after(left, into.with_suffix(".reported"))
        wrong = wrong or resumed(bench, left)
        if wrong:
            failures.append(f"trial {trial}, operation {point}: {wrong}")
        shutil.rmtree(run.path)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("loss of power", asked.trials, failures, asked.seed, began, f"at random ones of {total:,} file operations")


if __name__ == "__main__":
    main()
