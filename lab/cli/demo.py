"""Show two finished runs on the dashboard, and train the same two.

The queue trains cross-entropy, as most classifiers are trained, and recall@k with SiMix, each on a processor core of
its own where there are two. Both are measured beside raw pixels on classes that neither has seen; when both have ended,
one table is printed. The address of the dashboard comes first; what was trained takes the examples' place there. The
dashboard stays open whatever becomes of a training.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, complain, say, show

if TYPE_CHECKING:
    from lab.launchers.background.queue import Queue
    from lab.runs import Run, RunConfig

HEADING = "See and learn"
PLACE = 31

COLUMNS = ("r@1", "r@4", "MAP@R")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag(
        "--steps",
        type=int,
        metavar="N",
        help="training steps of each loss (default as in the presets)",
    )
    flag(
        "--recipe",
        metavar="NAME",
        help="train by other presets; demo-0.2 gives the table of that version",
    )
    flag("--port", type=int, default=8501, help="port of the dashboard (default 8501)")
    flag("--no-serve", action="store_true", help="do everything except opening the dashboard")
    add_flags(parser, "token", "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    from lab.cli import app
    from lab.runs import default_root, examples

    root = arguments.runs or default_root()
    signal.signal(signal.SIGTERM, _end_with_status)
    configs = examples.configs(arguments.recipe or examples.RECIPE, arguments.steps)
    if arguments.no_serve:
        rows, failed = compare(configs, root)
        _show(rows, arguments.json)
        return 1 if failed else 0
    app.command(str(root), arguments.port, token=not arguments.no_token)
    from lab.core import connections

    # refuse a port that is taken before anything is made
    connections.listening("127.0.0.1", arguments.port).close()
    # Serve the dashboard with two example runs, which the trained ones replace.
    shown = examples.copy_into(root)
    with app.beside(str(root), arguments.port, token=not arguments.no_token) as server:
        say(
            "Open it: two example runs are there. The same two train now, and take their place when they end."
        )
        # the table's own work steps back where the dashboard wants the same processor cores
        os.nice(5)

        def serving() -> bool:
            return server.poll() is None

        def replace_example(run: Run) -> None:
            example = shown.get(run.config.loss.name)
            if example:
                examples.replace(example)

        rows, _ = compare(configs, root, replace_example, serving)
        if serving():
            _show(rows, arguments.json)
            say("\nThe dashboard stays open at the address above (Ctrl-C stops it).")
        return server.wait()


def _end_with_status(number: int, _: object) -> None:
    sys.exit(128 + number)


def _ignore(run: Run) -> None:
    """Do nothing when a run ends."""


def _always() -> bool:
    return True


def compare(
    configs: Mapping[str, RunConfig],
    root: Path,
    ended: Callable[[Run], object] = _ignore,
    wanted: Callable[[], bool] = _always,
) -> tuple[list[dict], list[Run]]:
    """Let the queue train each configuration, and follow the runs until all have ended.

    A run that is stopped, fails, or whose process dies does not end the others. If this process is interrupted, the
    runs are stopped.

    Args:
        ended: called with each run that has finished.
        wanted: called again and again; the runs are stopped when it returns False.

    Returns:
        The rows of the table, and the runs that did not finish.
    """
    import lab.runs
    from lab.launchers.background.queue import Queue
    from lab.runs.examples import LOSSES

    queue = Queue(root)
    runs = {}
    for loss, config in configs.items():
        runs[loss] = lab.runs.create(config, root, lab.runs.free_name(root, f"demo-{loss}"))
    rows: list[dict] = []
    failed: list[Run] = []
    # The queue trains; this process measures raw pixels meanwhile, then follows one run after the other.
    with _stopped_if_interrupted(queue, list(runs.values()), wanted):
        for run in runs.values():
            queue.add(run)
        queue.ensure_worker()
        if queue.paused:
            say(
                "The queue of this folder is paused: the trainings begin after `lab runs queue go`."
            )
        with _report_failure("The row of raw pixels is missing"):
            rows.append(_raw_pixels(next(iter(configs.values()))))

        def goes_on(run: Run) -> bool:
            return wanted() and _goes_on(queue, run)

        for loss, run in runs.items():
            say(f"\nTraining {LOSSES[loss]} ...")
            row = None
            with _report_failure(f"Run {run.name} cannot be followed"):
                row = _follow(LOSSES[loss], run, goes_on)
            if row is None:
                failed.append(run)
                continue
            rows.append(row)
            with _report_failure(f"The example that {run.name} replaces stays"):
                ended(run)
    return rows, failed


@contextmanager
def _report_failure(consequence: str) -> Iterator[None]:
    """Print what goes wrong in the block, and go on after it: a run must not end the dashboard."""
    from lab.core.explain import explain

    try:
        yield
    except Exception as error:
        complain(f"{consequence}: {explain(error)}")


@contextmanager
def _stopped_if_interrupted(
    queue: Queue, runs: list[Run], wanted: Callable[[], bool]
) -> Iterator[None]:
    """Stop the runs that go on when the block is left by Ctrl-C or a signal, or is no longer wanted at its end."""
    from lab.launchers.background import detached

    def stop() -> None:
        going = [run for run in runs if _goes_on(queue, run)]
        if going:
            say(
                "The trainings stop and save themselves; `lab train --resume RUN` goes on with one."
            )
        for run in going:
            with suppress(ValueError, OSError):
                queue.remove(run.name)
        for run in going:
            with suppress(ValueError, OSError):
                detached.stop(run)

    try:
        yield
    except BaseException:
        stop()
        raise
    if not wanted():
        stop()


def _goes_on(queue: Queue, run: Run) -> bool:
    """Return whether a run waits in the queue or is at work; not when somebody has taken it out or away."""
    from lab.cli._following import at_work
    from lab.runs.folder import working

    if not run.path.is_dir() or not at_work(run):
        return False
    if queue.abandoned:  # its process died
        queue.ensure_worker()
    return run.name in queue.names or working(run)


def _follow(title: str, run: Run, goes_on: Callable[[Run], bool]) -> dict | None:
    """Show a training while it goes on, and return its row of the table; None, and a sentence, if it did not finish."""
    from lab.cli._following import coming, record_of
    from lab.cli._progress import drain

    drain(filter(None, map(record_of, coming(run, goes_on))))
    if run.state != "finished":
        reason = run.status.get("sentence") or f"Run {run.name} was stopped."
        complain(f"{reason} Go on with `lab train --resume {run.path}`, or start the demo again.")
        return None
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
    evaluated = result_of(
        evaluate(vectors, None, metrics_of(config), device=device, what="raw pixels")
    )
    return _row("raw pixels", evaluated.values, time.perf_counter() - started, "")


def _row(title: str, values: dict[str, float], seconds: float, run: str) -> dict:
    scores = {column: round(values[column], 4) for column in COLUMNS}
    return {"model": title, **scores, "seconds": round(seconds, 1), "run": run}


def _show(rows: list[dict], as_json: bool) -> None:
    show(
        rows,
        as_json=as_json,
        title="Unseen classes of Emoji-7, every image searched among the others",
    )
    say(
        "One training each. Other seeds and other classes move r@1 of this network by one to two points (standard "
        "deviation, study cnn_losses of docs/claims.md): seven are a difference, one is not."
    )
    say(
        "A pair loss comes closer to recall@k than cross-entropy does: lab train --config emoji7_contrastive"
    )
