"""Serve an ASGI application so that visitors who never finish a request cannot silence it.

`lab serve` and the dashboard both call `serve`. It bounds how many connections are open, how long one of them may wait
for its client, and how often the log repeats a sentence. Imports uvicorn, which the extras `serve` and `app` bring.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import psutil
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

DESCRIPTORS = 8_192
"""File descriptors that a server asks the system for; macOS gives no more than 10,240."""
MOST = 1_000
"""Connections that are open at a time, where there are descriptors for them."""
SECONDS = 10.0
"""Time from the start of a connection, or from the end of an answer, until the headers of a request are complete."""
ACCEPTED = 16
"""Connections that are accepted before the first of them is counted, so that they cannot use up all descriptors."""
PENDING = 512
"""Connections that the system keeps until the server accepts them."""
QUIET = 60.0
"""Seconds in which the log says a thing once."""


def listening(address: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine.

    Raises:
        ValueError: the port or the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = address == "::" and socket.has_dualstack_ipv6()
    try:
        if address and not _is_number(address):
            socket.getaddrinfo(address, None)  # create_server does not say that a name is unknown
        return socket.create_server((address, port), family=family, dualstack_ipv6=both)
    except OverflowError:
        raise ValueError(f"--port must be between 1 and 65535, got {port}.") from None
    except socket.gaierror:
        raise ValueError(
            f"There is no address {address} on this machine; choose another --address."
        ) from None
    except OSError as error:
        why = os.strerror(error.errno or 0)  # Python's own words repeat the address
        raise ValueError(
            f"Nothing can listen on {address}, port {port}: {why}; choose another --port."
        ) from None


def _is_number(address: str) -> bool:
    """Return whether an address is an IP address, so that no name has to be looked up."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def serve(application: Any, at: socket.socket, **options: Any) -> None:
    """Serve an ASGI application until the process is stopped.

    Args:
        at: a socket that listens, see `listening`.
        options: further ones of `uvicorn.Config`.
    """
    config = uvicorn.Config(
        application, http=BoundedConnection, backlog=ACCEPTED,
        log_level="warning", access_log=False, server_header=False, **options,
    )  # fmt: skip
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(OnceAMinute())
    BoundedConnection.most = _room()
    _Server(config).run(sockets=[at])


def _room() -> int:
    """Raise the limit of descriptors as far as the system lets it, and return how many connections may be open.

    Half of the descriptors stay for files, for child processes, and for connections that are just being accepted.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    with contextlib.suppress(ValueError, OSError):  # a system may allow less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    free = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - psutil.Process().num_fds()
    return max(ACCEPTED, min(MOST, free // 2))


class _Server(uvicorn.Server):
    """uvicorn's server, with a longer queue of pending connections than it accepts at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(PENDING)


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client keeps the server waiting, and when it takes another one's place.

    uvicorn has a time for the pause between two requests only: a client that sends half a header stays for ever.
    """

    most = MOST

    waiting_since = 0.0
    _timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is being answered: the headers of the next one are not complete."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def incomplete(self) -> bool:
        """Whether the client has not sent all of its request."""
        return self.idle or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        there = [one for one in self.connections if not one.transport.is_closing()]
        if len(there) > self.most:
            self.logger.warning(
                "More than %d connections are open; each new one closes the one that has kept this server waiting "
                "longest.", self.most,
            )  # fmt: skip
            surplus(there, self).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock when the connection begins to wait for its client, and stop it when a request is there."""
        if self not in self.connections or not self.idle:  # closed, or a websocket by now
            self._stop_timer()
        elif self._timer is None:
            self.waiting_since = self.loop.time()
            self._timer = self.loop.call_later(SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def surplus(connections: Iterable[Any], newest: BoundedConnection) -> BoundedConnection:
    """Return the connection that has to go when there are too many.

    It is the idle one that has waited longest, of the address that has most idle ones. Where none is idle, it is the
    oldest one whose request has not arrived completely, and else the newest one. Requests that have arrived, and
    websockets, which have shown their token, stay.
    """
    others = [
        one for one in connections if isinstance(one, BoundedConnection) and one is not newest
    ]
    idle = [one for one in others if one.idle]
    if idle:
        addresses = Counter(_address(one) for one in idle)
        crowded = max(addresses, key=lambda address: addresses[address])
        idle = [one for one in idle if _address(one) == crowded]
    slow = idle or [one for one in others if one.incomplete]
    return min(slow, key=lambda one: one.waiting_since, default=newest)


def _address(connection: BoundedConnection) -> str:
    return connection.client[0] if connection.client else ""


class OnceAMinute(logging.Filter):
    """Let a sentence into the log once a minute, with the number of those that were left out before it."""

    KEPT = 200
    """Different sentences that are remembered. Others are left out of the log until some of these are old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[Any, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        key, now = _what(record), self._clock()
        said, left_out = self._said.get(key, (now - QUIET, 0))
        if now - said < QUIET:
            self._said[key] = said, left_out + 1
            return False
        if key not in self._said and len(self._said) >= self.KEPT:
            self._said = {one: when for one, when in self._said.items() if now - when[0] < QUIET}
            if len(self._said) >= self.KEPT:
                return False
        self._said[key] = now, 0
        if left_out:
            record.msg = f"{record.msg} (and {left_out} more like this since then)"
        return True


def _what(record: logging.LogRecord) -> tuple[Any, ...]:
    """What a record says: its sentence without numbers and names that are filled in, and the place of its error."""
    sentence = str(record.msg).partition("\n")[0]
    where, kind = None, None
    if record.exc_info and record.exc_info[0]:
        kind, trace = record.exc_info[0], record.exc_info[2]
        while trace is not None:
            where, trace = (trace.tb_frame.f_code.co_filename, trace.tb_lineno), trace.tb_next
    return record.name, record.levelno, sentence, kind, where
