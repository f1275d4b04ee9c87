"""A server whose descriptors, connections and log strangers try to use up; real sockets, on this machine."""

import contextlib
import logging
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.core import connections
from lab.core.connections import BoundedConnection, OnceAMinute, surplus
from tests.dashboards import free_port

SERVER = """
import sys
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from lab.core import connections

async def health(request):
    return PlainTextResponse("ok")

async def body(request):
    return PlainTextResponse(str(len(await request.body())))

connections.SECONDS = float(sys.argv[2])
at = connections.listening("127.0.0.1", int(sys.argv[1]))
print("ready", flush=True)
connections.serve(Starlette(routes=[Route("/health", health), Route("/body", body, methods=["POST"])]), at)
"""


@contextlib.contextmanager
def served(folder, descriptors: int, seconds: float):
    """The port and the log file of a small server that may have so many descriptors."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    port, log = free_port(), folder / "server.log"
    with open(log, "wb") as written:
        words = [sys.executable, "-c", SERVER, str(port), str(seconds)]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=written, preexec_fn=limited)
    try:
        assert server.stdout.readline() == b"ready\n", log.read_text()
        yield port, log
    finally:
        server.kill()
        server.communicate()


@contextlib.contextmanager
def opened(port: int, count: int, words: bytes):
    """Connections that send these words and nothing more."""
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            with contextlib.suppress(OSError):  # it may be closed again already
                one.sendall(words)
            held.append(one)
        yield held


def healthy(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=20) as answer:
        return answer.read() == b"ok"


def still_open(held: list[socket.socket]) -> int:
    count = 0
    for one in held:
        one.setblocking(False)
        try:
            count += one.recv(1) != b""
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
    ],
    ids=["silent", "half a header", "half a body"],
)
def test_more_connections_than_descriptors_silence_nobody(tmp_path, words):
    with served(tmp_path, 256, 60) as (port, log), opened(port, 300, words):
        for _ in range(3):
            assert healthy(port)
        assert len(log.read_bytes()) < 10_000, "the log stays small"


def test_a_flood_of_broken_requests_is_logged_once(tmp_path):
    with served(tmp_path, 256, 60) as (port, log):
        for _ in range(3):
            with opened(port, 50, b"nonsense\r\n\r\n"):
                assert healthy(port)
        assert log.read_text().count("Invalid HTTP request received") == 1


def test_headers_have_to_come_in_time_and_a_request_that_came_may_take_longer(tmp_path):
    half = b"GET /health HTTP/1.1\r\nHost: x\r\n"
    sending = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
    with (
        served(tmp_path, 256, 0.5) as (port, _),
        opened(port, 5, half) as late,
        opened(port, 1, sending) as (slow,),
    ):
        for _ in range(4):  # what trickles in gives no further time
            time.sleep(0.4)
            for one in late:
                with contextlib.suppress(OSError):
                    one.sendall(b"X: y\r\n")
        assert still_open(late) == 0
        slow.sendall(b" body")
        answer = b""
        while not answer.endswith(b"9"):
            assert (part := slow.recv(1000)), answer
            answer += part


def connection(address: str, since: int, state: str) -> BoundedConnection:
    """A connection as `surplus` sees it. state: idle, sending, or answered."""
    one = object.__new__(BoundedConnection)
    one.client, one.waiting_since = (address, 1), since
    one.cycle = (
        None
        if state == "idle"
        else SimpleNamespace(response_complete=False, more_body=state == "sending")
    )
    return one


states = st.sampled_from(["idle", "sending", "answered"])


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), states), max_size=12))
def test_what_has_waited_longest_at_the_most_crowded_address_goes_first(drawn):
    newest = connection("z", 99, "idle")
    there = [connection(address, since, state) for since, (address, state) in enumerate(drawn)]
    gone = surplus([*there, newest, SimpleNamespace(websocket=True)], newest)
    idle, sending = (
        [one for one in there if one.idle == kind and one.incomplete] for kind in (True, False)
    )
    if idle:
        count = {address: sum(one.client[0] == address for one in idle) for address in "abc"}
        assert gone.idle and count[gone.client[0]] == max(count.values())
        mine = [one for one in idle if one.client == gone.client]
        assert gone is mine[0], "the oldest of its address"
    else:
        assert gone is (sending[0] if sending else newest)


def test_the_log_says_a_thing_once_a_minute_and_how_often_it_was_left_out():
    now = [0.0]
    once = OnceAMinute(lambda: now[0])

    def said(words: str, *filled: object) -> str | None:
        record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, words, filled, None)
        return record.getMessage() if once.filter(record) else None

    assert said("%d are open.", 3) == "3 are open."
    for seconds in range(59):
        now[0] = float(seconds)
        assert said("%d are open.", seconds) is None
    assert said("Another thing.\nwith details") == "Another thing.\nwith details"
    now[0] = 60.0
    assert said("%d are open.", 7) == "7 are open. (and 59 more like this since then)"
    for number in range(2 * OnceAMinute.KEPT):
        said(f"Sentence {number}.")
    assert len(once._said) <= OnceAMinute.KEPT
    now[0] = 200.0
    assert said("New.") == "New."


def test_a_port_that_is_taken_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ValueError,
            match=f"Nothing can listen on 127.0.0.1, port {port}: .*; choose another --port",
        ):
            connections.listening("127.0.0.1", port)
    with pytest.raises(ValueError, match="--port must be between 1 and 65535, got 99999"):
        connections.listening("127.0.0.1", 99999)
    with pytest.raises(ValueError, match="There is no address nowhere.invalid on this machine"):
        connections.listening("nowhere.invalid", 8600)
