"""A real server and strangers: foreign names, foreign pages, no token. Nobody walks in, and nobody fills the memory."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from app import access, uploads
from tests.dashboards import Server
from tests.visitors import Visitor

TOKEN = "a token/for+tests"
PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory, trained):
    """One that asks for the token and one that does not; both stay on this machine, and have finished runs to show."""
    flags = {"token": (), "no token": ("--no-token",)}
    folders = {name: tmp_path_factory.mktemp("access") for name in flags}
    for folder in folders.values():
        shutil.copytree(trained, folder / "runs")
    started = {
        name: Server(folders[name] / "runs", folders[name], TOKEN, *words)
        for name, words in flags.items()
    }
    yield {name: server.wait() for name, server in started.items()}
    for server in started.values():
        server.stop(by=signal.SIGINT)
        assert server.process.returncode == 130, "as every command after Ctrl-C"


@pytest.fixture
def closed(servers):
    return servers["token"]


@pytest.fixture
def open_(servers):
    return servers["no token"]


@pytest.mark.parametrize("name", ["evil.example", "localhost.evil.example", "", "[::1"])
def test_a_foreign_name_is_refused_even_where_no_token_is_asked_for(open_, name):
    host = f"{name}:{open_.port}" if name else ""
    for path in ("/", "/runs", "/_stcore/health", "/_stcore/host-config"):
        assert open_.ask(path, Host=host).status in (400, 403), path
    assert open_.handshake(Host=host, Origin=f"http://{host}") in (400, 403)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_work(open_, name):
    host = f"{name}:{open_.port}"
    assert open_.ask("/runs", Host=host).status == 200
    assert open_.handshake(Host=host, Origin=f"http://{host}") == 101


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:1"]
)
def test_a_foreign_page_gets_no_websocket_and_no_upload(open_, origin):
    assert open_.handshake(Origin=origin) == 403
    assert open_.ask("/_stcore/upload_file/a/b", "PUT", b"x", Origin=origin).status == 403
    assert open_.handshake() == 101, "scripts send no origin"


def test_without_the_token_there_is_nothing(closed):
    page = closed.ask("/watch?run=a", **PAGE)
    assert page.status == 401 and b"printed when the dashboard was started" in page.words
    for path in (
        "/",
        "/_stcore/host-config",
        "/static/js/index.js",
        "/media/x.png",
        "/_stcore/metrics",
    ):
        assert closed.ask(path).status == 401, path
    assert closed.ask("/_stcore/upload_file/a/b", "PUT", bytes(1000)).status == 401
    assert closed.handshake(Origin=f"http://{closed.name}") == 403
    assert closed.handshake(Cookie=f"rankscope-{closed.port}=guess") == 403
    assert closed.ask("/?token=guess", **PAGE).getheader("Set-Cookie") is None


def test_the_token_opens_the_page_that_was_asked_for_and_leaves_the_address(closed):
    answer = closed.ask("/watch?run=a%20b&token=a%20token%2Ffor%2Btests&knobs=1%2C2", **PAGE)
    assert answer.status == 303 and answer.getheader("Location") == "/watch?run=a%20b&knobs=1%2C2"
    set_ = answer.getheader("Set-Cookie")
    assert "HttpOnly" in set_ and "SameSite=lax" in set_ and "token" not in set_
    cookie = set_.partition(";")[0]
    assert closed.ask("/watch?run=a%20b", Cookie=cookie, **PAGE).status == 200
    assert closed.handshake(Cookie=cookie, Origin=f"http://{closed.name}") == 101
    old = closed.ask("/runs?token=from-before", Cookie=cookie)
    assert old.status == 303 and old.getheader("Location") == "/runs", (
        "an old link is good for who is in already"
    )
    assert (
        closed.ask("//elsewhere.example/?token=a%20token%2Ffor%2Btests").getheader("Location")[1:2]
        != "/"
    )


def test_the_form_lets_in_who_types_the_token(closed):
    typed = closed.ask("/runs?runs=a", "POST", b"token=a+token%2Ffor%2Btests", **PAGE)
    assert (
        typed.status == 303
        and typed.getheader("Location") == "/runs?runs=a"
        and typed.getheader("Set-Cookie")
    )
    assert b"not the token" in closed.ask("/runs", "POST", b"token=guess", **PAGE).words
    assert closed.ask("/runs", "POST", b"token=" + bytes(100_000), **PAGE).status == 401


def test_no_page_can_be_framed_by_another_site(closed):
    for answer in (
        closed.ask("/", **PAGE),
        closed.ask("/", Cookie=closed.cookie()),
        closed.ask("/", Host="evil"),
    ):
        assert answer.getheader("X-Frame-Options") == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in answer.getheader("Content-Security-Policy")


def test_the_token_is_printed_once_and_is_nowhere_else(closed):
    closed.ask("/?token=a%20token%2Ffor%2Btests")
    log = closed.log()
    assert (
        log.count("token=a%20token%2Ffor%2Btests") == 1
        and TOKEN not in log
        and "http://127.0.0.1" in log
    )


def test_a_session_cannot_fill_the_memory_with_uploads(closed):
    cookie = closed.cookie()
    with Visitor(closed, cookie) as visitor:
        visitor.open("runs")
        for at in range(uploads.KEPT + 5):
            assert visitor.put(f"{at}.png", bytes(2**20))[1] == 204
        found = closed.ask("/_stcore/metrics", Cookie=cookie).words.decode()
        kept = re.search(r"cache_memory_bytes\{[^}]*UploadedFileManager[^}]*\} (\d+)", found)
        assert kept, found
        assert 0 < int(kept[1]) <= uploads.KEPT * 2**20


def test_an_address_that_others_reach_always_asks(monkeypatch):
    address = "0.0.0.0"
    monkeypatch.delenv(access.TOKEN, raising=False)
    assert len(access.token(address)) >= access.SHORTEST
    with pytest.raises(ValueError, match="drop --no-token"):
        access.token(address, needed=False)


def test_this_machine_asks_too_unless_it_is_told_not_to(monkeypatch):
    address = access.LOCAL[0]
    monkeypatch.delenv(access.TOKEN, raising=False)
    assert len(access.token(address)) >= access.SHORTEST and access.token(address) != access.token(
        address
    )
    assert access.token(address, needed=False) == ""
    monkeypatch.setenv(access.TOKEN, TOKEN)
    assert access.token(address) == TOKEN
    assert access.TOKEN not in os.environ, "the runs that are started here would inherit it"
    monkeypatch.setenv(access.TOKEN, "short")
    with pytest.raises(ValueError, match="16 characters"):
        access.token(address)


def test_a_foreign_page_does_not_reach_streamlit_which_would_ask_outside_for_our_address(
    monkeypatch,
):
    monkeypatch.setattr(access, "_is_active", True)  # which making it sets
    sent = []

    async def streamlit(*_):
        raise AssertionError("a foreign page reached it")

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost:1"), (b"origin", b"http://evil.example")]
    scope = {
        "type": "websocket",
        "path": "/_stcore/stream",
        "query_string": b"",
        "headers": headers,
    }
    # a browser test before this one may have left a loop running in this thread
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, access.AccessControl(streamlit, "")(scope, None, send)).result()
    assert [message["type"] for message in sent] == ["websocket.close"]
