"""A session's uploads are bounded: one is received at a time, and only the newest few stay in memory."""

import asyncio
import re
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

KEPT = 8
"""Uploads of a session that stay; with `server.maxUploadSize` this bounds what it takes."""

_PLACE = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")


@dataclass
class _Session:
    files: list[str] = field(default_factory=list)
    receiving: asyncio.Lock = field(default_factory=asyncio.Lock)


class UploadLimit:
    """ASGI middleware. Streamlit bounds the size of one upload, but not how many a session sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sessions: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = _PLACE.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        server = runtime.get_instance() if place else None
        if place is None or server is None or not server.is_active_session(place[1]):
            return await self._app(scope, receive, send)  # Streamlit refuses what has no session
        self._sessions = {name: one for name, one in self._sessions.items() if server.is_active_session(name)}
        session = self._sessions.setdefault(place[1], _Session())
        async with session.receiving:
            await self._app(scope, receive, send)
            session.files = [*(one for one in session.files if one != place[2]), place[2]]
            for old in session.files[:-KEPT]:
                server.uploaded_file_mgr.remove_file(session_id=place[1], file_id=old)  # type: ignore[attr-defined]
            session.files = session.files[-KEPT:]
