"""Limit uploads: small ones stay in Streamlit's memory, a large one of the owner is written to disk.

Streamlit keeps every upload in memory and accepts at most `server.maxUploadSize`. Query pictures are that small; a ZIP
of photographs is not. A larger file is therefore written, as it arrives, to an unnamed file beside the runs. Streamlit
receives an empty file in its place, which it checks and lists like any other. The disk space is free again when
Streamlit drops that file or when this process ends.
"""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast
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
"""Most small uploads of a session. With `server.maxUploadSize` this limits its memory."""

LARGEST = 2_000
"""Megabytes (2**20 bytes) of the largest ZIP. Only the owner may upload one."""

FORM = 2**16
"""Most bytes of a form around its file."""

HEAD = 2**14
"""Most bytes of a form before its file: the file's name and type."""

_PATH = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")


class _Received:
    """A large upload.

    file: its content on disk. refusal: why it cannot be used, or "".
    """

    def __init__(self, file: BinaryIO | None, refusal: str):
        self.file = file
        self.refusal = refusal


class _Empty(bytes):
    """The empty file that Streamlit keeps in place of a large upload. The upload is deleted together with it."""

    received: _Received


_large: WeakValueDictionary[str, _Received] = WeakValueDictionary()


@contextmanager
def opened(upload: UploadedFile) -> Iterator[BinaryIO]:
    """Yield the content of an upload. A large one can be read once, because its disk space is freed afterwards.

    Raises:
        ValueError: the upload could not be received, or an earlier use of it has failed.
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
    """The uploads of a session: ids of the small ones, and the id of the large one."""

    files: list[str] = field(default_factory=list)
    large: str = ""
    receiving: asyncio.Lock = field(default_factory=asyncio.Lock)


class UploadLimit:
    """ASGI middleware. A session sends one file at a time. The newest small files and the newest large one are kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sessions: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = None
        if scope["type"] == "http" and scope["method"] == "PUT":
            path = _PATH.fullmatch(scope["path"])

        # Only uploads with an active session are limited here.
        if path is None:
            return await self._app(scope, receive, send)
        session_id, file_id = path.groups()
        server = runtime.get_instance()
        if not server.is_active_session(session_id):  # Streamlit refuses the upload
            return await self._app(scope, receive, send)

        self._sessions = {
            name: kept for name, kept in self._sessions.items() if server.is_active_session(name)
        }
        session = self._sessions.setdefault(session_id, _Session())
        length = _length(scope)
        small = config.get_option("server.maxUploadSize") * 2**20
        largest = LARGEST * 2**20 + FORM if access.is_owner(HTTPConnection(scope)) else small
        if length > largest:
            return await PlainTextResponse("This file is too large.", 413)(scope, receive, send)

        files: Any = server.uploaded_file_mgr
        async with session.receiving:
            # Streamlit keeps a small file; the oldest small files of the session are removed.
            if length <= small:
                await self._app(scope, receive, send)
                if file_id in session.files:
                    session.files.remove(file_id)
                session.files.append(file_id)
                for old in session.files[:-KEPT]:
                    files.remove_file(session_id=session_id, file_id=old)
                session.files = session.files[-KEPT:]
                return

            # A large file replaces the previous one.
            if session.large:
                files.remove_file(session_id=session_id, file_id=session.large)
            session.large = file_id
            head, received = await _receive(receive, length)
            if received is None:  # the browser has disconnected
                return
            await self._app(*_without_content(scope, head), send)
            _attach(received, files, session_id, file_id)


def _attach(received: _Received, files: Any, session_id: str, file_id: str) -> None:
    """Connect a large upload with the empty file that Streamlit has accepted in its place."""
    records = files.get_files(session_id, [file_id])
    if not records and received.file is not None:  # Streamlit has refused it
        received.file.close()
    for record in records:
        empty = _Empty()
        empty.received = received
        _large[file_id] = received
        files.add_file(session_id, record._replace(data=empty))


def _length(scope: Scope) -> int:
    """Return the content length of a request, or 0 if it is unknown; Streamlit limits such uploads."""
    words = HTTPConnection(scope).headers.get("content-length", "")
    if words.isascii() and words.isdecimal() and len(words) < 20:
        return int(words)
    return 0


async def _receive(receive: Receive, length: int) -> tuple[bytes, _Received | None]:
    """Write the only file of a form to disk as it arrives.

    If the file cannot be written, it is received nevertheless, so that the browser can show the reason.

    Returns:
        the beginning of the form, and the file, or None if the connection broke.
    """
    head = b""
    content = b""
    file = None
    refusal = ""
    try:
        file = await run_in_threadpool(_make_room, length)
    except OSError as error:
        refusal = f"The file could not be received: {explain(error)}"

    # Read the request. Its first part is the head of the form, the rest is the file.
    while True:
        message = await receive()
        if message["type"] != "http.request":
            if file is not None:
                file.close()
            return head, None
        content += message.get("body", b"")
        if not head:
            before, separator, after = content.partition(b"\r\n\r\n")
            if separator:
                head = before + separator
                content = after
            elif len(content) > HEAD:
                refusal = refusal or "This is not a form with a file."
        if head and file and not refusal:
            refusal = await run_in_threadpool(_write, file, content)
        if head or refusal:
            content = b""
        if not message.get("more_body", False):
            break

    # Remove the end of the form, and close a file that cannot be used.
    if file is not None and not refusal:
        refusal = await run_in_threadpool(_cut, file, head)
    if file is not None and refusal:
        file.close()
    return head, _Received(file, refusal)


def _make_room(length: int) -> BinaryIO:
    """Open an unnamed file beside the runs.

    Raises:
        OSError: the disk has too little space, or cannot be written.
    """
    root = settings.runs_root()
    root.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(root).free < length:
        raise OSError(f"the disk of {root} does not have {size(length)} of free space.")
    return cast(BinaryIO, tempfile.TemporaryFile(dir=root))


def _write(file: BinaryIO, content: bytes) -> str:
    """Write a part of the file. Return why it cannot be written, or ""."""
    try:
        file.write(content)
    except OSError as error:
        return f"The file could not be received: {explain(error)}"
    return ""


def _cut(file: BinaryIO, head: bytes) -> str:
    """Remove the end of the form from the file. Return why the file is unusable, or ""."""
    boundary = b"\r\n" + head.partition(b"\r\n")[0] + b"--"
    length = file.seek(0, 2)
    start = max(0, length - len(boundary) - 4)
    file.seek(start)
    end = file.read().rfind(boundary)
    if not head or end < 0:
        return "The file was not received completely; choose it again."
    file.truncate(start + end)
    return ""


def _without_content(scope: Scope, head: bytes) -> tuple[Scope, Receive]:
    """Return the same request with an empty file."""
    body = head + b"\r\n" + head.partition(b"\r\n")[0] + b"--\r\n"
    scope = {**scope, "headers": list(scope["headers"])}
    MutableHeaders(scope=scope)["content-length"] = str(len(body))

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return scope, receive
