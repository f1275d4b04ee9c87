"""What the server tells open pages: which runs have ended, and what has changed of that which a page shows.

Each tab keeps one WebSocket. On it the browser says what its page follows (`app.shared.changes`), and the server
answers when something of that has changed or a run has ended. A connection that breaks is opened again by the browser,
which says again what it shows, so that no change is missed meanwhile.
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
"""Seconds for which one look at the folder serves all pages."""
LOOK_FOR_CHANGES = 1.0
"""Seconds between two looks at what open pages follow."""
SHORTEST = 0.05
"""Seconds between two looks at the least, however often something is told to have changed."""
SLOWEST = 5.0
"""Seconds that a browser has to take a message."""
MOST = 100
"""Things that one page may follow."""
GONE = -1
"""The version of what the server does not know, since it was started anew: the page has to be drawn again."""
NOT_UNDERSTOOD = 1003
"""Code with which a connection is closed on which something else was said."""
SETTLES = 15.0
"""Seconds for which a run must stand as interrupted before that is said: whoever kills one writes `stopped` into its
folder once the process is gone, which may take ten."""


_log = logging.getLogger("rankscope.app")


@dataclass(frozen=True)
class Ending:
    """A run that was at work, or waited, and is no more. number: from 1, in the order in which they were seen."""

    number: int
    run: str
    state: str
    text: str


class RunEvents:
    """What has ended below a folder of runs since the first look."""

    def __init__(self, root: Path):
        self.root = root
        self._states: dict[str, tuple[int, str]] = {}
        self._lost: dict[str, float] = {}  # runs without a process, and when that was first seen
        self._seen: list[Ending] = []
        self._looked = -LOOK_EVERY
        self._lock = threading.Lock()

    def after(self, number: int | None) -> tuple[int, list[Ending]]:
        """The number of the latest ending, and those after a number; None asks for no earlier ones."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_EVERY:
                self._look()
                self._looked = time.monotonic()
            later = [one for one in self._seen if number is not None and one.number > number]
            return len(self._seen), later

    def _look(self) -> None:
        before, self._states = self._states, {}
        for run in lab.runs.list(self.root):
            was, changed = before.get(run.name), settings.written(run.path / "status.json")
            # The file of a run that has ended is read once.
            state = was[1] if was and was[0] == changed and was[1] in ENDED else run.state
            at_work = was is not None and was[1] not in (*ENDED, DAMAGED)
            if was and at_work and state == INTERRUPTED:  # it may turn out to be stopped, or be begun again elsewhere
                lost = time.monotonic() - self._lost.setdefault(run.name, time.monotonic())
                state = was[1] if lost < SETTLES or run.snapshot().under_way else state
            else:
                self._lost.pop(run.name, None)
            self._states[run.name] = changed, state
            if at_work and state in ENDED:
                how = {FAILED: "failed", INTERRUPTED: "was interrupted"}.get(state, state)
                text = f"Run {run.name} {how}. {run.status.get('sentence') or ''}".strip()
                self._seen.append(Ending(len(self._seen) + 1, run.name, state, text))


@dataclass
class _Tab:
    """One open page. after: the number of the latest ending that it knows; follows: the number of everything that it
    shows to the version that it shows; told: what it has been told and has not shown yet."""

    socket: WebSocket
    after: int | None = None
    heard: bool = False
    follows: dict[int, int] = field(default_factory=dict)
    told: dict[int, int] = field(default_factory=dict)

    def take(self, message: Any) -> None:
        """Read what the browser says.

        Raises:
            ValueError: no page of the dashboard says such a thing.
        """
        if not isinstance(message, dict):
            raise ValueError("an object is expected")
        after, follows = message.get("after"), message.get("follows")
        if not isinstance(follows, dict) or len(follows) > MOST or not (after is None or _is_count(after)):
            raise ValueError("after and follows are expected")
        if not all(_is_count(version) for version in follows.values()):
            raise ValueError("versions are whole numbers")
        if not self.heard:  # later the server knows better what it has told
            self.after, self.heard = after, True
        self.follows = {int(number): version for number, version in follows.items()}
        self.told = {one: version for one, version in self.told.items() if one in self.follows}

    def news(self, latest: int, ended: list[Ending], versions: dict[int, int]) -> dict[str, Any] | None:
        """What this tab has to be told, of all runs that have ended and of what is followed; None for nothing."""
        changed = {}
        for number, shown in self.follows.items():
            version = versions.get(number, GONE)
            if version != shown and self.told.get(number, shown) != version:
                changed[number] = version
        if latest == self.after and not changed:
            return None
        later = [asdict(one) for one in ended if self.after is not None and one.number > self.after]
        self.after = latest
        self.told |= changed
        return {"latest": latest, "ended": later, "changed": changed}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


class Feed:
    """Tells all open pages what has changed. One task looks for all of them, as long as there are any."""

    def __init__(self) -> None:
        self._tabs: list[_Tab] = []
        self._events: dict[Path, RunEvents] = {}
        self._awake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # of the server
        self._looking: asyncio.Task | None = None
        changes.on_wake(self.wake)

    def wake(self) -> None:
        """Have the task look at once."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._awake.set)

    async def serve(self, socket: WebSocket) -> None:
        """Keep a connection to a tab until it is closed."""
        await socket.accept()
        tab = _Tab(socket)
        self._tabs.append(tab)
        if self._looking is None or self._looking.done():
            self._loop, self._awake = asyncio.get_running_loop(), asyncio.Event()
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
            listening = [tab for tab in self._tabs if tab.heard]
            try:
                latest, ended, versions = await run_in_threadpool(
                    self._there_now, {number for tab in listening for number in tab.follows}
                )
            except Exception:  # such as a folder of runs that cannot be read for the moment
                _log.exception("Looking for changes failed")
            else:
                news = [(tab, tab.news(latest, ended, versions)) for tab in listening]
                await asyncio.gather(*(_tell(tab, new) for tab, new in news if new is not None))
            # Of thousands of runs a look takes long: it takes at most a fifth of the time, whoever wakes this.
            await asyncio.sleep(SHORTEST + 4 * (time.monotonic() - begun))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._awake.wait(), LOOK_FOR_CHANGES)

    def _there_now(self, numbers: set[int]) -> tuple[int, list[Ending], dict[int, int]]:
        """The number of the latest ending, all endings, and the versions of what is followed."""
        root = settings.runs_root()
        events = self._events.setdefault(root, RunEvents(root))
        return *events.after(0), changes.REGISTER.versions(numbers)


async def _tell(tab: _Tab, news: dict[str, Any]) -> None:
    """Send news to a tab. One that does not take them is closed, and asks again by itself."""
    try:
        await asyncio.wait_for(tab.socket.send_json(news), SLOWEST)
    except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
        with contextlib.suppress(TimeoutError, RuntimeError, OSError):
            await asyncio.wait_for(tab.socket.close(), SLOWEST)


FEED = Feed()
ROUTES = (WebSocketRoute(ADDRESS, FEED.serve),)
