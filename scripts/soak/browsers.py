"""Many browsers on one dashboard: each watches a run of its own, loads page after page, and must see nobody else's.

    python scripts/soak/browsers.py --sessions 20 --minutes 30 --loads 1000

A browser here is a session of the dashboard's websocket, which does what Streamlit's page does: it asks for a page,
reads all that comes, answers the clock of what draws itself again, and on Browse goes to another query every five
seconds (a click). Nothing is drawn. The server may open 256 files. The runs look as if they were at work: this process
holds their locks and adds records. A page load fails if the page does not come to its end, shows an error, or names
another session's run anywhere but in a list to choose from.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import psutil
from common import Bench, conclude
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from lab.runs import Run, Writer
from lab.runs.folder import RUNNING

NAME = re.compile(rb"session-\d\d\d")
CHOICES = ("selectbox", "multiselect", "radio", "button_group")
"""Elements that may name every run."""
PARTS = ("Curves", "Similarities", "Decomposability", "Log")
EVERY = 5.0
"""Seconds between two clicks, to another query, on a page of Browse."""
DESCRIPTORS = 256
"""What the server may open at once: the default of macOS's shells."""
GROWTH = 32
"""MB that the server may grow by over the second half of the loads."""


class Server:
    """The dashboard on a folder of runs, as a person starts it."""

    def __init__(self, runs: Path, patience: float):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.place = f"127.0.0.1:{probe.getsockname()[1]}"
        token, port = secrets.token_hex(16), self.place.partition(":")[2]
        words = [sys.executable, "-m", "lab", "app", "--runs", str(runs), "--data", str(runs.parent), "--port", port]
        with open(runs.parent / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "LAB_TOKEN": token},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)),
            )  # fmt: skip
        self.cookie = self._cookie(token, patience)

    def _cookie(self, token: str, patience: float) -> str:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        until = time.monotonic() + patience
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.build_opener(Stay).open(f"http://{self.place}/?token={token}", timeout=30)
            except urllib.error.HTTPError as answer:
                return answer.headers["Set-Cookie"].partition(";")[0]
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("The dashboard did not start; its words are in server.log.")

    @property
    def memory(self) -> float:
        """Resident MB."""
        main = psutil.Process(self.process.pid)
        return sum(p.memory_info().rss for p in (main, *main.children(recursive=True))) / 1e6


class Session:
    """One browser: `load` opens a page anew and stays on it for a while."""

    def __init__(self, number: int, server: Server, seed: int, patience: float):
        self.name, self.server, self.patience = f"session-{number:03d}", server, patience
        self.chance = random.Random(f"{seed} {number}")
        self.loads: list[float] = []
        self.clicks: list[float] = []
        self.wrong: list[str] = []

    def load(self, stay: float, steady: bool = False) -> None:
        page, asked = ("", self._query()) if steady else self._wish()
        headers = {"Cookie": self.server.cookie}
        address = f"ws://{self.server.place}/_stcore/stream"
        try:
            # No pings: how long an answer may take is what `patience` says.
            with connect(
                address, subprotocols=["streamlit"], additional_headers=headers, max_size=None, ping_interval=None
            ) as line:
                self.loads.append(self._run(line, page, asked))
                until = time.monotonic() + stay
                if not page:
                    self._click(line, stay)
                while time.monotonic() < until and self.clock is not None:
                    time.sleep(min(self.clock[1], max(0.0, until - time.monotonic())))
                    self._run(line, page, asked, fragment_id=self.clock[0], is_auto_rerun=True)
        except (OSError, TimeoutError, WebSocketException, AssertionError) as error:
            self.wrong.append(f"{self.name}, /{page}?{asked}: {type(error).__name__} {error}")

    def _click(self, line: ClientConnection, stay: float) -> None:
        began = time.monotonic()
        for click in range(1, 1 + int(stay / EVERY)):
            time.sleep(max(0.0, began + click * EVERY - time.monotonic()))
            self.clicks.append(self._run(line, "", self._query()))

    def _query(self) -> str:
        return urlencode({"run": self.name, "query": self.chance.randrange(8)})

    def _wish(self) -> tuple[str, str]:
        if self.chance.random() < 0.25:
            return "", self._query()
        return "watch", urlencode({"watched": self.name, "part": self.chance.choice(PARTS)})

    def _run(self, line: ClientConnection, page: str, asked: str, **how: object) -> float:
        """Ask for a page, or for a part of it anew, and read all that comes; returns how long it took, in seconds.

        Raises:
            AssertionError: it shows an error, or somebody else's run. TimeoutError: it does not end.
        """
        began = time.monotonic()
        line.send(BackMsg(rerun_script={"query_string": asked, "page_name": page, **how}).SerializeToString())
        seen, self.clock = set(), None if "fragment_id" not in how else self.clock
        while True:
            message = ForwardMsg.FromString(line.recv(timeout=self.patience))
            kind = message.WhichOneof("type")
            element = message.delta.new_element.WhichOneof("type") if kind == "delta" else None
            assert element != "exception", message.delta.new_element.exception.message
            if kind == "auto_rerun":
                self.clock = (message.auto_rerun.fragment_id, message.auto_rerun.interval)
            if element not in CHOICES:
                seen |= set(NAME.findall(message.SerializeToString()))
            if kind == "script_finished":
                break
        assert seen <= {self.name.encode()}, f"shows {sorted(seen)}"
        assert seen or page != "watch" or "fragment_id" in how, "does not name its run"
        return time.monotonic() - began


class AtWork:
    """Runs that look as if they were trained: their locks are held, and records come."""

    def __init__(self, pattern: Path, root: Path, count: int):
        self.writers = []
        for number in range(count):
            run = Run(shutil.copytree(pattern, root / f"session-{number:03d}"))
            self.writers.append(Writer(run))
            self.writers[-1].claim()
            self.writers[-1].log(f"This is the log of {run.name} alone.")
        self.step, self.ended = 8, threading.Event()
        self._tick()
        threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self) -> None:
        while not self.ended.wait(2):
            self._tick()

    def _tick(self) -> None:
        self.step += 1
        for writer in self.writers:
            writer.append({"kind": "stepped", "step": self.step, "loss": 1 / self.step, "at": time.time()})
            said = f"This is {writer.run.name} alone."
            writer.status(RUNNING, phase="training", step=self.step, steps=10**6, sentence=said)


def use(sessions: list[Session], loads: int, seconds: float, server: Server, steady: bool) -> list[float]:
    """All sessions at once, until both the pages and the time are used up; returns the memory after each load, MB."""
    memory, left = [], threading.Semaphore(loads)
    stay = seconds * len(sessions) / loads

    def one(session: Session) -> None:
        time.sleep(session.chance.uniform(0, min(stay, 5)))
        while left.acquire(blocking=False):
            session.load(stay if steady else session.chance.uniform(0, stay), steady)
            memory.append(server.memory)

    threads = [threading.Thread(target=one, args=[session]) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--loads", type=int, default=1000)
    parser.add_argument("--run", type=Path, help="finished run that every browser sees a copy of (default a tiny one)")
    parser.add_argument("--steady", action="store_true", help="every browser stays on Browse and clicks")
    parser.add_argument("--patience", type=float, default=300, help="seconds for one page")
    parser.add_argument("--seed", type=int, default=0)
    asked, began = parser.parse_args(), time.monotonic()
    bench = Bench()
    root = bench.folder / "runs"
    at_work = AtWork(asked.run or bench.whole.path, root, asked.sessions)
    server = Server(root, asked.patience)
    try:
        sessions = [Session(number, server, asked.seed, asked.patience) for number in range(asked.sessions)]
        memory = use(sessions, asked.loads, asked.minutes * 60, server, asked.steady)
    finally:
        at_work.ended.set()
        server.process.terminate()
        server.process.wait()
    failures = [wrong for session in sessions for wrong in session.wrong]
    failures += [f"A session ended early: only {len(memory)} loads."] * (asked.loads - len(memory))
    quarter, half = memory[len(memory) // 4], memory[len(memory) // 2]
    if asked.loads >= 200 and memory[-1] - half > GROWTH:
        failures.append(f"The server grew from {half:.0f} to {memory[-1]:.0f} MB over the second half of the loads.")
    bench.close() if not failures else print(f"kept: {bench.folder}")
    told = f"{asked.sessions} sessions; {memory[0]:.0f} MB at first, {quarter:.0f}, {half:.0f}, {memory[-1]:.0f} MB"
    loads = sorted(second for session in sessions for second in session.loads)
    clicks = sorted(second for session in sessions for second in session.clicks)
    if clicks:
        told += f"; {len(clicks)} clicks, p95 {clicks[int(0.95 * len(clicks))]:.2f} s"
    told += f"; loads: median {loads[len(loads) // 2]:.2f} s, p95 {loads[int(0.95 * len(loads))]:.2f} s"
    conclude("browsers at once, page loads", asked.loads, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
