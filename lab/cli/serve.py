"""Answer searches over HTTP with the nearest pictures.

A picture is sent as POST to /search; docs/serving.md tells how, and how to put this behind a real server.

`lab serve RUN` searches the run's test images, `--gallery FOLDER` all images below a folder, and so on, as `lab query`
does. RUN may also be a published model, its folder or hf://OWNER/NAME. It listens on this machine only, unless told
otherwise, and asks for the token that it prints; $LAB_TOKEN chooses one.

    curl --data-binary @photo.jpg -H "Authorization: Bearer TOKEN" "http://127.0.0.1:8600/search?k=5"
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Sequence
from typing import NoReturn

from lab.cli import query
from lab.cli._output import add_flags
from lab.core.explain import need

HEADING = "Search and exchange"
PLACE = 22
LOCAL = ("127.0.0.1", "localhost", "::1")


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs", "encoder", "allow")
    query.add_gallery(parser, words)
    flag("--port", type=int, default=8600, help="port to listen on (default 8600)")
    flag("--address", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    add_flags(parser, "token")
    flag("--megabytes", type=float, default=20, help="most that a request may have (default 20)")
    flag(
        "--pixels",
        type=int,
        default=50_000_000,
        help="most that a picture may have (default 50,000,000)",
    )
    flag("--at-once", type=int, default=16, help="requests read or answered at a time (default 16)")


def run(arguments: argparse.Namespace) -> NoReturn:
    need("Serving", "serve", "starlette", "uvicorn")
    token = _token(arguments.address, not arguments.no_token)
    model = query.model_of(arguments)
    from lab.core import connections
    from lab.serving import Limits, application

    limits = Limits(arguments.megabytes, arguments.pixels, at_once=arguments.at_once)
    listening = connections.listening(arguments.address, arguments.port)
    served = application(model, token, limits)
    host = f"[{arguments.address}]" if ":" in arguments.address else arguments.address
    asks = f"token {token}" if token else "no token"
    print(
        f"Searching {model.searched.title}: POST to http://{host}:{arguments.port}/search ({asks}; stop with Ctrl-C)",
        flush=True,
    )
    connections.serve(served, listening)
    raise KeyboardInterrupt  # nothing else ends it, and asyncio may have taken that for its own


def _token(address: str, needed: bool) -> str:
    """Return the token that requests have to send; "" for none.

    Raises:
        ValueError: no token is wanted on an address that other machines reach, or the chosen token is too short.
    """
    chosen = os.environ.get("LAB_TOKEN", "")
    if not needed:
        if address not in LOCAL:
            raise ValueError(
                f"{address} is open to other machines, so requests must bring a token: drop --no-token."
            )
        return ""
    if chosen and len(chosen) < 16:
        raise ValueError(
            "LAB_TOKEN must have at least 16 characters; leave it out, and one is made up."
        )
    return chosen or secrets.token_urlsafe(24)
