"""Long work behind a page: threads do it, whoever asks for the same shares it, and the page is drawn without it first.

    @background.job("Measuring every query", keep=8)
    def measured(name, split, stamp, _whole): ...

    columns = background.if_ready(measured(name, split, stamp, whole))  # None for now: a line counts the seconds

The work returns something that is not None and does not touch Streamlit: no widget and none of its caches. What is
short leaves no trace on a page.

Work that writes, trains or fetches calls `lab.core.files.check_allowed` before anything else. A guest then sees a
sentence until the owner has opened the same page; the owner never gets what a guest was refused.
"""

import inspect
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from typing import Any, Generic, TypeVar

import streamlit as st

from app.shared import address, changes
from lab.core import files

AT_WORK, OF_GUESTS = 4, 2
"""Jobs that run side by side, and how many of them may be for guests; others wait for their turn."""
SOON = 0.3
"""Seconds from its beginning that a page waits for a result before it is drawn without."""
AGAIN = 60.0
"""Seconds for which a failure is told before the same is tried anew."""
LATER = "It appears here once the owner has opened this page; reload it then."
"""What a guest reads in the place of a result that only the owner may have made."""

T = TypeVar("T")

JOBS: list[Callable[..., Any]] = []
"""Every function whose work is done behind the page, as far as its module has been loaded."""

_turns, _turns_of_guests = threading.BoundedSemaphore(AT_WORK), threading.BoundedSemaphore(OF_GUESTS)
_log = logging.getLogger("rankscope.app")


class Job(Generic[T]):
    """Work under way or done.

    words: what is being done. guest: whether a guest's page asked for it, so that it may write nothing.
    """

    def __init__(self, words: str, work: Callable[[], T]):
        self.words, self.begun, self.ended = words, time.monotonic(), 0.0
        self.guest = files.guest()
        self._value: T | None = None
        self._error: Exception | None = None
        self._over = threading.Event()
        threading.Thread(target=self._run, args=(work,), name=words, daemon=True).start()

    def _run(self, work: Callable[[], T]) -> None:
        files.thread.guest = self.guest
        with _turns_of_guests if self.guest else nullcontext(), _turns:
            try:
                self._value = work()
            except Exception as error:
                if not isinstance(error, ValueError | OSError):
                    _log.exception("%s failed", self.words)
                self._error = error.with_traceback(None)  # or it would hold on to all that the work held
        self.ended = time.monotonic()
        self._over.set()
        changes.wake()

    def follow(self) -> None:
        """Show for how many seconds it has been at work, and run the page again when it is over."""
        seconds = time.monotonic() - self.begun
        changes.follow(self._over.is_set, key=f"until {self.words} {id(self)}", since=seconds)

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for: it is done, or has failed."""
        return self._over.is_set()

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self.over and self._error is None

    @property
    def refused(self) -> bool:
        """Whether it ended because only the owner may do it."""
        return self.over and isinstance(self._error, files.GuestRefused)

    @property
    def stale(self) -> bool:
        """Whether it has to be done again: a guest was refused it, or it has failed a while ago."""
        failed = self.over and self._error is not None
        return failed and (self.refused or time.monotonic() - self.ended > AGAIN)

    @property
    def value(self) -> T | None:
        """The result; None while it is not there, and for a guest who was refused it. Waits for it as long as it is
        `SOON`.

        Raises:
            Exception: what the work raised.
        """
        self._over.wait(max(0.0, self.begun + SOON - time.monotonic()))
        if self._error is not None and not self.refused:
            raise self._error.with_traceback(None)
        return self._value


class _Known(Generic[T]):
    """The jobs of one function by their arguments, the latest ones; a guest's and the owner's apart until one is done.

    The owner does not join what a guest has begun, since it may be refused, nor hear why it failed.
    """

    def __init__(self, keep: int):
        self._keep = keep
        self._jobs: OrderedDict[tuple, Job[T]] = OrderedDict()
        self._lock = threading.Lock()
        self.clear = self._jobs.clear

    def find_or_begin(self, key: tuple, begin: Callable[[], Job[T]]) -> Job[T]:
        """Return the job that this visitor shares, begun now if there is none."""
        guest = files.guest()
        with self._lock:
            mine, other = self._jobs.get((guest, *key)), self._jobs.get((not guest, *key))
            shared = other is not None and (other.done or (guest and not other.over))
            if other is not None and shared and not (mine is not None and mine.done):
                self._jobs.move_to_end((not guest, *key))
                return other
            if mine is None or mine.stale:
                mine = self._jobs[(guest, *key)] = begin()
            self._jobs.move_to_end((guest, *key))
            spare = [old for old in list(self._jobs)[:-1] if self._jobs[old].over]
            for old in spare[: max(0, len(self._jobs) - self._keep)]:
                del self._jobs[old]
            return mine


def job(words: str, keep: int) -> Callable[[Callable[..., T]], Callable[..., Job[T]]]:
    """Have a function's work done behind the page: a call begins a `Job`, or finds the one with equal arguments.

    Args:
        words: what is being done, for the line on the page.
        keep: results that are kept, the latest ones. Arguments whose names begin with `_` do not tell them apart;
            one that has a `key` is told by that.
    """

    def decorate(work: Callable[..., T]) -> Callable[..., Job[T]]:
        known = _Known[T](keep)
        counts = [not name.startswith("_") for name in inspect.signature(work).parameters]

        @wraps(work)
        def begin(*args: Any) -> Job[T]:
            key = tuple(getattr(one, "key", one) for one, counted in zip(args, counts, strict=False) if counted)
            work = begin.__wrapped__
            return known.find_or_begin(key, lambda: Job(words, partial(work, *args)))

        begin.clear = known.clear  # type: ignore[attr-defined]  # as caches of Streamlit have it
        JOBS.append(begin)
        return begin

    return decorate


def if_ready(job: Job[T]) -> T | None:
    """The result of a job; while it is not there, None, and a line that says so.

    Raises:
        Exception: what the work raised.
    """
    value = job.value
    with st.container():  # also when there is nothing to say: what stands below keeps its place when the line goes
        if value is None:
            note(job)
    return value


def or_wait(job: Job[T]) -> T:
    """The result of a job that the rest of the page stands on: while it is not there, the page ends here.

    Raises:
        Exception: what the work raised.
    """
    value = if_ready(job)
    if value is None:
        st.stop()
    return value


def note(job: Job) -> None:
    """A line that counts the seconds, and has the page drawn anew when the job is over; for a guest who was refused it,
    a line that says so."""
    address.hold()
    if job.refused:
        st.caption(f":material/visibility: {job.words}: not done yet. {LATER}")
    else:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(f":material/hourglass_top: {job.words} …", width="content")
            job.follow()
