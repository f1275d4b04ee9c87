"""Tell open pages which runs have ended, and which of the values that they show have changed.

Each tab keeps one WebSocket. On it the browser sends what its page follows (`app.shared.changes`), and the server
answers when one of these values has changed or a run has ended. When a connection breaks, the browser opens another one
and sends again what it shows, so that no change is missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import lab.runs
from app.shared import changes, settings
from lab.runs.folder import DAMAGED, ENDED, FAILED, INTERRUPTED

ADDRESS = "/rankscope/run-events"
LOOK_EVERY = 2.0
"""Seconds between two reads of the folder of runs, for all pages together."""

LOOK_FOR_CHANGES = 1.0
"""Seconds between two reads of the values that open pages follow."""

SHORTEST = 0.05
"""Fewest seconds between two reads, however often `changes.wake` is called."""

SLOWEST = 5.0
"""Seconds in which a browser has to receive a message."""

MOST = 100
"""Most values that one page may follow."""

GONE = -1
"""Version of a value that the server does not know, because it was restarted. The page has to be drawn again."""

NOT_UNDERSTOOD = 1003
"""Code with which a connection is closed after an invalid message."""

SETTLES = 15.0
"""Seconds for which a run must be interrupted before that is reported. After a kill, the state `stopped` is written
only once the process has ended, which may take ten seconds."""


_log = logging.getLogger("rankscope.app")


@dataclass(frozen=True)
class Ending:
    """A run that has ended. number: from 1, in the order in which the ends were noticed."""

    number: int
    run: str
    state: str
    text: str


class RunEvents:
    """The runs of a folder that have ended since the first read."""

    def __init__(self, root: Path):
        self.root = root
        self._states: dict[str, tuple[int, str]] = {}
        self._lost: dict[str, float] = {}  # interrupted runs, and when that was first noticed
        self._seen: list[Ending] = []
        self._looked = -LOOK_EVERY
        self._lock = threading.Lock()

    def after(self, number: int | None) -> tuple[int, list[Ending]]:
        """Return the number of the latest ending, and the endings after `number`; for None there are none."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_EVERY:
                self._look()
                self._looked = time.monotonic()
            later = [
                ending for ending in self._seen if number is not None and ending.number > number
            ]
            return len(self._seen), later

    def _look(self) -> None:
        before = self._states
        self._states = {}
        for run in lab.runs.list(self.root):
            written = settings.written(run.path / "status.json")
            old_written, old_state = before.get(run.name, (0, ""))
            was_active = run.name in before and old_state not in (*ENDED, DAMAGED)
            # the file of an ended run is read once
            if old_state in ENDED and old_written == written:
                state = old_state
            else:
                state = run.state
            # it may turn out to be stopped, or start again on a cluster
            if was_active and state == INTERRUPTED:
                first_lost = self._lost.setdefault(run.name, time.monotonic())
                if time.monotonic() - first_lost < SETTLES or run.snapshot().under_way:
                    state = old_state
            else:
                self._lost.pop(run.name, None)
            self._states[run.name] = written, state
            if was_active and state in ENDED:
                verb = {FAILED: "failed", INTERRUPTED: "was interrupted"}.get(state, state)
                text = f"Run {run.name} {verb}. {run.status.get('sentence') or ''}".strip()
                self._seen.append(Ending(len(self._seen) + 1, run.name, state, text))


@dataclass
class _Tab:
    """One open page.

    after: number of the latest ending that it knows. has_spoken: it has sent a message.
    follows: number of each value to the version that the page shows. sent: versions that were sent, but not shown yet.
    """

    socket: WebSocket
    after: int | None = None
    has_spoken: bool = False
    follows: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)

    def take(self, message: Any) -> None:
        """Read a message of the browser.

        Raises:
            ValueError: the message has another form. The dashboard's pages never send one.
        """
        if not isinstance(message, dict):
            raise ValueError("an object is expected")
        after = message.get("after")
        follows = message.get("follows")
        if (
            not isinstance(follows, dict)
            or len(follows) > MOST
            or not (after is None or _is_count(after))
        ):
            raise ValueError("after and follows are expected")
        if not all(_is_count(version) for version in follows.values()):
            raise ValueError("versions are whole numbers")
        if not self.has_spoken:  # afterwards the server knows what it has sent
            self.after = after
            self.has_spoken = True
        self.follows = {int(number): version for number, version in follows.items()}
        self.sent = {
            number: version for number, version in self.sent.items() if number in self.follows
        }

    def news(
        self, latest: int, ended: list[Ending], versions: dict[int, int]
    ) -> dict[str, Any] | None:
        """Return the message for this tab, or None if it has nothing new.

        Args:
            latest: number of the latest ending. ended: all endings. versions: current versions of followed values.
        """
        changed = {}
        for number, shown in self.follows.items():
            version = versions.get(number, GONE)
            if version != shown and self.sent.get(number, shown) != version:
                changed[number] = version
        if latest == self.after and not changed:
            return None
        later = [
            asdict(ending)
            for ending in ended
            if self.after is not None and ending.number > self.after
        ]
        self.after = latest
        self.sent |= changed
        return {"latest": latest, "ended": later, "changed": changed}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


class Feed:
    """Sends all open pages what has changed. One task reads the values for all of them while there are any."""

    def __init__(self) -> None:
        self._tabs: list[_Tab] = []
        self._events: dict[Path, RunEvents] = {}
        self._awake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # of the server
        self._looking: asyncio.Task | None = None
        changes.on_wake(self.wake)

    def wake(self) -> None:
        """Make the task read the values at once."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._awake.set)

    async def serve(self, socket: WebSocket) -> None:
        """Keep a connection to a tab until it is closed."""
        await socket.accept()
        tab = _Tab(socket)
        self._tabs.append(tab)
        if self._looking is None or self._looking.done():
            self._loop = asyncio.get_running_loop()
            self._awake = asyncio.Event()
            self._looking = asyncio.create_task(self._look())
        try:
            while True:
                tab.take(json.loads(await socket.receive_text()))
                self._awake.set()
        except WebSocketDisconnect:
            pass
        except (ValueError, RecursionError):
            await socket.close(NOT_UNDERSTOOD)
        finally:
            self._tabs.remove(tab)

    async def _look(self) -> None:
        while self._tabs:
            self._awake.clear()
            begun = time.monotonic()
            listening = [tab for tab in self._tabs if tab.has_spoken]
            numbers: set[int] = set()
            for tab in listening:
                numbers.update(tab.follows)
            try:
                latest, ended, versions = await run_in_threadpool(self._read, numbers)
            except Exception:  # such as a folder of runs that cannot be read for the moment
                _log.exception("Looking for changes failed")
            else:
                sending = []
                for tab in listening:
                    news = tab.news(latest, ended, versions)
                    if news is not None:
                        sending.append(_send(tab, news))
                await asyncio.gather(*sending)
            # With thousands of runs a read takes long. It may take at most a fifth of the time.
            await asyncio.sleep(SHORTEST + 4 * (time.monotonic() - begun))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._awake.wait(), LOOK_FOR_CHANGES)

    def _read(self, numbers: set[int]) -> tuple[int, list[Ending], dict[int, int]]:
        """Return the number of the latest ending, all endings, and the versions of followed values."""
        root = settings.runs_root()
        events = self._events.setdefault(root, RunEvents(root))
        return *events.after(0), changes.REGISTER.versions(numbers)


async def _send(tab: _Tab, news: dict[str, Any]) -> None:
    """Send a message to a tab, or close the connection if the tab does not receive it. The browser then opens another
    one."""
    try:
        await asyncio.wait_for(tab.socket.send_json(news), SLOWEST)
    except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
        with contextlib.suppress(TimeoutError, RuntimeError, OSError):
            await asyncio.wait_for(tab.socket.close(), SLOWEST)


FEED = Feed()
ROUTES = (WebSocketRoute(ADDRESS, FEED.serve),)
