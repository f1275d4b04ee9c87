"""A name for each start of the processes, that all of them know and none of an earlier start does.

torchrun may keep one store while it starts processes anew, so that new ones would wait for the addresses of those that
died. How often it has started them is no such name: each machine's torchrun counts the deaths on its own machine alone.
"""

from __future__ import annotations

import secrets
import time
from datetime import timedelta
from typing import Any

PAUSE = 0.05
"""Seconds between two looks into the store at least."""

CALLS = 200
"""Calls of the store a second at most, by the first process, and by all others together, however many there are."""


def start_name(store: Any, rank: int, world: int, patience: timedelta) -> str:
    """What the first process calls this start.

    Each of the others leaves a number that nobody else has; the first answers every number it finds with the name, the
    ones of processes that died included, until each of the others has said by that name that it has it.

    Args:
        store: of torch.distributed, which may hold what earlier processes wrote.

    Raises:
        RuntimeError: they did not all come in time.
    """
    until, own = time.monotonic() + patience.total_seconds(), secrets.token_hex(8)
    others = [] if rank else list(range(1, world))
    if rank:
        store.delete_key(f"lab/answer/{rank}")  # of an earlier start, which would be read at every look
        store.set(f"lab/arrived/{rank}", own)
    while True:
        if rank:
            number, _, name = _read(store, f"lab/answer/{rank}").partition(" ")
            if number == own:
                store.set(f"lab/here/{name}/{rank}", "1")
                return name
        else:
            others = [one for one in others if not store.check([f"lab/here/{own}/{one}"])]
            if not others:
                return own
            for one in others:
                if number := _read(store, f"lab/arrived/{one}"):
                    store.set(f"lab/answer/{one}", f"{number} {own}")
        # The first asks at most four things of each that is missing, another one thing until it has its answer.
        if (left := until - time.monotonic()) <= 0:
            raise RuntimeError(f"Process {rank} of {world} waited {patience} for the others, which did not come.")
        time.sleep(min(left, max(PAUSE, (world if rank else 4 * len(others)) / CALLS)))


def _read(store: Any, key: str) -> str:
    return store.get(key).decode() if store.check([key]) else ""
