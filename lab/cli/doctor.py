"""Show versions, devices, and what may cause trouble on this machine.

Ends with exit status 1 when something is broken, for scripts. `lab doctor --imports` measures instead what the
imports of each command cost, or of those that are named: seconds, modules, and the packages that take most.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_json, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--imports",
        nargs="*",
        metavar="COMMAND",
        help="measure instead what the imports of these commands cost (default all)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    from lab import doctor

    if arguments.imports is not None:
        from lab.cli import names
        from lab.install.imports import costs

        rows = [vars(row) for row in costs(arguments.imports or names())]
        show(rows, as_json=arguments.json, title="Everything that a command may import, in a new process")
        return 0
    findings = doctor.examine()
    show([vars(finding) for finding in findings], as_json=arguments.json)
    return 1 if any(finding.state == "broken" for finding in findings) else 0
