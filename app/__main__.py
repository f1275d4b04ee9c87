"""Serve the dashboard: `python -m app --runs runs`. On 127.0.0.1 unless told otherwise, and then behind a token."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import sys
import threading
from pathlib import Path

import lab.runs
from app import access
from app.shared import settings
from lab.runs.launching.detached import reconcile


def main(arguments: list[str] | None = None) -> None:
    """Parse the flags, say where the dashboard is, and serve until it is stopped."""
    asked = _parser().parse_args(arguments)
    os.environ[settings.RUNS] = str(asked.runs.resolve())
    if asked.data:
        os.environ[settings.DATA] = os.pathsep.join(str(folder.resolve()) for folder in asked.data)
    access.token(asked.address)
    _load()
    print(f"Rankscope: http://{asked.address}:{asked.port} (runs in {asked.runs}; stop with Ctrl-C)", flush=True)
    threading.Thread(target=_reconcile, args=[asked.runs], daemon=True).start()
    _serve(asked.address, asked.port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m app", description="Serve the Rankscope dashboard.")
    parser.add_argument("--runs", type=Path, default=lab.runs.default_root(), help="the folder of runs")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        help="a folder below which images may lie, can be given several times (default home, and the folder here)",
    )
    parser.add_argument("--address", default="127.0.0.1", help="where to listen; other than this machine needs a token")
    parser.add_argument("--port", type=int, default=8501)
    return parser


def _load() -> None:
    """Load what the first page needs, before anybody can open it: plotly would use what a thread is still loading.

    Streamlit collects garbage after every run of a page and every look of one that waits. What is loaded here is for
    good, and looking through it takes a sixth of a second in which nothing else runs: it is left out of that.
    """
    for heavy in ("pandas", "plotly.graph_objects", "lab.inspect", "lab.search", "lab.metrics"):
        importlib.import_module(heavy)
    gc.freeze()


def _reconcile(runs: Path) -> None:
    """Find out which runs died with the machine."""
    with contextlib.suppress(OSError):  # a folder that cannot be written can still be looked at
        reconcile(runs)


def _serve(address: str, port: int) -> None:
    from streamlit.web import cli

    flags = [f"--server.address={address}", f"--server.port={port}"]
    sys.exit(cli.main(["run", str(Path(__file__).with_name("main.py")), *flags], standalone_mode=False))


if __name__ == "__main__":
    main()
