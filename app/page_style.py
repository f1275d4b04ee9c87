"""Add a style and a script to the head of Streamlit's page.

Streamlit's page is empty until its script and the first messages arrive. A style that arrived with them would move
elements that are drawn already, so it is part of the file that the browser receives first. So is the script that opens
the last page before anything is drawn.
"""

import hashlib
from pathlib import Path

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.shared import settings

_STYLE = Path(__file__).with_name("page_style.css").read_text("utf-8")
_SCRIPT = Path(__file__).with_name("last_page.js").read_text("utf-8")

_FILE_HEADERS = (b"accept-encoding", b"if-none-match", b"if-modified-since")
"""Request headers for compression and caching of the file without the style."""

_CHANGED_HEADERS = ("content-length", "etag", "last-modified")
"""Response headers of the file that are wrong with the style."""


def head() -> bytes:
    """Return the addition to the head. The browser remembers the last page of each folder of runs by its hash."""
    folder = hashlib.blake2b(str(settings.runs_root()).encode(), digest_size=8).hexdigest()
    script = _SCRIPT.replace("FOLDER", folder)
    return f"<style>\n{_STYLE}</style>\n<script>\n{script}</script>\n".encode()


class PageStyle(BaseHTTPMiddleware):
    """ASGI middleware that adds `page_style.css` and `last_page.js` to the head of every page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope.get("headers", [])
        accepts_html = b"text/html" in dict(headers).get(b"accept", b"")
        if scope["type"] != "http" or scope["method"] != "GET" or not accepts_html:
            return await self.app(scope, receive, send)
        kept = [(name, value) for name, value in headers if name not in _FILE_HEADERS]
        await super().__call__({**scope, "headers": kept}, receive, send)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer = await call_next(request)
        if answer.status_code != 200 or not answer.headers.get("content-type", "").startswith(
            "text/html"
        ):
            return answer
        body = b"".join([part async for part in answer.body_iterator])  # type: ignore[attr-defined]
        headers = {
            name: value for name, value in answer.headers.items() if name not in _CHANGED_HEADERS
        }
        return Response(body.replace(b"</head>", head() + b"</head>", 1), headers=headers)
