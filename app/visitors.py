"""How many visitors the dashboard can hold: each open page takes some descriptors, and a shell may allow only 256."""

from __future__ import annotations

import errno
import functools
import logging
import resource
import time

import psutil
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.runtime import memory_session_storage

ENOUGH = 8_192
"""Descriptors that are asked for; macOS gives a process no more than 10,240."""
FREE = 64
"""Descriptors that stay free for who is in already: for pictures, files of runs, and connections."""
KEPT = 16
"""Sessions that are kept after their browser has gone, three descriptors each; Streamlit keeps 128."""
MINUTE = 60.0

_WORDS = "Too many visitors: the dashboard has no descriptors left for another. Try again in a minute."


def make_room() -> None:
    """Raise this process's limit of descriptors as far as the system lets it, keep few closed sessions, and have an
    error that comes again told once a minute."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    kept = functools.partial(memory_session_storage.MemorySessionStorage, KEPT)
    memory_session_storage.MemorySessionStorage = kept  # type: ignore[misc, assignment]  # Streamlit has no option for it
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(OnceAMinute())


def full() -> bool:
    """Whether nobody else can be let in."""
    return psutil.Process().num_fds() + FREE > resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Visitors:
    """ASGI middleware: while there is no room, who comes reads why, and the address for health says so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _enters(scope) or not full():
            return await self._app(scope, receive, send)
        headers = {"Connection": "close", "Retry-After": "60"}
        refusal = WebSocketClose(1013) if scope["type"] == "websocket" else PlainTextResponse(_WORDS, 503, headers)
        await refusal(scope, receive, send)


def _enters(scope: Scope) -> bool:
    """Whether this is a new visitor's first request, or asks after the server's health."""
    if scope["type"] != "http":
        return scope["type"] == "websocket"
    return scope["path"] == "/_stcore/health" or "text/html" in HTTPConnection(scope).headers.get("accept", "")


class OnceAMinute(logging.Filter):
    """Passes an error once a minute. Without descriptors asyncio reports two thousand times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        kind = (type(error), getattr(error, "errno", None), record.pathname, record.lineno)
        if time.monotonic() - self._told.get(kind, -MINUTE) < MINUTE:
            return False
        self._told[kind] = time.monotonic()
        if kind[1] in (errno.EMFILE, errno.ENFILE):
            record.msg, record.args, record.exc_info = _WORDS, (), None
        return True
