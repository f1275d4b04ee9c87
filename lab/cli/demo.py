"""Show two finished runs on the dashboard, and train the same two.

Trains cross-entropy, as most classifiers are trained, and recall@k with SiMix at once, each on a processor core of its
own where there are two. Both are measured beside raw pixels on classes that neither has seen, and one table is printed.
The address of the dashboard comes first; what was trained takes the examples' place there.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, complain, say, show

if TYPE_CHECKING:
    from lab.runs import Run, RunConfig

HEADING, PLACE = "See and learn", 31

COLUMNS = ("r@1", "r@4", "MAP@R")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("--steps", type=int, metavar="N", help="training steps of each loss (default as in the presets)")
    flag("--recipe", metavar="NAME", help="train by other presets; demo-0.2 gives the table of that version")
    flag("--port", type=int, default=8501, help="port of the dashboard (default 8501)")
    flag("--no-serve", action="store_true", help="do everything except opening the dashboard")
    add_flags(parser, "token", "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    from lab.cli import app
    from lab.runs import default_root, examples

    root = arguments.runs or default_root()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def rows(ended: Callable[[Run], object] = lambda _: None) -> list[dict]:
        return compare(examples.configs(arguments.recipe or examples.RECIPE, arguments.steps), root, ended)

    if arguments.no_serve:
        _show(rows(), arguments.json)
        return 0
    shown = examples.copy_into(root)
    with app.beside(str(root), arguments.port, token=not arguments.no_token) as server:
        say("Open it: two example runs are there. The same two train now, and take their place when they end.")
        os.nice(5)  # the trainings step back where the dashboard wants the same processor cores

        def ended(run: Run) -> None:
            if example := shown.get(run.config.loss.name):
                examples.replace(example)

        _show(rows(ended), arguments.json)
        say("\nThe dashboard stays open at the address above (Ctrl-C stops it).")
        return server.wait()


def compare(
    configs: Mapping[str, RunConfig], root: Path, ended: Callable[[Run], object] = lambda _: None
) -> list[dict]:
    """Train each configuration, as many side by side as there are processor cores; the rows of the table.

    ended: told of each run that has finished.
    """
    import psutil

    import lab.runs
    from lab.runs.examples import LOSSES

    runs = {
        loss: lab.runs.create(config, root, lab.runs.free_name(root, f"demo-{loss}"))
        for loss, config in configs.items()
    }
    cores = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count() or 1
    with _at_work(list(runs.values()), cores) as begin:
        rows = [_raw_pixels(next(iter(configs.values())))]
        for loss, run in runs.items():
            begin(run)
            say(f"\nTraining {LOSSES[loss]} ...")
            rows.append(_followed(LOSSES[loss], run))
            ended(run)
    return rows


@contextmanager
def _at_work(runs: list[Run], cores: int) -> Iterator[Callable[[Run], None]]:
    """Train the first runs in the background, one a core; yields what begins another, unless it has begun.

    When the block is left by an exception, they are asked to stop.
    """
    from lab.runs.launching import detached

    begun: list[Run] = []

    def begin(run: Run) -> None:
        if run not in begun:
            # A second thread gains such a network little, and waiting for it on a busy machine costs everything.
            detached.launch(run, {"OMP_NUM_THREADS": "1"})
            begun.append(run)

    try:
        for run in runs[:cores]:
            begin(run)
        yield begin
    except BaseException:
        say("The trainings stop and save themselves; `lab train --resume RUN` goes on with one.")
        for run in begun:
            detached.stop(run)
        raise


def _followed(title: str, run: Run) -> dict:
    """Show a training until it is done; its row of the table."""
    from lab.cli._following import coming, record_of
    from lab.cli._progress import drain

    drain(record for one in coming(run) if (record := record_of(one)) is not None)
    if run.state != "finished":
        what = run.status.get("sentence") or "The demo was stopped."
        complain(f"{what} Go on with `lab train --resume {run.path}`, or start the demo again.")
        raise SystemExit(1)
    seconds = run.status["updated"] - run.meta["started"]
    return _row(title, (run.scores("test") or {})["values"], seconds, str(run.path))


def _raw_pixels(config: RunConfig) -> dict:
    import torch

    from lab.cli._progress import result_of
    from lab.evaluation.pixels import embed_pixels
    from lab.evaluation.scores import evaluate
    from lab.runs.building.parts import metrics_of

    torch.set_num_threads(1)  # the trainings have the other cores
    started = time.perf_counter()
    dataset = config.data.create()
    test = dataset.splits["test"]
    vectors = result_of(embed_pixels(dataset, test.query, dataset.splits["train"].items))
    device = config.training.knobs.device
    evaluated = result_of(evaluate(vectors, None, metrics_of(config), device=device, what="raw pixels"))
    return _row("raw pixels", evaluated.values, time.perf_counter() - started, "")


def _row(title: str, values: dict[str, float], seconds: float, run: str) -> dict:
    return {"model": title, **{c: round(values[c], 4) for c in COLUMNS}, "seconds": round(seconds, 1), "run": run}


def _show(rows: list[dict], as_json: bool) -> None:
    show(rows, as_json=as_json, title="Unseen classes of Emoji-7, every image searched among the others")
    say(
        "One training each. Other seeds and other classes move r@1 of this network by one to two points (standard "
        "deviation, study cnn_losses of docs/claims.md): seven are a difference, one is not."
    )
    say("A pair loss comes closer to recall@k than cross-entropy does: lab train --config emoji7_contrastive")
