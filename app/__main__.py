"""Serve the dashboard: `lab app` starts it, on 127.0.0.1 by default, behind a token."""

import argparse
import contextlib
import importlib
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import lab.runs
from app import access, run_events, served
from app.page_style import PageStyle
from app.shared import settings
from app.uploads import UploadLimit
from lab.core import connections, files
from lab.launchers.background.detached import reconcile
from lab.launchers.background.queue import Queue

MAIN = Path(__file__).with_name("main.py")

CLOSED = 16
"""Sessions that are kept after the browser has disconnected. Each needs three file descriptors; Streamlit keeps 128."""

PING = 30
"""Seconds between two pings of a browser, and until it must answer, as with `streamlit run`."""


def main(arguments: list[str] | None = None) -> None:
    """Parse the flags, print the address of the dashboard, and serve until it is stopped."""
    options = _parser().parse_args(arguments)
    os.environ[settings.RUNS] = str(options.runs.resolve())
    if options.data:
        os.environ[settings.DATA] = os.pathsep.join(
            str(folder.resolve()) for folder in options.data
        )
    try:
        token = access.token(options.address, needed=not options.no_token)
        guests = access.guest_token(options.guests, token)
        listening = connections.listening(options.address, options.port)
    except ValueError as error:
        sys.exit(f"app: {error}")
    _keep_few_sessions()
    threading.Thread(target=_reconcile, args=[options.runs], daemon=True).start()
    files.guest = access.is_guest
    link = access.link(options.address, options.port, token)
    ready = f"Rankscope: {link} (runs in {options.runs}; stop with Ctrl-C)"
    if guests:
        ready += f"\nFor guests, who may look: {access.link(options.address, options.port, guests)}"
    dashboard = _dashboard(token, guests, ready)
    _configure(options.address, options.port)
    _serve(dashboard, listening)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="app", description="Serve the Rankscope dashboard.")
    parser.add_argument(
        "--runs", type=Path, default=lab.runs.default_root(), help="the folder of runs"
    )
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        help="folder whose images may be shown, can be given several times (default home, and the folder here)",
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="where to listen (default this machine)"
    )
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument(
        "--no-token", action="store_true", help="let every account of this machine in"
    )
    parser.add_argument("--guests", action="store_true", help="print an address for guests, too")
    return parser


def _keep_few_sessions() -> None:
    """Make Streamlit keep fewer sessions of disconnected browsers.

    Streamlit has no option for this, so this replaces a class. If a newer version does not have the class, the
    dashboard starts with a warning.
    """
    try:
        from streamlit.runtime import memory_session_storage

        storage = partial(memory_session_storage.MemorySessionStorage, CLOSED)
    except (ImportError, AttributeError):
        logging.getLogger("rankscope.app").warning(LACKING)
        return
    memory_session_storage.MemorySessionStorage = storage  # type: ignore[misc, assignment]


LACKING = "This Streamlit has no MemorySessionStorage, so it keeps more sessions of closed tabs in memory."


def _configure(address: str, port: int) -> None:
    """Read Streamlit's configuration before the first page is drawn.

    It is beside main.py, so Streamlit finds it only after `st.App` was created.
    """
    from streamlit.web import bootstrap

    options: dict[str, Any] = {"server.address": address, "server.port": port}
    # all names of this machine are not known, and visitors always need a token here
    if address not in access.LOCAL:
        options["server.allowedHosts"] = ["*"]
    sys.argv = [str(MAIN)]  # as with `streamlit run`
    bootstrap.load_config_options(options)


def _reconcile(runs: Path) -> None:
    """Mark runs that ended with the machine, and restart this account's queue if its process has ended."""
    with contextlib.suppress(OSError):  # a folder that cannot be written can still be viewed
        reconcile(runs)
        queue = Queue(runs)
        if queue.abandoned and queue.is_own:
            queue.ensure_worker()


def _load() -> None:
    """Import the modules of the first page. Pandas comes first, because plotly would use it half imported."""
    for module in ("pandas", "app.results.palette", "app.views.home.scene", "plotly.graph_objects"):
        importlib.import_module(module)


def _dashboard(token: str, guests: str, ready: str) -> Any:
    """Return the app to serve. It prints `ready` once it accepts requests."""
    import streamlit as st
    from starlette.middleware import Middleware

    @contextlib.asynccontextmanager
    async def announce(_: object) -> AsyncIterator[None]:
        print(ready, flush=True)
        threading.Thread(target=_load, daemon=True).start()
        yield

    return st.App(
        MAIN,
        lifespan=announce,
        routes=(*served.ROUTES, *run_events.ROUTES),
        middleware=[
            Middleware(access.AccessControl, token=token, guests=guests),
            Middleware(UploadLimit),
            Middleware(PageStyle),
        ],
    )


def _serve(dashboard: Any, listening: socket.socket) -> None:
    """Serve until stopped."""
    from streamlit import config

    with contextlib.suppress(KeyboardInterrupt):
        connections.serve(
            dashboard,
            listening,
            ws_ping_interval=PING,
            ws_ping_timeout=PING,
            ws_max_size=config.get_option("server.maxMessageSize") * 1_000_000,
            ws_per_message_deflate=config.get_option("server.enableWebsocketCompression"),
        )
    raise SystemExit(130)  # the exit status of every command after Ctrl-C


if __name__ == "__main__":
    main()
