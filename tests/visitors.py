"""A tab of a served dashboard without a browser: it draws pages by the websocket, answers widgets and uploads files."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect

from tests.dashboards import Server

PATIENCE = 300
"""Seconds that a page of a busy machine is given."""


class Visitor:
    """One session. It begins when it is entered, and ends with the block.

    widgets: kind and description of each widget that is drawn, by its identity. words: what the last run of the page
    says. errors: the descriptions of exceptions that reached the page in it. received: every message of it, as bytes.
    """

    def __init__(self, server: Server, cookie: str, hear: Callable[[bytes], object] = len):
        """hear: called with every message and every answer that the server sends."""
        self.server, self.cookie, self.hear = server, cookie, hear
        self.session, self.page, self.query, self.place = "", "", "", ""
        self.widgets: dict[str, tuple[str, Any]] = {}
        self.answers: dict[str, WidgetState] = {}
        self.words: list[str] = []
        self.errors: list[Any] = []
        self.received: list[bytes] = []

    def __enter__(self) -> Self:
        headers = {"Cookie": self.cookie}
        address = f"ws://{self.server.name}/_stcore/stream"
        self._opened = ExitStack()
        line = connect(
            address, subprotocols=["streamlit"], additional_headers=headers, max_size=None
        )
        self._line = self._opened.enter_context(line)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def open(self, page: str, /, **address: str) -> Self:
        """Go to a page, as a link does."""
        self.page, self.query, self.place = page, urlencode(address), ""
        self.answers.clear()
        return self.run()

    def answer(self, *states: WidgetState) -> Self:
        """Answer some widgets and let the page be drawn again."""
        for state in states:
            self.answers[state.id] = state
        return self.run()

    def run(self) -> Self:
        """Draw the page with the answers so far; a press of a button counts once."""
        known = [
            state
            for name, state in self.answers.items()
            if name in self.widgets or name.startswith("$$")
        ]
        asked = {"query_string": self.query, "widget_states": {"widgets": known}}
        asked |= {"page_script_hash": self.place} if self.place else {"page_name": self.page}
        self.send(rerun_script=asked)
        for state in known:
            if "trigger" in (state.WhichOneof("value") or ""):
                del self.answers[state.id]
        self._read()
        return self

    def send(self, **message: Any) -> None:
        """Send any message of the protocol."""
        self.send_bytes(BackMsg(**message).SerializeToString())

    def send_bytes(self, data: bytes) -> None:
        """Send what may be no message at all."""
        self._line.send(data)

    def find(self, kind: str, label: str = "") -> Any:
        """The description of the first drawn widget of this kind and label; None where there is none."""
        found = (
            one
            for other, one in self.widgets.values()
            if other == kind and (not label or one.label == label)
        )
        return next(found, None)

    def upload(self, widget: str, name: str, content: bytes) -> int:
        """Give a file to an uploader, as the browser does; returns the status of the answer."""
        file, status = self.put(name, content)
        if status == 204:
            state = WidgetState(id=widget)
            state.file_uploader_state_value.uploaded_file_info.add(
                file_id=file, name=name, size=len(content)
            )
            self.answer(state)
        return status

    def put(self, name: str, content: bytes) -> tuple[str, int]:
        """Send a file to this session; returns its identity and the status of the answer."""
        file = str(uuid.uuid4())
        plain = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{plain}"\r\n\r\n'.encode()
        kind = "multipart/form-data; boundary=x"
        place = f"/_stcore/upload_file/{self.session}/{file}"
        return file, self.ask(
            place, "PUT", head + content + b"\r\n--x--\r\n", Content_Type=kind
        ).status

    def ask(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Any:
        """Send a request with this visitor's cookie, and with the key that a page of the dashboard has."""
        found = self.server.ask("/_stcore/health", Cookie=self.cookie).getheader("Set-Cookie")
        key = re.search(r"_streamlit_xsrf=([^;]+)", found or "")[1]
        cookies = f"{self.cookie}; _streamlit_xsrf={key}"
        done = self.server.ask(path, method, body, Cookie=cookies, X_Xsrftoken=key, **headers)
        self.hear(str(done.headers).encode() + done.words)
        return done

    def _read(self) -> None:
        """Read all that the server sends until the page is drawn."""
        begun = False
        while True:
            data = self._line.recv(timeout=PATIENCE)
            self.hear(data)
            self.received.append(data)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                begun, self.session = True, message.new_session.initialize.session_id
                self.received, self.words, self.errors = [data], [], []
                self.widgets.clear()
            elif kind == "navigation":
                self.place = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self._note(message.delta.new_element)
            elif (
                kind == "script_finished"
                and begun
                and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
            ):
                return

    def _note(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        one = getattr(element, kind) if kind else None
        if kind == "exception":
            self.errors.append(one)
        for name in ("body", "label", "message"):
            if words := getattr(one, name, ""):
                self.words.append(str(words))
        if identity := getattr(one, "id", ""):
            self.widgets[identity] = kind, one


def told(component: str, event: str, value: Any) -> WidgetState:
    """What the browser sends when one of our components reports an event. component: its identity."""
    name = f"$$STREAMLIT_INTERNAL_KEY_{component}__events"
    return WidgetState(id=name, json_trigger_value=json.dumps([{"event": event, "value": value}]))
