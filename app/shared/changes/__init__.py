"""What pages follow: a page, or a part of one, is run again when something that it shows has changed.

A page says what it follows as it is drawn, as a function that looks and returns what is there now:

    changes.follow(_at_work, run.path, key="watched run")

The browser keeps one connection to the server for each tab (`app.run_events`) and says on it what its page follows.
The server looks at all of that about once a second, for all tabs together, and tells each tab what has changed since
its page was drawn. The browser then asks Streamlit for that part of the page. It waits until the person's own last
click or key has been answered, so that a change never undoes a choice.

Call `follow` before reading what the page shows: a change in between is then seen.
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
"""Seconds for which the server remembers what no open page follows."""


@dataclass
class _Followed:
    """One function with its arguments, and what it returned last.

    version: how often that has changed. asked: when a page was last interested, by the monotonic clock.
    """

    look: Callable[..., Hashable]
    of: tuple[Hashable, ...]
    value: Hashable
    version: int = 0
    asked: float = field(default_factory=time.monotonic)

    def look_again(self) -> int:
        """Look, and return the version."""
        value = value_now(self.look, self.of)
        if value != self.value:
            self.value = value
            self.version += 1
        return self.version


def value_now(look: Callable[..., Hashable], of: tuple[Hashable, ...]) -> Hashable:
    """Return what there is; the type of the error where it cannot be read, so that a page that shows the error is drawn
    again when it can."""
    try:
        return look(*of)
    except Exception as error:
        return type(error).__name__


class Register:
    """Everything that open pages follow, by a number that the browser returns."""

    def __init__(self) -> None:
        self._by_call: dict[tuple[Hashable, ...], int] = {}
        self._followed: dict[int, _Followed] = {}
        self._count = 0
        self._lock = threading.Lock()

    def add(self, look: Callable[..., Hashable], of: tuple[Hashable, ...]) -> tuple[int, int]:
        """Look now, and return the number of what is followed and its version."""
        value = value_now(look, of)
        with self._lock:
            number = self._by_call.get((look, *of))
            if number is None:
                self._count += 1
                number = self._by_call[(look, *of)] = self._count
                self._followed[number] = _Followed(look, of, value)
            followed = self._followed[number]
            followed.asked = time.monotonic()
            if value != followed.value:
                followed.value = value
                followed.version += 1
            return number, followed.version

    def versions(self, numbers: set[int]) -> dict[int, int]:
        """Look at some of what is followed; return the versions of those that are known. The others of which no page
        has asked for long are forgotten."""
        now = time.monotonic()
        with self._lock:
            for number in numbers & self._followed.keys():
                self._followed[number].asked = now
            for number in [one for one, followed in self._followed.items() if now - followed.asked > KEPT]:
                followed = self._followed.pop(number)
                del self._by_call[(followed.look, *followed.of)]
            known = {number: self._followed[number] for number in numbers & self._followed.keys()}
        return {number: followed.look_again() for number, followed in known.items()}


REGISTER = Register()

_wakers: list[Callable[[], None]] = []


def on_wake(act: Callable[[], None]) -> None:
    """Have a function called whenever `wake` is."""
    _wakers.append(act)


def wake() -> None:
    """Have the server look at once: something has just changed. Any thread may call this."""
    for act in _wakers:
        act()


def follow(look: Callable[..., Hashable], *of: Hashable, key: str, since: float | None = None) -> None:
    """Have this page, or the fragment that calls this, run again once `look(*of)` returns something else than now.

    Args:
        look: reads what is there now. It is called from any thread, about once a second, and touches no Streamlit.
        of: its arguments. Pages that follow the same function of the same arguments share the looking.
        key: unique on the page.
        since: seconds that something has taken so far; they are shown, and counted on. By default nothing is shown.
    """
    number, version = REGISTER.add(look, of)
    _draw(key, {"number": number, "version": version, "seconds": since}, lambda: None, shown=since is not None)


def later(seconds: float, count: Hashable, act: Callable[[], None], *, key: str) -> None:
    """Have the browser run this page again, once, some seconds after it was drawn; `act` is called first.

    Args:
        count: the seconds begin anew when this changes.
    """
    _draw(key, {"later": seconds, "count": str(count)}, act, shown=False)


def _draw(key: str, data: Mapping[str, Any], act: Callable[[], None], *, shown: bool) -> None:
    look: dict[str, Any] = {"key": key, "data": data, "on_changed_change": act}
    with contextlib.suppress(StreamlitDuplicateElementKey):  # two parts of a page wait for the same
        if shown:
            _component()(**look, width="content")
        else:
            with st.container(key=f"listening {key}"):  # takes no room on the page
                _component()(**look)


@cache
def _component() -> Callable[..., Any]:
    folder = Path(__file__).parent
    return st.components.v2.component(
        "rankscope_changes",
        html='<span class="changes"></span>\n',
        css=(folder / "changes.css").read_text("utf-8"),
        js=(folder / "changes.js").read_text("utf-8"),
    )
