"""Which runs have ended while somebody had the dashboard open: every open page asks, and tells the person."""

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


_endings: dict[Path, RunEvents] = {}


async def _answer(request: Request) -> Response:
    word = request.query_params.get("after", "")[:10]
    root = settings.runs_root()
    looked = _endings.setdefault(root, RunEvents(root))
    latest, ended = await run_in_threadpool(looked.after, int(word) if word.isdecimal() else None)
    return JSONResponse(
        {"latest": latest, "ended": [asdict(one) for one in ended]}, headers={"Cache-Control": "no-store"}
    )


ROUTES = (Route(ADDRESS, _answer),)
