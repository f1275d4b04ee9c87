"""Train a model and measure it on classes that it never saw.

Flags are `--SECTION NAME` and `--SECTION.KNOB VALUE`; `lab train --loss smooth_ap --help` lists the knobs of what is
chosen. A YAML file holds the same: `--config file.yaml`; flags win over it. Several processes share each batch under
`torchrun --nproc-per-node N -m lab train ...`; one that torchrun restarts continues from the last checkpoint.
`--seeds 5 --on ray` trains five runs that differ in their seed on a cluster; `--on` takes what `lab sweep` takes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Self

from lab.cli._output import add_flags, print_json, say, show
from lab.core.words import PROGRAM, kind_of

if TYPE_CHECKING:
    from lab.exporters import CurveExporter
    from lab.launchers import Launcher
    from lab.runs import Run
    from lab.runs.custom.modules import Custom
    from lab.training.distributed import Processes

HEADING = "Train and measure"
PLACE = 10

USUAL = (
    "--data",
    "--data.root",
    "--encoder",
    "--loss",
    "--training.steps",
    "--optimiser.lr",
    "--sampler.batch_size",
    "--config",
    "--name",
    "--resume",
)


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config, _launching

    flag = parser.add_argument
    flag("--resume", metavar="RUN", help="continue an interrupted run (a name or a folder)")
    again = _program_again(words)
    if again:
        program = "the function or the program file that makes the encoder, for a run that was trained with one"
        flag("--encoder", metavar="MODULE:FUNCTION", dest="program", help=program)
    parser.set_defaults(program=None)
    flag("--name", help="name of the run's folder (default date-loss-data)")
    flag("--seeds", type=int, help="number of runs, with consecutive seeds; needs --on")
    _launching.add_on(parser, words)
    flag("--queue", action="store_true", help="put the run into the queue instead of training here")
    printing = "print the complete YAML, or JSON, instead of training"
    flag("--print-config", action="store_true", help=printing)
    curves = "also write the curves while training, for instance tensorboard"
    flag("--export", nargs="+", default=[], metavar="NAME", help=curves)
    add_flags(parser, "runs", "json", "allow")
    from lab.runs.config import SECTIONS

    _config.add_sections(
        parser, words, [name for name in SECTIONS if not (again and name == "encoder")]
    )


def _program_again(words: Sequence[str]) -> bool:
    """Return whether --encoder gives the program of a resumed run again, and so names no entry of the catalogue."""
    from lab.cli import _flags

    given = _flags.early(words, resume="store", encoder="store")
    return bool(given.resume and given.encoder and kind_of(given.encoder) == PROGRAM)


def run(arguments: argparse.Namespace) -> int:
    from lab.cli import _config, _launching

    if arguments.print_config:
        config = _config.config_of(arguments)
        if arguments.json:
            print_json(config.as_dict())
        else:
            print(config.as_yaml(), end="")
        return 0
    if arguments.resume == "":
        raise ValueError("--resume names the run that goes on, got an empty name.")
    import lab.runs

    # Where is it trained? A launcher takes it, or the queue, or this process.
    exporters = _live(arguments)
    resumed = None
    before = None  # where the resumed run was sent to the last time
    if arguments.resume:
        resumed = lab.runs.open(arguments.resume, arguments.runs, arguments.allow)
        before = resumed.sent_to
    launcher = _launching.launcher_of(arguments, before)
    if launcher is not None:
        return _launched(arguments, launcher)
    if arguments.seeds is not None:
        raise ValueError(
            "--seeds makes several runs, and this process trains one; say where, for instance --on local."
        )
    if _alone():
        run = _begun(arguments) or _opened(arguments)  # torchrun may be left with one process
        if not arguments.queue:
            return _go(run, arguments, exporters, custom=_custom(run, arguments))
        from lab.launchers.background.queue import Queue

        queue = Queue(run.path.parent)
        queue.add(run)
        queue.ensure_worker()
        say(f"{run.path} is in the queue; `lab runs queue` shows it.")
        return 0
    # torchrun started several processes: the first creates the run, the others open it.
    from lab.kernels.devices import device_of
    from lab.training import distributed

    config = resumed.config if resumed else _config.config_of(arguments)
    with distributed.session(device_of(config.training.knobs.device)) as processes:
        path = ""
        if processes.first:
            run = _begun(arguments) or _opened(arguments)
            path = str(run.path)
        return _go(lab.runs.open(processes.from_first(path)), arguments, exporters, processes)


def _alone() -> bool:
    """Return whether torchrun started no other process beside this one; works before torch is imported."""
    return os.environ.get("WORLD_SIZE", "1") == "1"


def _begun(arguments: argparse.Namespace) -> Run | None:
    """Return the run that torchrun began with this very call before a process or a node was lost; None if it is new.

    With --name it is the run of that name. Without, it is looked for only after a process has died, which torchrun
    counts, and not after nodes have come or gone, which it does not.
    """
    import lab.runs
    from lab.cli import _config
    from lab.runs.execute import findable
    from lab.runs.folder import FINISHED
    from lab.runs.store import default_root

    restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    if arguments.resume or "WORLD_SIZE" not in os.environ or not (restarted or arguments.name):
        return None
    root = Path(arguments.runs or default_root())
    config = findable(_config.config_of(arguments)).as_yaml().encode()
    # hidden: a run that is being created
    folders = [root / arguments.name] if arguments.name else root.glob("[!.]*")
    written = [folder / "config.yaml" for folder in folders]
    same = [path.parent for path in written if path.is_file() and path.read_bytes() == config]
    begun = [run for run in map(lab.runs.open, same) if run.written_state != FINISHED]
    return max(begun, key=lambda run: run.status.get("updated", 0), default=None)


def _opened(arguments: argparse.Namespace) -> Run:
    """Return the run to resume, or create a new one."""
    import lab.runs
    from lab.cli import _config, _launching
    from lab.runs.boundary import check_elsewhere
    from lab.runs.execute import check_at_hand, take_config, take_over

    elsewhere = arguments.queue or arguments.on != _launching.HERE
    if arguments.resume:
        flags = [flag for flag in _config.given_flags(arguments) if flag != "--config"]
        if flags or arguments.name:
            left_out = ", ".join(flags) or "--name"
            raise ValueError(
                f"A resumed run keeps its configuration; leave out {left_out}, or give --config FILE."
            )
        run = lab.runs.open(arguments.resume, arguments.runs, arguments.allow)
        if arguments.config:
            take_config(run, _config.config_of(arguments))
        if elsewhere:
            check_elsewhere(arguments.program or run.config.program)
        # before it is put into the queue, where nobody would hear
        check_at_hand(run, _custom(run, arguments))
        if arguments.allow:
            take_over(run)
        return run
    config = _config.config_of(arguments)
    if elsewhere:
        check_elsewhere(config.program)
    return lab.runs.create(config, arguments.runs, arguments.name)


def _custom(run: Run, arguments: argparse.Namespace) -> Custom | None:
    """Return the encoder of a resumed run if its program is given again."""
    if arguments.program is None:
        return None
    from lab.runs.custom.modules import Custom, again

    return Custom(again(arguments.program, run))


def _launched(arguments: argparse.Namespace, launcher: Launcher) -> int:
    """Hand one run, or one per seed, to a launcher and wait until all have ended."""
    import lab.runs
    from lab.cli import _config

    if arguments.queue or arguments.export or not _alone():
        raise ValueError(
            "--on hands the run to a launcher; leave out --queue, --export and torchrun."
        )
    # One run, or one per seed.
    if arguments.seeds is None or arguments.resume:
        runs = [_opened(arguments)]
        snapshot = runs[0].snapshot()
        if snapshot.place and snapshot.seen_through:
            raise ValueError(
                f"Run {runs[0].name} is in the hands of {snapshot.place.words}; stop it first."
            )
    elif arguments.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {arguments.seeds}.")
    else:
        config = _config.config_of(arguments)
        first = config.training.knobs.seed
        method = arguments.name or f"{config.loss.name}-{config.data.name}"
        names = {seed: f"{method}-seed-{seed}" for seed in range(first, first + arguments.seeds)}
        for name in names.values():  # all names are checked before the first run is created
            lab.runs.check_available(arguments.runs or lab.runs.default_root(), name)
        runs = []
        for seed, name in names.items():
            runs.append(
                lab.runs.create(config.changed("training.seed", seed), arguments.runs, name)
            )
    # Hand over, wait, and show the scores.
    launcher.submit(runs)
    say(f"{len(runs)} handed over to {arguments.on}: {', '.join(run.name for run in runs)}.")
    for over in launcher.ended():
        if over is not None:
            say(f"{over.name}: {over.state}")
    rows = []
    for run in runs:
        scores = (run.scores() or {}).get("values") or {}
        rows.append({"run": run.name, "state": run.state, **scores})
    show(rows, as_json=arguments.json)
    return 0 if all(run.state == "finished" for run in runs) else 1


def _live(arguments: argparse.Namespace) -> list:
    """Return the exporters that follow the training, made before it begins: a missing library is reported at once."""
    if not arguments.export:
        return []
    from lab import exporters

    if arguments.queue:
        raise ValueError(
            "--export follows a training in this process; leave out --queue, or use lab export afterwards."
        )
    exporting = []
    for name in arguments.export:
        exporter = exporters.create(name)
        if not isinstance(exporter, exporters.CurveExporter):
            raise ValueError(
                f"--export writes curves, and {name} has none; use lab export after the training."
            )
        exporter.check_installed()
        exporting.append(exporter)
    return exporting


def _go(
    run: Run,
    arguments: argparse.Namespace,
    exporters: Sequence[CurveExporter] = (),
    processes: Processes | None = None,
    custom: Custom | None = None,
) -> int:
    """Train a run and print its scores.

    A new run that is refused before its first step leaves no folder: the message says all there is to know of it.
    """
    import lab.runs
    from lab.cli._progress import drain
    from lab.cli._scores import show_scores
    from lab.training.stopwatch import in_words, summed

    first = processes is None or processes.first
    try:
        with StopOnSignal() as stop:
            records = lab.runs.execute(run, stop, processes, custom)
            if exporters and first:
                from lab.exporters import following

                records = following(run, exporters, records)
            drain(records, quiet=arguments.quiet or not first)
    except ValueError:
        if first and not arguments.resume and not run.begun:
            shutil.rmtree(run.path, ignore_errors=True)
        raise
    if not first:
        return stop.status
    # Say where the time went, and the scores.
    spent = summed(step.get("spent") or {} for step in run.metrics("stepped"))
    if spent and not arguments.quiet:
        say(in_words(spent))
    show_scores(run, as_json=arguments.json)
    # of the queue: its map is looked at next
    if run.state == "finished" and (run.path / "launch.json").is_file():
        from lab.maps import kept

        with suppress(OSError):
            kept.lay_out(run)
    if run.state == "finished":
        return 0
    return stop.status or 1


class StopOnSignal:
    """Callable that says whether the run should stop: after the first SIGINT (Ctrl-C), SIGTERM or SIGHUP (the terminal
    closes). A second signal interrupts at once. A signal that is ignored, as under nohup, stays ignored.

    status: the exit status of the command: 0, or 128 plus the signal's number.
    """

    def __enter__(self) -> Self:
        self.status = 0
        self._terminals = [stream for stream in (1, 2) if os.isatty(stream)]
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # Only the main thread may handle signals; Ray Train runs this in another one.
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            for number in signals:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._request_stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        return self.status != 0

    def _request_stop(self, number: int, _: FrameType | None) -> None:
        if self.status:
            raise KeyboardInterrupt
        self.status = 128 + number
        # writing to a terminal that is gone would fail, and end the run before it saved
        if number == signal.SIGHUP:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in self._terminals:
                os.dup2(nowhere, stream)
        # a closed terminal; and not print, which a signal may have come in the middle of
        with suppress(OSError):
            os.write(
                2,
                b"\nlab: Stopping: this step is finished and saved; press Ctrl-C again to end at once.\n",
            )
