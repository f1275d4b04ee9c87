"""Which runs have ended while somebody had the dashboard open: every open page asks, and tells the person."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import lab.runs
from app.shared import settings
from lab.runs import Run
from lab.runs.folder import DAMAGED, ENDED, FAILED, INTERRUPTED

ADDRESS = "/rankscope/run-events"
LOOK_EVERY = 2.0
"""Seconds for which one look at the folder serves all pages."""
SETTLES = 15.0
"""Seconds for which a run must stand as interrupted before that is said: whoever kills one writes `stopped` into its
folder once the process is gone, which may take ten."""


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
        states: dict[str, tuple[int, str]] = {}
        for run in lab.runs.list(self.root):
            before = self._states.get(run.name)
            states[run.name] = changed, state = self._state(run, before)
            at_work = before is not None and before[1] not in (*ENDED, DAMAGED)
            if before is not None and at_work and self._unsettled(run, state):
                states[run.name] = before
            elif at_work and state in ENDED:
                self._seen.append(Ending(len(self._seen) + 1, run.name, state, _words(run, state)))
        self._states = states
        self._lost = {name: since for name, since in self._lost.items() if name in states}

    def _unsettled(self, run: Run, state: str) -> bool:
        """Whether a run only looks interrupted so far: it may turn out to be stopped, or be begun again elsewhere."""
        if state != INTERRUPTED:
            self._lost.pop(run.name, None)
            return False
        lost = time.monotonic() - self._lost.setdefault(run.name, time.monotonic())
        return lost < SETTLES or run.snapshot().under_way

    @staticmethod
    def _state(run: Run, before: tuple[int, str] | None) -> tuple[int, str]:
        """When the status was written, and the state; the file of a run that has ended is read once."""
        changed = settings.written(run.path / "status.json")
        if before is not None and before[0] == changed and before[1] in ENDED:
            return before
        return changed, run.state


def _words(run: Run, state: str) -> str:
    sentence = run.status.get("sentence") or ""
    how = {FAILED: "failed", INTERRUPTED: "was interrupted"}.get(state, state)
    return f"Run {run.name} {how}. {sentence}".strip()


_endings: dict[Path, RunEvents] = {}


async def _answer(request: Request) -> Response:
    word = request.query_params.get("after", "")
    root = settings.runs_root()
    looked = _endings.setdefault(root, RunEvents(root))
    latest, ended = await run_in_threadpool(looked.after, int(word) if word.isdecimal() else None)
    return JSONResponse(
        {"latest": latest, "ended": [asdict(one) for one in ended]}, headers={"Cache-Control": "no-store"}
    )


ROUTES = (Route(ADDRESS, _answer),)
