"""Receive uploads within bounds: small ones stay in Streamlit's memory, a large one of the owner is written to disk.

Streamlit keeps every upload in memory and takes at most `server.maxUploadSize`. Pictures to search with are that small;
a ZIP of photographs is not. A larger file is therefore written here, as it arrives, to a file without a name beside the
runs. Streamlit gets an empty file in its place, checks and lists that as any other, and when it lets go of it the disk
space is free again, as it is when this process is killed.
"""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, runtime
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app import access
from app.shared import settings
from lab.core.explain import explain
from lab.core.formats import size

KEPT = 8
"""Small uploads of a session that stay; with `server.maxUploadSize` this bounds the memory that it takes."""
LARGEST = 2_000
"""Megabytes (2**20 bytes) of the largest ZIP, which only the owner can bring."""
FORM = 2**16
"""Bytes that a form may have around its file."""
HEAD = 2**14
"""Bytes of a form before its file: the file's name and type."""

_PLACE = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")


class _Received:
    """A large upload.

    file: its content on disk. refusal: why it cannot be used, or nothing.
    """

    def __init__(self, file: BinaryIO | None, refusal: str):
        self.file, self.refusal = file, refusal


class _Empty(bytes):
    """What Streamlit keeps in the place of a large upload, which lives as long."""

    received: _Received


_large: WeakValueDictionary[str, _Received] = WeakValueDictionary()


@contextmanager
def opened(upload: UploadedFile) -> Iterator[BinaryIO]:
    """Yield the content of an upload. That of a large one can be read once: its disk space is given back afterwards.

    Raises:
        ValueError: it could not be received, or what the block made of it the first time.
    """
    received = _large.get(upload.file_id)
    if received is None:
        yield upload
        return
    if received.refusal or received.file is None:
        raise ValueError(received.refusal)
    received.refusal = "This file has been read already; choose it again."
    with received.file as file:
        file.seek(0)
        try:
            yield file
        except (ValueError, OSError) as error:
            received.refusal = explain(error)
            raise


@dataclass
class _Session:
    files: list[str] = field(default_factory=list)
    large: str = ""
    receiving: asyncio.Lock = field(default_factory=asyncio.Lock)


class UploadLimit:
    """ASGI middleware. A session sends one file at a time; the newest few small ones stay, and the newest large one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sessions: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = _PLACE.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        server = runtime.get_instance() if place else None
        if place is None or server is None or not server.is_active_session(place[1]):
            return await self._app(scope, receive, send)  # Streamlit refuses what has no session
        self._sessions = {name: one for name, one in self._sessions.items() if server.is_active_session(name)}
        session, length = self._sessions.setdefault(place[1], _Session()), _length(scope)
        small = config.get_option("server.maxUploadSize") * 2**20
        if length > (LARGEST * 2**20 + FORM if access.is_owner(HTTPConnection(scope)) else small):
            return await PlainTextResponse("This file is too large.", 413)(scope, receive, send)
        async with session.receiving:
            files = server.uploaded_file_mgr
            if length <= small:
                await self._app(scope, receive, send)
                session.files = [*(one for one in session.files if one != place[2]), place[2]]
                for old in session.files[:-KEPT]:
                    files.remove_file(session_id=place[1], file_id=old)  # type: ignore[attr-defined]
                session.files = session.files[-KEPT:]
                return
            if session.large:
                files.remove_file(session_id=place[1], file_id=session.large)  # type: ignore[attr-defined]
            session.large = place[2]
            head, received = await _receive(receive, length)
            if received is None:  # the browser has gone
                return
            await self._app(*_without_content(scope, head), send)
            records = files.get_files(place[1], [place[2]])
            if not records and received.file is not None:  # Streamlit has refused it
                received.file.close()
            for record in records:
                empty = _Empty()
                empty.received = _large[place[2]] = received
                files.add_file(place[1], record._replace(data=empty))  # type: ignore[attr-defined]


def _length(scope: Scope) -> int:
    """Bytes that a request announces; 0 where it does not, which Streamlit bounds itself."""
    words = HTTPConnection(scope).headers.get("content-length", "")
    return int(words) if words.isascii() and words.isdecimal() and len(words) < 20 else 0


async def _receive(receive: Receive, length: int) -> tuple[bytes, _Received | None]:
    """Write the one file of a form to disk as it arrives; the form's beginning, and the file. None where it broke off.

    What cannot be written is received all the same, so that the browser hears of it, and refused with a sentence.
    """
    head, content, file, refusal = b"", b"", None, ""
    try:
        file = await run_in_threadpool(_make_room, length)
    except OSError as error:
        refusal = f"The file could not be received: {explain(error)}"
    while True:
        message = await receive()
        if message["type"] != "http.request":
            if file is not None:
                file.close()
            return head, None
        content += message.get("body", b"")
        if not head:
            before, between, after = content.partition(b"\r\n\r\n")
            head = before + between if between else b""
            content = after if between else content
            refusal = refusal or ("This is no form with a file." if len(head or content) > HEAD and not between else "")
        if head and file and not refusal:
            try:
                await run_in_threadpool(file.write, content)
            except OSError as error:
                refusal = f"The file could not be received: {explain(error)}"
        content = b"" if head or refusal else content
        if not message.get("more_body", False):
            break
    if file is not None and not refusal:
        refusal = await run_in_threadpool(_cut, file, head)
    if file is not None and refusal:
        file.close()
    return head, _Received(file, refusal)


def _make_room(length: int) -> BinaryIO:
    """Open a file without a name beside the runs.

    Raises:
        OSError: the disk has too little room, or cannot be written.
    """
    root = settings.runs_root()
    root.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(root).free < length:
        raise OSError(f"the disk of {root} has no room for {size(length)}.")
    return cast(BinaryIO, tempfile.TemporaryFile(dir=root))


def _cut(file: BinaryIO, head: bytes) -> str:
    """Cut the end of a form off the file that it brought; why it is none, or nothing."""
    boundary = b"\r\n" + head.partition(b"\r\n")[0] + b"--"
    whole = file.seek(0, 2)
    file.seek(max(0, whole - len(boundary) - 4))
    end = file.read().rfind(boundary)
    if not head or end < 0:
        return "The file was not received whole; choose it again."
    file.truncate(max(0, whole - len(boundary) - 4) + end)
    return ""


def _without_content(scope: Scope, head: bytes) -> tuple[Scope, Receive]:
    """The same request with an empty file."""
    body = head + b"\r\n" + head.partition(b"\r\n")[0] + b"--\r\n"
    scope = {**scope, "headers": list(scope["headers"])}
    MutableHeaders(scope=scope)["content-length"] = str(len(body))

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return scope, receive
