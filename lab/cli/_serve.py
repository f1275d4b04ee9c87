"""Hand this process over to the dashboard. The library never imports it: it is started as its own program."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from lab.install import children


def dashboard(
    runs: str,
    port: int,
    address: str = "127.0.0.1",
    data: Sequence[str] = (),
    token: bool = True,
    ray: str = "",
    guests: bool = False,
) -> NoReturn:
    """Replace this process by the dashboard; does not return.

    Args:
        data: folders below which images may lie, by default home and the folder here.
        token: whether pages ask for one.
        ray: address of a cluster that runs may be sent to.
        guests: whether there is an address for those who may only look, too.

    Raises:
        ValueError: the extra `app` is not installed, or the port cannot be one.
    """
    if importlib.util.find_spec("streamlit") is None:
        raise ValueError("The dashboard needs Streamlit: pip install 'rankscope[app]'.")
    if not 0 < port < 65536:
        raise ValueError(f"--port must be between 1 and 65535, got {port}.")
    words = children.application("app", "--runs", runs, "--port", str(port), "--address", address)
    words += [word for folder in data for word in ("--data", folder)] + ([] if token else ["--no-token"])
    words += ["--guests"] if guests else []
    sys.stdout.flush()
    os.execve(words[0], words, children.environment({"RAY_ADDRESS": ray} if ray else None))
