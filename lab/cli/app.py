"""Open the dashboard: browse, compare and launch runs.

It listens on this machine only, unless told otherwise, and asks for the token that stands in the address it prints.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags

HEADING, PLACE = "See and learn", 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    add_flags(parser, "runs")
    flag(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder whose images may be shown, can be given several times (default home, and the folder here)",
    )
    flag("--port", type=int, default=8501, help="port to listen on (default 8501)")
    flag("--address", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    add_flags(parser, "token")
    flag("--guests", action="store_true", help="print an address for guests, too, who may look and change nothing")


def run(arguments: argparse.Namespace) -> None:
    from lab.cli._serve import dashboard
    from lab.runs import default_root

    root, token = str(arguments.runs or default_root()), not arguments.no_token
    dashboard(root, arguments.port, arguments.address, arguments.data, token, arguments.guests)
