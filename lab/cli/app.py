"""Open the dashboard: browse, compare and launch runs.

It listens on this machine only, unless told otherwise, and then asks for a token.
"""

from __future__ import annotations


def add_arguments(parser):
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder below which images may lie, can be given several times (default home, and the folder here)",
    )
    parser.add_argument("--port", type=int, default=8501, help="port to listen on (default 8501)")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")


def run(arguments):
    from lab.cli import _serve
    from lab.runs import default_root

    _serve.dashboard(str(arguments.runs or default_root()), arguments.port, arguments.address, arguments.data)
