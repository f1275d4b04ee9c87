"""What the browser fetches by itself: columns come back as they were, and nothing else of the disk does."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from starlette.applications import Starlette

from app import served


def ask(path: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request to the routes."""
    sent = []

    async def receive():
        await asyncio.Event().wait()  # the browser stays

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
    }
    scope |= {
        "headers": [],
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", 1),
        "http_version": "1.1",
    }
    answer = Starlette(routes=list(served.ROUTES))(scope, receive, send)
    # a browser test before this one may have left a loop running in this thread
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, answer).result()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


@pytest.mark.parametrize("kind", served.KINDS)
def test_a_column_comes_back_as_it_was_and_equal_ones_have_one_address(kind):
    column = np.arange(12).astype(served.KINDS[kind])
    address = served.offer(column)
    assert address == served.offer(column.copy()) != served.offer(column[:-1])
    status, headers, body = ask(address)
    assert status == 200 and "immutable" in headers["cache-control"]
    np.testing.assert_array_equal(np.frombuffer(body, column.dtype), column)
    np.testing.assert_array_equal(served.read(address), column)


def test_the_address_of_the_code_changes_with_each_of_its_files(tmp_path, monkeypatch):
    """Browsers keep it for ever."""
    for name in served._FILES:
        (tmp_path / name).write_bytes((served._CODE / name).read_bytes())
    monkeypatch.setattr(served, "_CODE", tmp_path)
    seen = [served.code()]
    for name in served._FILES:
        with open(tmp_path / name, "ab") as file:
            file.write(b"\n")
        seen.append(served.code())
    assert len(set(seen)) == len(seen)


def test_only_the_maps_code_and_the_pictures_of_runs_are_served(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    for name in served._FILES:
        status, headers, body = ask(served.code() + name)
        assert status == 200 and headers["content-type"].startswith("text/javascript") and body
    outside = served.pictures("../elsewhere", 0.0) + "1"
    for path in (served.code() + "__init__.py", served.code() + "..%2fscatter.css", outside,
                 f"{served.ROOT}/pictures/%ff/nan/1", f"{served.ROOT}/columns/x"):  # fmt: skip
        assert ask(path)[0] == 404, path
