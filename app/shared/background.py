"""Long work in the background. Threads do it, sessions share equal work, and the page is first drawn without it.

    @background.job("Measuring every query", keep=8)
    def measured(name, split, stamp, _whole): ...

    columns = background.if_ready(measured(name, split, stamp, whole))  # None at first: a line counts the seconds

The work must not return None and must not use Streamlit (its widgets or caches). Work of less than `SOON` seconds
finishes before the page is drawn.

Work that writes, trains or downloads first calls `lab.core.files.check_allowed`. A guest then sees a sentence until the
owner has opened the same page. The owner never gets the refusal of a guest.
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

MOST_JOBS = 4
"""Jobs that run at the same time; others wait."""

MOST_GUEST_JOBS = 2
"""Jobs of guests that run at the same time."""

SOON = 0.3
"""Seconds from the start of a job that a page waits for its result before it is drawn without it."""

RETRY_AFTER = 60.0
"""Seconds after which failed work is tried again."""

LATER = "It appears here once the owner has opened this page; reload it then."
"""Message for a guest in place of a result that only the owner may compute."""

T = TypeVar("T")

JOBS: list[Callable[..., Any]] = []
"""Every function decorated with `job` in the modules loaded so far."""

_slots = threading.BoundedSemaphore(MOST_JOBS)
_guest_slots = threading.BoundedSemaphore(MOST_GUEST_JOBS)
_log = logging.getLogger("rankscope.app")


class Job(Generic[T]):
    """Work that runs in a thread.

    words: description of the work. guest: whether a guest's page started it, so that it may not write.
    """

    def __init__(self, words: str, work: Callable[[], T]):
        self.words = words
        self.begun = time.monotonic()
        self.ended = 0.0
        self.guest = files.guest()
        self._value: T | None = None
        self._error: Exception | None = None
        self._over = threading.Event()
        threading.Thread(target=self._run, args=(work,), name=words, daemon=True).start()

    def _run(self, work: Callable[[], T]) -> None:
        files.thread.guest = self.guest
        guest_slot = _guest_slots if self.guest else nullcontext()
        with guest_slot, _slots:
            try:
                self._value = work()
            except Exception as error:
                if not isinstance(error, ValueError | OSError):
                    _log.exception("%s failed", self.words)
                # the traceback would keep the work's data in memory
                self._error = error.with_traceback(None)
        self.ended = time.monotonic()
        self._over.set()
        changes.wake()

    def follow(self) -> None:
        """Show the seconds since the start, and draw the page again when the job is over."""
        seconds = time.monotonic() - self.begun
        changes.follow(self._over.is_set, key=f"until {self.words} {id(self)}", since=seconds)

    @property
    def over(self) -> bool:
        """Whether the job is done or has failed."""
        return self._over.is_set()

    @property
    def done(self) -> bool:
        """Whether the job has a result."""
        return self.over and self._error is None

    @property
    def refused(self) -> bool:
        """Whether the job ended because only the owner may do the work."""
        return self.over and isinstance(self._error, files.GuestRefused)

    @property
    def stale(self) -> bool:
        """Whether the work has to be started again, because a guest was refused or it failed some time ago."""
        if not self.over or self._error is None:
            return False
        return self.refused or time.monotonic() - self.ended > RETRY_AFTER

    @property
    def value(self) -> T | None:
        """The result, or None while there is none or if a guest was refused. Waits until `SOON` after the start.

        Raises:
            Exception: what the work raised.
        """
        self._over.wait(max(0.0, self.begun + SOON - time.monotonic()))
        if self._error is not None and not self.refused:
            raise self._error.with_traceback(None)
        return self._value


class _Jobs(Generic[T]):
    """The latest jobs of one function, by visitor (guest or owner) and arguments.

    Both share a finished job. A guest also joins a running job of the owner. The owner does not join a running job of a
    guest, because it may be refused.
    """

    def __init__(self, keep: int):
        self._keep = keep
        self._jobs: OrderedDict[tuple, Job[T]] = OrderedDict()
        self._lock = threading.Lock()
        self.clear = self._jobs.clear

    def find_or_begin(self, key: tuple, begin: Callable[[], Job[T]]) -> Job[T]:
        """Return the job for this visitor; start it if there is none to share."""
        guest = files.guest()
        with self._lock:
            own_key = (guest, *key)
            other_key = (not guest, *key)
            own = self._jobs.get(own_key)
            other = self._jobs.get(other_key)
            if other is not None and not (own is not None and own.done):
                may_join = guest and not other.over
                if other.done or may_join:
                    self._jobs.move_to_end(other_key)
                    return other

            if own is None or own.stale:
                own = begin()
                self._jobs[own_key] = own
            self._jobs.move_to_end(own_key)
            # Forget the oldest jobs, but none that is running and not this one.
            removable = [old for old in list(self._jobs)[:-1] if self._jobs[old].over]
            for old in removable[: max(0, len(self._jobs) - self._keep)]:
                del self._jobs[old]
            return own


def job(words: str, keep: int) -> Callable[[Callable[..., T]], Callable[..., Job[T]]]:
    """Run a function in the background: a call starts a `Job`, or returns the one with equal arguments.

    Arguments whose names begin with `_` are not compared. An argument that has a `key` is compared by its key.

    Args:
        words: description of the work, for the line on the page.
        keep: number of results to keep, the latest ones.
    """

    def decorate(work: Callable[..., T]) -> Callable[..., Job[T]]:
        jobs = _Jobs[T](keep)
        names = list(inspect.signature(work).parameters)

        @wraps(work)
        def begin(*args: Any) -> Job[T]:
            key = []
            for name, argument in zip(names, args, strict=False):
                if not name.startswith("_"):
                    key.append(getattr(argument, "key", argument))
            work = begin.__wrapped__
            return jobs.find_or_begin(tuple(key), lambda: Job(words, partial(work, *args)))

        begin.clear = jobs.clear  # type: ignore[attr-defined]  # like Streamlit's caches
        JOBS.append(begin)
        return begin

    return decorate


def if_ready(job: Job[T]) -> T | None:
    """Return the result of a job. While there is none, return None and draw a line that says so.

    Raises:
        Exception: what the work raised.
    """
    value = job.value
    with st.container():  # always, so that elements below keep their position when the line goes
        if value is None:
            note(job)
    return value


def or_wait(job: Job[T]) -> T:
    """Return the result of a job that the rest of the page needs. While there is none, the page ends here.

    Raises:
        Exception: what the work raised.
    """
    value = if_ready(job)
    if value is None:
        st.stop()
    return value


def note(job: Job) -> None:
    """Draw a line that counts the seconds of a job, and draw the page again when it is over.

    If a guest was refused, the line says so instead.
    """
    address.keep_rest()
    if job.refused:
        st.caption(f":material/visibility: {job.words}: not done yet. {LATER}")
    else:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(f":material/hourglass_top: {job.words} …", width="content")
            job.follow()
