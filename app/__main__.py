"""Serve the dashboard: `python -m app --runs runs`. On 127.0.0.1 unless told otherwise, and then behind a token."""

from __future__ import annotations

import argparse
import importlib
import os
import secrets
import sys
import threading
from pathlib import Path

import lab.runs
from app import door, settings

LOCAL = ("127.0.0.1", "localhost", "::1")


def main(arguments: list[str] | None = None) -> None:
    """Parse the flags, say where the dashboard is, and serve until it is stopped."""
    asked = _parser().parse_args(arguments)
    os.environ[settings.RUNS] = str(asked.runs.resolve())
    address = f"http://{asked.address}:{asked.port}"
    if asked.address not in LOCAL:
        os.environ.setdefault(door.TOKEN, secrets.token_urlsafe(16))
        print(f"This address is open to other machines, so pages ask for a token: {os.environ[door.TOKEN]}")
    print(f"Ranklab: {address} (runs in {asked.runs}; stop with Ctrl-C)", flush=True)
    threading.Thread(target=_warm, daemon=True).start()
    _serve(asked.address, asked.port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m app", description="Serve the Ranklab dashboard.")
    parser.add_argument("--runs", type=Path, default=lab.runs.default_root(), help="the folder of runs")
    parser.add_argument("--address", default="127.0.0.1", help="where to listen; other than this machine needs a token")
    parser.add_argument("--port", type=int, default=8501)
    return parser


def _warm() -> None:
    """Load what the first page needs while the person is still opening the browser."""
    for heavy in ("pandas", "plotly.graph_objects", "lab.search", "lab.metrics", "lab.runs"):
        importlib.import_module(heavy)


def _serve(address: str, port: int) -> None:
    from streamlit.web import cli

    flags = [f"--server.address={address}", f"--server.port={port}"]
    sys.exit(cli.main(["run", str(Path(__file__).with_name("main.py")), *flags], standalone_mode=False))


if __name__ == "__main__":
    main()
