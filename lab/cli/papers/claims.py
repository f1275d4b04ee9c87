"""Try the papers' claims on emoji.

The trainings are short. `lab papers claims` names the studies; `run` makes what is missing, `--only STUDY ...` some of
it, and can be stopped and resumed; `status` shows the progress; `show STUDY` tells scores, rates and power; `report`
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
    flag("--seeds", type=int, default=12, help="trainings of each arm that are judged (default 12)")
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
    if not 2 <= arguments.seeds <= 1_000:  # the seeds of the pilots come after
        raise ValueError(f"--seeds must be from 2 to 1,000, got {str(arguments.seeds)[:20]}.")
    if (arguments.study is None) == (arguments.action == "show"):
        raise ValueError("Name one study to show: lab papers claims show STUDY; elsewhere name studies with --only.")
    from lab import claims
    from lab.cli._launching import launcher_of
    from lab.cli._progress import drain

    folder, wanted = _folder(arguments), arguments.only
    if arguments.action == "list":
        rows = [
            {"study": name, "source": one.source, "published": f"{one.expected:+.2f} points of {one.columns[0]}",
             "says": one.says}
            for name, one in claims.select(wanted).items()
        ]  # fmt: skip
        show(rows, as_json=arguments.json)
    elif arguments.action == "status":
        show(claims.state(wanted, folder, arguments.seeds), as_json=arguments.json)
        say(f"Of the results in {folder}.")
    elif arguments.action == "run":
        launcher = launcher_of(arguments)
        drain(claims.sweep(wanted, folder, arguments.seeds, launcher, arguments.device), arguments.quiet)
        say(f"All trainings are in {folder}; `lab papers claims status` tells their verdicts.")
    elif arguments.action == "show":
        print(*claims.sections(folder, arguments.seeds, [arguments.study]))
    else:
        _report(arguments, folder)


def _folder(arguments: argparse.Namespace) -> Path:
    """Where results lie. What is run here goes to the person's own folder, never into the installed package."""
    import lab.runs
    from lab.claims import BUNDLED
    from lab.figures.measured import studies

    if arguments.folder:
        return Path(arguments.folder)
    if arguments.action == "report" and not arguments.output:
        return BUNDLED  # what docs/claims.md is of
    folder = lab.runs.default_root().parent / "claims"
    return folder if arguments.action == "run" or studies(folder) else BUNDLED


def _report(arguments: argparse.Namespace, folder: Path) -> None:
    import json

    from lab.claims import BUNDLED, effects, judgements, report
    from lab.core.files import write_text
    from lab.core.installed import shipped
    from lab.figures import measured as trials

    checkout = shipped.checkout()
    target = Path(arguments.output or (checkout / "docs" / "claims.md" if checkout else "claims.md"))
    check_place(target)
    write_text(target, report(folder, arguments.seeds))
    if checkout and folder == BUNDLED and not arguments.output:
        write_text(trials.EFFECTS, json.dumps(effects(judgements(folder, arguments.seeds)), indent=1) + "\n")
    print(target)
