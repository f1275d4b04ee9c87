"""The style stands in the page that the browser gets first, whatever the path, and in nothing else."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from app.page_style import PageStyle

PAGE = "<html><head><title>x</title></head><body>" + "far too long for one piece " * 40_000 + "</body></html>"


@pytest.fixture
def ask(tmp_path):
    """GET a path of an application that packs its answers, as Streamlit does: status, headers, body."""
    for folder in (tmp_path, tmp_path / "map"):
        folder.mkdir(exist_ok=True)
        (folder / "index.html").write_text(PAGE)
    routes = [
        Route("/text", lambda request: PlainTextResponse("</head>" * 1_000)),
        Mount("/", StaticFiles(directory=tmp_path, html=True)),
    ]

    def asked(path: str, accept: str = "text/html,*/*", method: str = "GET", middleware=(PageStyle,), **more: str):
        sent: list[dict] = []

        async def send(message) -> None:
            sent.append(message)

        async def receive() -> dict:
            await asyncio.Event().wait()  # the visitor stays, and has nothing more to say
            raise AssertionError

        headers = [(b"accept", accept.encode()), (b"accept-encoding", b"gzip")]
        headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
        app = Starlette(routes=routes, middleware=[*map(Middleware, middleware), Middleware(GZipMiddleware)])
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": headers,
            "query_string": b"", "http_version": "1.1", "scheme": "http", "server": ("here", 80), "root_path": "",
        }  # fmt: skip
        with ThreadPoolExecutor(1) as thread:  # browser tests of the same process leave a loop in this one
            thread.submit(asyncio.run, app(scope, receive, send)).result()
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], told, b"".join(one.get("body", b"") for one in sent[1:])

    return asked


def test_the_style_stands_in_the_head_of_every_page(ask):
    for path in ("/", "/map/"):
        status, headers, body = ask(path)
        assert status == 200 and headers["content-length"] == str(len(body)), path
        head, _, rest = body.decode().partition("</head>")
        assert "stMainBlockContainer" in head and head.endswith("</style>\n") and rest.endswith("</body></html>"), path
        assert "etag" not in headers and "last-modified" not in headers, "it would not change with the style"


def test_what_is_no_page_is_handed_on_as_it_is(ask):
    _, headers, body = ask("/text")
    assert b"stMainBlockContainer" not in body and len(body) == 7_000
    _, headers, body = ask("/map/", accept="*/*")
    assert headers["content-encoding"] == "gzip" and len(body) < 100_000, "only what is opened as a page goes unpacked"
    _, headers, body = ask("/map/", method="HEAD")
    _, without, _ = ask("/map/", method="HEAD", middleware=())
    assert not body and headers["content-length"] == without["content-length"], "those of the file, as ever"


def test_a_browser_that_has_the_file_already_gets_the_page_with_its_style(ask):
    _, of_the_file, _ = ask("/", middleware=())
    has_it = {"if_none_match": of_the_file["etag"], "if_modified_since": of_the_file["last-modified"]}
    assert ask("/", middleware=(), **has_it)[0] == 304
    for name in has_it:
        status, _, body = ask("/", **{name: has_it[name]})
        assert status == 200 and b"stMainBlockContainer" in body, name


def test_the_style_keeps_room_for_the_sidebar_as_wide_as_it_is():
    """281 pixels: Streamlit's 300 at the theme's font size, 15 of the usual 16 pixels, rounded."""
    here = Path(__file__).parents[2] / "app"
    assert "baseFontSize = 15\n" in (here / ".streamlit" / "config.toml").read_text()
    assert "padding-left: 281px" in (here / "page_style.css").read_text()
