"""The page's style, and what leads back to the last page, in its head from the first moment on.

Streamlit's page is empty until its script and the first messages have come. A style that came with them, as every other
element of a page does, would move what is drawn already; so it goes into the file that the browser gets first, and so
does the script that leads to another page before anything is drawn.
"""

import hashlib
from pathlib import Path

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.shared import settings

_STYLE, _SCRIPT = (Path(__file__).with_name(name).read_text("utf-8") for name in ("page_style.css", "last_page.js"))
_OF_THE_FILE = (b"accept-encoding", b"if-none-match", b"if-modified-since")
"""What a browser asks of the file alone: to pack it, or to leave it out where it is there already, unstyled."""


def head() -> bytes:
    """What goes into the head; the browser remembers a page for each folder of runs, known by a hash."""
    folder = hashlib.blake2b(str(settings.runs_root()).encode(), digest_size=8).hexdigest()
    return f"<style>\n{_STYLE}</style>\n<script>\n{_SCRIPT.replace('FOLDER', folder)}</script>\n".encode()


class PageStyle(BaseHTTPMiddleware):
    """ASGI middleware that adds `page_style.css` and `last_page.js` to the head of every page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope.get("headers", [])
        if scope["type"] != "http" or scope["method"] != "GET" or b"text/html" not in dict(headers).get(b"accept", b""):
            return await self.app(scope, receive, send)
        plain = [(name, value) for name, value in headers if name not in _OF_THE_FILE]
        await super().__call__({**scope, "headers": plain}, receive, send)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer = await call_next(request)
        if answer.status_code != 200 or not answer.headers.get("content-type", "").startswith("text/html"):
            return answer
        body = b"".join([part async for part in answer.body_iterator])  # type: ignore[attr-defined]
        own = {name: value for name, value in answer.headers.items() if name not in _CHANGED}
        return Response(body.replace(b"</head>", head() + b"</head>", 1), headers=own)


_CHANGED = ("content-length", "etag", "last-modified")
"""Headers of the file that would not change with the style."""
