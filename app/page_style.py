"""The page's style, in its head from the first moment on.

Streamlit's page is empty until its script and the first messages have come. A style that came with them, as every other
element of a page does, would move what is drawn already; so it goes into the file that the browser gets first.
"""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STYLE = f"<style>\n{Path(__file__).with_name('page_style.css').read_text('utf-8')}</style>\n".encode()
_END = b"</head>"
_OF_THE_FILE = (b"accept-encoding", b"if-none-match", b"if-modified-since")
"""What a browser asks of the file alone: to pack it, or to leave it out where it is there already, unstyled."""


class PageStyle:
    """ASGI middleware that adds `page_style.css` to the head of every page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or b"text/html" not in _header(scope, b"accept"):
            return await self._app(scope, receive, send)
        plain = [(name, value) for name, value in scope["headers"] if name not in _OF_THE_FILE]
        await self._app({**scope, "headers": plain}, receive, _Page(send))


def _header(scope: Scope, name: bytes) -> bytes:
    return dict(scope["headers"]).get(name, b"")


class _Page:
    """Hands on what an application sends; a page only once it is whole, with the style in it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._hand_on(self._start)

    async def _hand_on(self, start: Message) -> None:
        body = self._body.replace(_END, _STYLE + _END, 1)
        headers = MutableHeaders(scope=start)
        headers["content-length"] = str(len(body))
        for of_the_file in ("etag", "last-modified"):  # they do not change when the style does
            if of_the_file in headers:
                del headers[of_the_file]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    is_html = headers.get("content-type", "").startswith("text/html")
    return start["status"] == 200 and is_html and "content-encoding" not in headers
