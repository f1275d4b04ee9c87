"""Start the dashboard, in place of this process or beside it. The library never imports it: it is its own program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from lab.core.explain import need
from lab.install import children


def dashboard(
    runs: str,
    port: int,
    address: str = "127.0.0.1",
    data: Sequence[str] = (),
    token: bool = True,
    guests: bool = False,
) -> NoReturn:
    """Replace this process by the dashboard; does not return.

    Args:
        data: folders below which images may lie, by default home and the folder here.
        token: whether pages ask for one.
        guests: whether there is an address for those who may only look, too.

    Raises:
        ValueError: the extra `app` is not installed, or the port cannot be one.
    """
    words = _words(runs, port, "--address", address, *(word for folder in data for word in ("--data", folder)))
    words += ([] if token else ["--no-token"]) + (["--guests"] if guests else [])
    sys.stdout.flush()
    os.execve(words[0], words, children.environment())


@contextmanager
def beside(runs: str, port: int, token: bool = True) -> Iterator[subprocess.Popen[str]]:
    """The dashboard as a child of this process, from the moment at which it has printed its address; it ends with the
    block. token: as in `dashboard`.

    Raises:
        ValueError: as `dashboard`; or it ended before it served, for the reason that it printed.
    """
    words = _words(runs, port, *([] if token else ["--no-token"]))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=children.environment()) as server:
        assert server.stdout
        try:
            if not (address := server.stdout.readline()):
                raise ValueError("The dashboard did not start; it says why above.")
            print(address, end="", flush=True)
            threading.Thread(target=shutil.copyfileobj, args=(server.stdout, sys.stdout), daemon=True).start()
            yield server
        finally:
            server.terminate()


def _words(runs: str, port: int, *flags: str) -> list[str]:
    """The command of a dashboard, once it is known that it can be started."""
    need("The dashboard", "app", "streamlit")
    if not 0 < port < 65536:
        raise ValueError(f"--port must be between 1 and 65535, got {port}.")
    return children.application("app", "--runs", runs, "--port", str(port), *flags)
