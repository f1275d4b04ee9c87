"""The dashboard as its own process, started as a person would, for tests that ask it over the network."""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self
from urllib.parse import quote

PATIENCE = 300
"""Seconds that a busy machine is given to start one, and to end one."""


def free_port() -> int:
    """Below those that the system gives to outgoing connections, one of which could take it before the server does."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Dashboard:
    """One server on a folder of runs, in a folder that is not the repository."""

    def __init__(
        self, runs: Path, folder: Path, token: str, *flags: str, before: tuple[str, ...] = ()
    ):
        self.runs, self.log_file, self.token, self.flags = runs, folder / "server.log", token, flags
        self.before, self.port = before, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> Self:
        words = ["lab", "app", "--runs", str(self.runs), "--port", str(self.port), *self.flags]
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*self.before, sys.executable, "-m", *words],
                cwd=self.log_file.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1", "LAB_TOKEN": self.token},
            )
        return self

    def wait(self) -> Self:
        """Until it answers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=30):
                    return self
            except OSError:
                time.sleep(0.2)
        raise AssertionError(f"The dashboard did not start:\n{self.log()}")

    def log(self) -> str:
        return self.log_file.read_text()

    def stop(self, by: int = signal.SIGTERM) -> None:
        self.process.send_signal(by)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Server(Dashboard):
    """`ask` sends one request and gives the answer, its body read."""

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, path, method="GET", body=None, **headers):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        line.putrequest(method, path, skip_host=True)
        body = body or b""
        for name, value in (
            {"Host": self.name, "Content-Length": str(len(body))} | headers
        ).items():
            line.putheader(name, value)
        line.endheaders(body)
        answer = line.getresponse()
        answer.words = b"" if answer.status == 101 else answer.read()
        line.close()
        return answer

    def handshake(self, **headers) -> int:
        """The answer to the start of a websocket: 101 where it is let in."""
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        return self.ask("/_stcore/stream", **upgrade, Sec_WebSocket_Key=key, **headers).status

    def cookie(self, token: str = "") -> str:
        """The cookie that a token is exchanged for, by default that of the owner."""
        answer = self.ask(f"/?token={quote(token or self.token, safe='')}")
        return answer.getheader("Set-Cookie").partition(";")[0]
