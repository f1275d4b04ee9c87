"""Try the papers' claims on emoji, letters and digits: short trainings that can be stopped and resumed, and a report.

`lab claims list` names the studies; `lab claims run` makes what is missing, `--only STUDY ...` some of it;
`lab claims status` shows the progress; `lab claims show STUDY` tells its scores and comparisons; `lab claims report`
writes the page of all verdicts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lab.cli._output import add_flags, check_place, say, show


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab.cli import _launching

    flag = parser.add_argument
    actions = ("list", "run", "status", "show", "report")
    flag("action", nargs="?", choices=actions, default="list", help="what to show or do (default list)")
    flag("study", nargs="?", metavar="STUDY", help="study that show tells")
    flag("--only", nargs="+", metavar="STUDY", default=(), help="studies to run (default all)")
    flag(
        "--tier",
        choices=("head", "cnn", "end_to_end"),
        help="only studies that train a head on frozen features, the whole small CNN, or a whole pretrained network",
    )
    flag("--seeds", type=int, default=5, help="seeds for every setting (default 5)")
    flag(
        "--folder",
        metavar="FOLDER",
        help="folder of results (default: claims, beside the folder of runs; while it is empty, status and report show "
        "the results that come with the package)",
    )
    _launching.add_on(parser, words)
    flag("--machine", metavar="WORDS", help="description of this machine, in your own words, to stand in the results")
    flag(
        "--device",
        default="cpu",
        metavar="NAME",
        help="device to train on: cpu (default), as for the results that come with the package, cuda, cuda:1 or auto; "
        "trainings on a processor and on a GPU are never compared, so give each a --folder of its own",
    )
    flag("--minutes", type=float, help="start no more trainings after this many minutes")
    flag("--output", metavar="FILE", help="file of the report (default: claims.md, in a checkout docs/claims.md)")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    if not 1 <= arguments.seeds <= 1_000:  # every training of a study is listed before the first begins
        raise ValueError(f"--seeds must be from 1 to 1,000, got {str(arguments.seeds)[:20]}.")
    if arguments.minutes is not None and not arguments.minutes > 0:
        raise ValueError(f"--minutes must be above 0, got {arguments.minutes:g}.")
    if (arguments.study is None) == (arguments.action == "show"):
        raise ValueError("Name one study to show: lab claims show STUDY; elsewhere name studies with --only.")
    act = {"list": _list, "run": _run, "status": _status, "show": _show, "report": _report}[arguments.action]
    act(arguments, _folder(arguments))


def _folder(arguments: argparse.Namespace) -> Path:
    """Where results lie. What is run here goes to the person's own folder, never into the installed package."""
    import lab.runs
    from lab.trials import BUNDLED, studies

    if arguments.folder:
        return Path(arguments.folder)
    if arguments.action == "report" and not arguments.output:
        return BUNDLED  # what docs/claims.md is of
    folder = lab.runs.default_root().parent / "claims"
    return folder if arguments.action == "run" or studies(folder) else BUNDLED


def _list(arguments: argparse.Namespace, folder: Path) -> None:
    import lab.claims
    from lab.claims import select

    rows = []
    for name in select(arguments.only, arguments.tier):
        study = lab.claims.get(name)
        trainings, claims = len(study.trainings(arguments.seeds)), len(study.claims)
        counts = {"source": study.source, "trainings": trainings, "claims": claims}
        rows.append({"study": name, "tier": study.tier, **counts, "title": study.title})
    show(rows, as_json=arguments.json)


def _status(arguments: argparse.Namespace, folder: Path) -> None:
    from lab.claims import select, state

    rows = [
        {"study": s.study, "done": s.done, "of": s.total, "diverged": s.failed, "CPU seconds": round(s.cpu, 1)}
        for s in state(select(arguments.only, arguments.tier), folder, arguments.seeds)
    ]
    show(rows, as_json=arguments.json)
    say(f"Of the results in {folder}.")


def _run(arguments: argparse.Namespace, folder: Path) -> None:
    import os
    import platform

    from lab.claims import select, state, sweep
    from lab.cli._launching import launcher_of
    from lab.cli._progress import follow
    from lab.kernels.devices import device_of

    launcher = launcher_of(arguments)
    if launcher and arguments.device == "auto" and not arguments.machine:
        raise ValueError("--device auto with --on is found elsewhere; say what trains there with --machine WORDS.")
    device = arguments.device if launcher else str(device_of(arguments.device))  # elsewhere it is found there
    cores = f"{os.cpu_count()} {platform.machine()} cores"
    machine = arguments.machine or (cores if device == "cpu" else f"{cores} and {device}")
    limit = None if arguments.minutes is None else 60 * arguments.minutes
    names = select(arguments.only, arguments.tier)
    for _ in follow(sweep(names, folder, arguments.seeds, machine, limit, launcher, device), arguments.quiet):
        pass
    states = state(names, folder, arguments.seeds)
    done, total = sum(s.done for s in states), sum(s.total for s in states)
    rest = "" if done == total else "; the same command continues"
    say(f"{done} of {total} trainings are in {folder}, {sum(s.cpu for s in states):.0f} CPU seconds in all{rest}.")


def _show(arguments: argparse.Namespace, folder: Path) -> None:
    import lab.claims

    lab.claims.get(arguments.study)
    found = lab.claims.judgements(lab.claims.names(), folder, arguments.seeds)
    print(lab.claims.section(arguments.study, found[arguments.study], arguments.seeds))


def _report(arguments: argparse.Namespace, folder: Path) -> None:
    from lab.claims import report, select
    from lab.core.files import write_text
    from lab.install import shipped

    checkout = shipped.checkout()
    target = Path(arguments.output or (checkout / "docs" / "claims.md" if checkout else "claims.md"))
    check_place(target)
    write_text(target, report(select(arguments.only, arguments.tier), folder, arguments.seeds))
    print(target)
