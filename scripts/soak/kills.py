"""SIGKILL at random moments of training and evaluating; then resumed, and compared to the bit.

    python scripts/soak/kills.py --trials 500

A trial kills a training up to three times, or one evaluation with other settings, and lets it end after that.
"""

from __future__ import annotations

import random
import shutil
import time

from common import Bench, arguments, conclude, evaluate_run, in_child, outcome, readable, resumed, train

from lab.runs import Run, Writer


def evaluate(run: Run, beta: float) -> None:
    with Writer(run) as writer:
        for _ in evaluate_run(run, writer, run.config.changed("evaluation.beta", beta)):
            pass


def killed_training(bench: Bench, name: str, generator: random.Random) -> tuple[int, str]:
    """How many kills fell while it was at work, and what is wrong."""
    run = bench.run(name)
    kills = 0
    for _ in range(generator.randint(1, 3)):
        kills += in_child(lambda: train(run), generator.uniform(0, 1.1 * bench.work)) == -9
        if wrong := readable(run):
            return kills, wrong
    return kills, resumed(bench, run)


def killed_evaluation(bench: Bench, name: str, generator: random.Random) -> tuple[int, str]:
    run = Run(shutil.copytree(bench.whole.path, bench.folder / name))
    kills = in_child(lambda: evaluate(run, 1.0), generator.uniform(0, 0.4 * bench.work)) == -9
    if wrong := readable(run):
        return kills, wrong
    if in_child(lambda: evaluate(run, 0.0)):
        return kills, "could not be evaluated again"
    found = outcome(run)
    return kills, "; ".join(part for part in found if found[part] != bench.reference[part])


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 500), time.monotonic()
    generator, bench = random.Random(asked.seed), Bench()
    failures, kills = [], 0
    for trial in range(asked.trials):
        kind = killed_evaluation if trial % 5 == 4 else killed_training
        fell, wrong = kind(bench, f"trial-{trial}", generator)
        kills += fell
        if wrong:
            failures.append(f"trial {trial} ({kind.__name__}): {wrong}")
        else:
            shutil.rmtree(bench.folder / f"trial-{trial}")
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("SIGKILL at random moments", asked.trials, failures, asked.seed, began, f"{kills:,} kills fell at work")


if __name__ == "__main__":
    main()
