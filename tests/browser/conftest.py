"""The real server and a real browser. Without Chromium these tests fail and say how to get it; they never skip."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--headless",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--no-first-run",
)
TOKEN = "what-these-tests-chose"
PATIENCE = 60_000
"""Milliseconds for a first page on a busy machine."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def chromium():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.fail("The browser tests need Chromium on the PATH (Debian: apt-get install chromium).", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


class Server:
    """The dashboard as its own process, started as a person would, in a folder that is not the repository."""

    def __init__(self, runs: Path, folder: Path):
        self.runs, self.folder, self.port = runs, folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lab", "app", "--runs", str(self.runs), "--port", str(self.port)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1", "LAB_TOKEN": TOKEN},
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise AssertionError(f"The dashboard did not start:\n{self.log()}")

    def log(self) -> str:
        return (self.folder / "server.log").read_text()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _with_token(url: str) -> str:
    """As the dashboard prints it; the browser keeps a cookie and the address loses the token."""
    return f"{url}{'&' if '?' in url else '?'}token={TOKEN}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def serve(tmp_path):
    """Start the dashboard on a folder of runs; it is stopped at the end of the test."""
    started = []

    def start(runs: Path) -> Server:
        started.append(Server(runs, tmp_path))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def tab(chromium):
    """Open a tab; errors in its console fail the test at its end."""
    contexts, errors = [], []

    def open_tab(url: str, **options) -> Page:
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url if "token=" in url or not url.startswith("http") else _with_token(url))
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert not errors, errors
