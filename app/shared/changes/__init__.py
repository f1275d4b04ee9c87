"""Run a page, or a part of it, again when something that it shows has changed.

While it is drawn, a page names what it follows, as a function that reads the current value:

    changes.follow(run_now, run.path, key="watched run")

The browser keeps one connection to the server for each tab (`app.run_events`) and sends on it what its page follows.
The server reads all of these values about once a second, for all tabs together, and sends each tab what has changed
since its page was drawn. The browser then asks Streamlit for that part of the page. It waits until the user's last
click or key has been answered, so that a change never undoes a choice.

Call `follow` before reading what the page shows, so that a change in between is noticed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitDuplicateElementKey

KEPT = 120.0
"""Seconds for which the server remembers values that no open page follows."""


@dataclass
class _Followed:
    """A function, its arguments, and the value that it returned last.

    version: how often the value has changed. last_used: when a page last followed it, by the monotonic clock.
    """

    read: Callable[..., Hashable]
    arguments: tuple[Hashable, ...]
    value: Hashable
    version: int = 0
    last_used: float = field(default_factory=time.monotonic)

    def update(self, value: Hashable) -> int:
        """Record the current value, and return its version."""
        if value != self.value:
            self.value = value
            self.version += 1
        return self.version


def current_value(read: Callable[..., Hashable], arguments: tuple[Hashable, ...]) -> Hashable:
    """Return the current value. If it cannot be read, return the type of the error: a page that shows the error is then
    drawn again when it can be read."""
    try:
        return read(*arguments)
    except Exception as error:
        return type(error).__name__


class Register:
    """All values that open pages follow, by a number that the browser sends back."""

    def __init__(self) -> None:
        self._by_call: dict[tuple[Hashable, ...], int] = {}
        self._followed: dict[int, _Followed] = {}
        self._count = 0
        self._lock = threading.Lock()

    def add(
        self, read: Callable[..., Hashable], arguments: tuple[Hashable, ...]
    ) -> tuple[int, int]:
        """Read a value, and return its number and version."""
        value = current_value(read, arguments)
        call = (read, *arguments)
        with self._lock:
            if call not in self._by_call:
                self._count += 1
                self._by_call[call] = self._count
                self._followed[self._count] = _Followed(read, arguments, value)
            number = self._by_call[call]
            followed = self._followed[number]
            followed.last_used = time.monotonic()
            return number, followed.update(value)

    def versions(self, numbers: set[int]) -> dict[int, int]:
        """Read the values with some numbers, and return their versions. Numbers that do not exist are left out.

        Values that no page has followed for `KEPT` seconds are forgotten.
        """
        now = time.monotonic()
        current: dict[int, _Followed] = {}
        with self._lock:
            for number, followed in list(self._followed.items()):
                if number in numbers:
                    followed.last_used = now
                    current[number] = followed
                elif now - followed.last_used > KEPT:
                    del self._followed[number]
                    del self._by_call[(followed.read, *followed.arguments)]
        versions = {}
        for number, followed in current.items():
            versions[number] = followed.update(current_value(followed.read, followed.arguments))
        return versions


REGISTER = Register()

_wakers: list[Callable[[], None]] = []


def on_wake(act: Callable[[], None]) -> None:
    """Register a function that `wake` calls."""
    _wakers.append(act)


def wake() -> None:
    """Make the server look for changes at once. Any thread may call this."""
    for act in _wakers:
        act()


def follow(
    read: Callable[..., Hashable], *arguments: Hashable, key: str, since: float | None = None
) -> None:
    """Run this page, or the fragment that calls this, again once `read(*arguments)` returns another value than now.

    Args:
        read: reads the current value. It is called from any thread, about once a second, and must not use Streamlit.
        arguments: Pages that follow the same function of the same arguments share the reading.
        key: unique on the page.
        since: seconds since the start of some work. They are shown and counted on; by default nothing is shown.
    """
    number, version = REGISTER.add(read, arguments)
    _draw(
        key,
        {"number": number, "version": version, "seconds": since},
        lambda: None,
        shown=since is not None,
    )


def later(seconds: float, count: Hashable, act: Callable[[], None], *, key: str) -> None:
    """Make the browser run this page again, once, some seconds after it was drawn. `act` is called first.

    Args:
        count: the time starts again when this changes.
    """
    _draw(key, {"later": seconds, "count": str(count)}, act, shown=False)


def _draw(key: str, data: Mapping[str, Any], act: Callable[[], None], *, shown: bool) -> None:
    kwargs: dict[str, Any] = {"key": key, "data": data, "on_changed_change": act}
    # two parts of a page wait for the same job
    with contextlib.suppress(StreamlitDuplicateElementKey):
        if shown:
            _component()(**kwargs, width="content")
        else:
            with st.container(key=f"listening {key}"):  # takes no space on the page
                _component()(**kwargs)


@cache
def _component() -> Callable[..., Any]:
    folder = Path(__file__).parent
    return st.components.v2.component(
        "rankscope_changes",
        html='<span class="changes"></span>\n',
        css=(folder / "changes.css").read_text("utf-8"),
        js=(folder / "changes.js").read_text("utf-8"),
    )
