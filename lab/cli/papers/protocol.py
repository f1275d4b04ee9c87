"""Measure by a published protocol; train what it needs.

`lab papers protocol hierarchical_ap RUN` judges a run. `lab papers protocol few_shot --loss contrastive
--protocol.shots 1 4 16` trains every run that is needed below one folder; given again, the same command goes on where
it was interrupted. Protocols that train several runs take from RUN only its configuration. `lab list protocols` lists
them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, complain, print_json, say, show

if TYPE_CHECKING:
    from lab.protocols import JudgingProtocol, Outcome, Protocol
    from lab.sweeps import Bench


USUAL = ("--loss", "--data", "--data.validation", "--name", "--device", "--runs")


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config, _launching

    flag = parser.add_argument
    flag("protocol", metavar="PROTOCOL", help="protocol to measure by")
    flag("run", nargs="?", metavar="RUN", help="run to measure, or whose configuration to train")
    _launching.add_on(parser, words)
    flag("--name", help="name of the folder for what is trained (default protocol-loss-data)")
    flag("--device", help="device to train and embed on (default as configured)")
    add_flags(parser, "runs", "json", "allow")
    import lab.protocols
    from lab.cli._flags import add_knobs

    if words and words[0] in lab.protocols.names():
        add_knobs(parser, "protocol", lab.protocols.get(words[0]).Knobs, f"protocol ({words[0]})")
    _config.add_sections(parser, words)


def run(arguments: argparse.Namespace) -> int:
    import lab.protocols
    from lab.cli._flags import collect

    kind = lab.protocols.get(arguments.protocol)
    protocol = kind(**collect(arguments, "protocol", kind.Knobs))
    if arguments.run is not None and isinstance(protocol, lab.protocols.JudgingProtocol):
        return _judge(protocol, arguments)
    return conducted(protocol, arguments)[0]


def _judge(protocol: JudgingProtocol, arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.cli import _config, _launching
    from lab.cli._progress import result_of

    flags = [
        flag
        for flag in _config.given_flags(arguments)
        if not flag.startswith(("--protocol.", "--on."))
    ]
    if arguments.name:
        flags.append("--name")
    if arguments.on != _launching.HERE:
        flags.append("--on")
    if flags:
        raise ValueError(
            f"{protocol.name} judges a run as it was trained: leave out {', '.join(flags)}; or leave out the run, and "
            "a new one is trained."
        )
    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    if arguments.device:
        run.config = run.config.changed("training.device", arguments.device)
    outcome = result_of(protocol.judge(run), arguments.quiet)
    return _show(outcome, outcome.write(run.path / "protocols", protocol.name), arguments)


def conducted(protocol: Protocol, arguments: argparse.Namespace) -> tuple[int, Bench]:
    """Train what a protocol needs and print its outcome; return the exit status and the folder of the runs."""
    import lab.runs
    from lab.cli import _config
    from lab.cli._launching import launcher_of
    from lab.cli._progress import result_of
    from lab.cli.train import StopOnSignal
    from lab.runs.store import check_name
    from lab.sweeps import Bench, Paused

    base = None
    if arguments.run:
        base = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    config = _config.config_of(arguments, base)
    if arguments.device:
        config = config.changed("training.device", arguments.device)
    name = arguments.name or protocol.folder_name(config)
    check_name(name)
    launcher = launcher_of(arguments)
    with StopOnSignal() as stop:
        bench = Bench(Path(arguments.runs or lab.runs.default_root()) / name, stop, launcher)
        bench.begin(
            {
                "protocol": protocol.name,
                "knobs": protocol.knobs.model_dump(),
                "config": config.as_dict(),
            }
        )
        try:
            outcome = result_of(protocol.conduct(config, bench), arguments.quiet)
        except Paused as paused:
            complain(str(paused))
            return stop.status or 130, bench
    return _show(outcome, outcome.write(bench.folder, "outcome"), arguments), bench


def _show(outcome: Outcome, path: Path, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json(outcome.as_json())
    else:
        show(outcome.table(), as_json=False)
        for sentence in outcome.sentences():
            say(sentence)
    say(f"Saved in {path} and, as JSON, beside it.")
    return 0
