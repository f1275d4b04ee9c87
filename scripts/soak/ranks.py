"""One of two processes of a training is killed: the other ends in time, with a sentence.

    python scripts/soak/ranks.py --trials 8

It must be noticed within half a minute. Afterwards the same command with --resume must
go on, which is tried once for each trial until the next checkpoint.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
from common import Bench, arguments, conclude, readable

from lab.runs import Run
from lab.training import checkpoint

LIMIT = 30.0
"""Seconds until the other process has ended."""
PATIENCE = 300
"""Seconds for what is not measured, on a machine that others use."""


class Training:
    """A run trained by two processes under torchrun, as a person starts it."""

    def __init__(self, run: Run, log: Path):
        self.run, self.log = run, log
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "lab"]
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [*words, "train", "--resume", str(run.path), "--quiet"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def wait_until(self, done) -> bool:
        until = time.monotonic() + PATIENCE
        while not done() and time.monotonic() < until and self.process.poll() is None:
            time.sleep(0.1)
        return bool(done())

    def ranks(self) -> dict[int, psutil.Process]:
        children = psutil.Process(self.process.pid).children(recursive=True)
        return {int(child.environ()["RANK"]): child for child in children if "RANK" in child.environ()}

    def end(self) -> None:
        for one in [*psutil.Process(self.process.pid).children(recursive=True)] if self.process.poll() is None else []:
            one.kill()
        self.process.kill()
        self.process.wait()


def step(run: Run) -> int:
    path = run.checkpoint("last")
    return 0 if path is None else checkpoint.load(path)["progress"]["step"]


def trial(run: Run, rank: int, log: Path) -> tuple[float, str]:
    """Seconds until the other process had ended, and what is wrong."""
    training = Training(run, log)
    try:
        if not training.wait_until(lambda: step(run) > 0):
            return 0.0, f"did not begin: {log.read_text()[-500:]}"
        ranks = training.ranks()
        other = ranks[1 - rank]
        ranks[rank].kill()
        began = time.monotonic()
        training.wait_until(lambda: not other.is_running() or other.status() == psutil.STATUS_ZOMBIE)
        seconds = time.monotonic() - began
    finally:
        training.end()
    if seconds > LIMIT:
        return seconds, f"took {seconds:.0f} s"
    said = log.read_text(errors="replace")
    if "Another process of this training ended" not in said:
        return seconds, f"said nothing: {said[-500:]}"
    if wrong := readable(run):
        return seconds, wrong
    before, again = step(run), Training(run, log)
    try:
        went_on = again.wait_until(lambda: step(run) > before)
    finally:
        again.end()
    return seconds, "" if went_on else f"did not go on: {log.read_text(errors='replace')[-500:]}"


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 8), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    config = bench.config.changed("training.steps", 10**6).changed("training.processes_batchnorm", "frozen")
    bench.config = config.changed("training.validate_every", 10**6).changed("training.keep_frames", 0)
    failures, took = [], []
    for number in range(asked.trials):
        rank = generator.randrange(2)
        run = bench.run(f"trial-{number}")
        seconds, wrong = trial(run, rank, bench.folder / f"log-{number}")
        took.append(seconds)
        print(f"{number}: rank {rank} killed, {seconds:.1f} s {wrong}", file=sys.stderr, flush=True)
        if wrong:
            failures.append(f"trial {number}, rank {rank} killed: {wrong}")
        else:
            shutil.rmtree(run.path)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    told = f"noticed after {max(took, default=0):.0f} s at most"
    conclude("a rank killed", asked.trials, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
