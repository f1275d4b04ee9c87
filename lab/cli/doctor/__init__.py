"""Tell what may cause trouble on this machine, or measure it.

Ends with exit status 1 when something is broken, for scripts.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, show

HEADING = "Look up and keep in order"
PLACE = 43


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> int:
    from lab import doctor

    findings = doctor.examine()
    show([vars(finding) for finding in findings], as_json=arguments.json)
    return 1 if any(finding.state == "broken" for finding in findings) else 0
