"""Trainings that several pictures of a figure share: kept while they are drawn, so that each is run once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Result = TypeVar("Result")

MOST = 256
"""Results that are kept; the oldest goes first."""
_kept: ContextVar[dict[tuple, Any] | None] = ContextVar("_kept", default=None)


@contextmanager
def keeping() -> Iterator[None]:
    """What `once` has made within is not made again."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def once(make: Callable[..., Result], *arguments: Hashable) -> Result:
    """`make(*arguments)`; within `keeping`, what it gave before for the same arguments.

    Args:
        make: a function of a module whose result follows from its arguments alone, and which nobody changes.

    Example:
        >>> with keeping():
        ...     once(print, "trained"), once(print, "trained")
        trained
        (None, None)
    """
    kept = _kept.get()
    if kept is None:
        return make(*arguments)
    key = make, *arguments
    if key not in kept:
        if len(kept) >= MOST:
            kept.pop(next(iter(kept)))
        kept[key] = make(*arguments)
    return kept[key]
