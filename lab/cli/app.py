"""Open the dashboard: browse, compare and launch runs.

It listens on this machine only, unless told otherwise, and asks for the token that stands in the address it prints.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from lab.cli._output import add_flags
from lab.core.explain import need
from lab.core.installed import children

HEADING = "See and learn"
PLACE = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    add_flags(parser, "runs")
    data = "folder whose images may be shown, can be given several times (default home, and the folder here)"
    flag("--data", action="append", default=[], metavar="FOLDER", help=data)
    flag("--port", type=int, default=8501, help="port to listen on (default 8501)")
    flag("--address", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    add_flags(parser, "token")
    flag(
        "--guests",
        action="store_true",
        help="print an address for guests, too, who may look and change nothing",
    )


def run(arguments: argparse.Namespace) -> NoReturn:
    """Replace this process by the dashboard: it is its own program, which the library never imports."""
    from lab.runs import default_root

    words = command(str(arguments.runs or default_root()), arguments.port, not arguments.no_token)
    words += ["--address", arguments.address]
    for folder in arguments.data:
        words += ["--data", folder]
    if arguments.guests:
        words.append("--guests")
    sys.stdout.flush()
    os.execve(words[0], words, children.environment())


@contextmanager
def beside(runs: str, port: int, token: bool) -> Iterator[subprocess.Popen[str]]:
    """Start the dashboard as a child of this process, and wait until it has printed its address; it ends with the
    block. token: whether pages ask for one.

    Raises:
        ValueError: as `command`; or it ended before it served, for the reason that it printed.
    """
    words = command(runs, port, token)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=children.environment()
    ) as server:
        assert server.stdout
        try:
            address = server.stdout.readline()
            if not address:
                raise ValueError("The dashboard did not start; it says why above.")
            print(address, end="", flush=True)
            threading.Thread(
                target=shutil.copyfileobj, args=(server.stdout, sys.stdout), daemon=True
            ).start()
            yield server
        finally:
            server.terminate()


def command(runs: str, port: int, token: bool) -> list[str]:
    """Return the command line of a dashboard, after checking that it can start. token: whether pages ask for one.

    Raises:
        ValueError: the extra `app` is not installed, or the port cannot be one.
    """
    need("The dashboard", "app", "streamlit")
    if not 0 < port < 65536:
        raise ValueError(f"--port must be between 1 and 65535, got {port}.")
    words = ["--runs", runs, "--port", str(port)]
    if not token:
        words.append("--no-token")
    return children.application("app", *words)
