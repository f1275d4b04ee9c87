"""Versions, devices, and what may cause trouble on this machine.

Ends with status 1 when something is broken, so that a script can ask.
"""

from __future__ import annotations

from lab.cli._output import add_json, show


def add_arguments(parser):
    add_json(parser)


def run(arguments):
    from lab import doctor

    findings = doctor.examine()
    show([vars(finding) for finding in findings], as_json=arguments.json)
    return 1 if any(finding.state == "broken" for finding in findings) else 0
