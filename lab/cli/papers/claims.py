"""Try the papers' claims on emoji, letters and digits.

The trainings are short. `lab papers claims` names the studies; `run` makes what is missing, `--only STUDY ...` some of
it, and can be stopped and resumed; `status` shows the progress; `show STUDY` tells its scores and comparisons; `report`
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
    flag("--seeds", type=int, default=5, help="seeds for every setting (default 5)")
    flag(
        "--folder",
        metavar="FOLDER",
        help="folder of results (default: claims, beside the folder of runs; while it is empty, status and report show "
        "the results that come with the package)",
    )
    _launching.add_on(parser, words)
    flag(
        "--device",
        default="cpu",
        metavar="NAME",
        help="device to train on: cpu (default), as for the results that come with the package, cuda, cuda:1 or auto; "
        "a GPU rounds otherwise than a processor, so give it a --folder of its own",
    )
    flag("--output", metavar="FILE", help="file of the report (default: claims.md, in a checkout docs/claims.md)")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    if not 1 <= arguments.seeds <= 1_000:  # every training of a study is listed before the first begins
        raise ValueError(f"--seeds must be from 1 to 1,000, got {str(arguments.seeds)[:20]}.")
    if (arguments.study is None) == (arguments.action == "show"):
        raise ValueError("Name one study to show: lab papers claims show STUDY; elsewhere name studies with --only.")
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
    for name in select(arguments.only):
        study = lab.claims.get(name)
        trainings, claims = len(study.trainings(arguments.seeds)), len(study.claims)
        counts = {"source": study.source, "trainings": trainings, "claims": claims}
        rows.append({"study": name, "tier": study.tier, **counts, "title": study.title})
    show(rows, as_json=arguments.json)


def _status(arguments: argparse.Namespace, folder: Path) -> None:
    from lab.claims import select, state

    show(state(select(arguments.only), folder, arguments.seeds), as_json=arguments.json)
    say(f"Of the results in {folder}.")


def _run(arguments: argparse.Namespace, folder: Path) -> None:
    from lab.claims import select, state, sweep
    from lab.cli._launching import launcher_of
    from lab.cli._progress import follow

    launcher, names = launcher_of(arguments), select(arguments.only)
    for _ in follow(sweep(names, folder, arguments.seeds, launcher, arguments.device), arguments.quiet):
        pass
    rows = state(names, folder, arguments.seeds)
    done, total, spent = (sum(row[column] for row in rows) for column in ("done", "of", "CPU seconds"))
    rest = "" if done == total else "; the same command continues"
    say(f"{done} of {total} trainings are in {folder}, {spent:.0f} CPU seconds in all{rest}.")


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
    write_text(target, report(select(arguments.only), folder, arguments.seeds))
    print(target)
