"""Two at once on one run, in every pairing of train, evaluate, queue, stop, delete, rename and annotate.

    python scripts/soak/writers.py --trials 280      # ten of each of the 28 pairings

Each trial begins with a run that was stopped half-way. Afterwards it must lie in one place, be whole, and resume to the
bits of the undisturbed one, whoever of the two was refused.
"""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import time
from pathlib import Path

from common import Bench, arguments, conclude, evaluate_run, in_child, readable, resumed, start, train, wait

import lab.runs
from lab.runs import Run, Writer, management
from lab.runs.launching import detached as launching
from lab.runs.launching.queue import Queue
from lab.runs.lock import held


class Forked:
    """In place of the process that the queue starts, a fork of this one: it need not import anything."""

    true = subprocess.Popen

    def __init__(self, words: list[str], **_):
        self.pid = start(lambda: self._train(words[-1]))

    def _train(self, path: str) -> None:
        subprocess.Popen = self.true
        train(Run(path))


def evaluate(run: Run) -> None:
    with Writer(run) as writer:
        for _ in evaluate_run(run, writer):
            pass


def queue(run: Run) -> None:
    subprocess.Popen = Forked
    waiting = Queue(run.path.parent)
    waiting.add(run)
    waiting.advance()


ACTS = {
    "train": train,
    "evaluate": evaluate,
    "queue": queue,
    "stop": lambda run: launching.stop(run, grace=5),
    "delete": management.trash,
    "rename": lambda run: management.rename(run, "other-name"),
    "annotate": lambda run: management.annotate(run, "seen", ["twice"]),
}


def half_way(run: Run) -> None:
    done = []
    for record in lab.runs.execute(run, lambda: len(done) >= 3):
        if record.kind == "stepped":
            done.append(record.step)


def place(root: Path) -> tuple[Run | None, str]:
    """Where the run lies now, and what is wrong with that."""
    folders = [p for p in (root / "run", root / "other-name", root / management.TRASH / "run") if p.exists()]
    if len(folders) != 1:
        return None, f"lies in {len(folders)} places: {', '.join(map(str, folders))}"
    return Run(folders[0]), ""


def trial(bench: Bench, root: Path, acts: tuple[str, str], generator: random.Random) -> str:
    shutil.copytree(bench.folder / "half", root / "run")
    children = []
    for act in acts:
        children.append(start(lambda act=act: ACTS[act](Run(root / "run"))))
        time.sleep(generator.choice([0, 0, generator.uniform(0, 0.05), generator.uniform(0, bench.seconds)]))
    statuses = [wait(child) for child in children]
    if odd := [s for s in statuses if s not in (0, 3, -15, -9)]:
        return f"ended with {odd}"
    run, wrong = place(root)
    while run is not None and (
        held(run.path) or ((launched := run.snapshot().launched) is not None and launched.alive)
    ):
        time.sleep(0.02)
    return wrong or readable(run) or resumed(bench, run)


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 280), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    half = bench.run("half")
    assert in_child(lambda: half_way(half)) == 0
    pairings = list(itertools.combinations_with_replacement(ACTS, 2))
    failures = []
    for number in range(asked.trials):
        acts = pairings[number % len(pairings)]
        acts = acts[::-1] if generator.random() < 0.5 else acts
        root = bench.folder / f"trial-{number}"
        wrong = trial(bench, root, acts, generator)
        if wrong:
            failures.append(f"trial {number}, {' and '.join(acts)}: {wrong}")
        else:
            shutil.rmtree(root)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("two writers", asked.trials, failures, asked.seed, began, f"{len(pairings)} pairings")


if __name__ == "__main__":
    main()
