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
"""Seconds between two looks into the store."""


def start_name(store: Any, rank: int, world: int, patience: timedelta) -> str:
    """What the first process calls this start.

    Each of the others leaves a number that nobody else has; the first answers every number it finds with the name, the
    ones of processes that died included, until each of the others has said by that name that it has it.

    Args:
        store: of torch.distributed, which may hold what earlier processes wrote.

    Raises:
        RuntimeError: they did not all come in time.
    """

    def read(key: str) -> str:
        return store.get(key).decode() if store.check([key]) else ""

    until, number = time.monotonic() + patience.total_seconds(), secrets.token_hex(8)
    missing = [] if rank else list(range(1, world))
    if rank:
        store.set(f"lab/arrived/{rank}", number)
    while time.monotonic() < until:
        if rank:
            answered, _, name = read(f"lab/answer/{rank}").partition(" ")
            if answered == number:
                store.set(f"lab/here/{name}/{rank}", "1")
                return name
        else:
            missing = [one for one in missing if not store.check([f"lab/here/{number}/{one}"])]
            if not missing:
                return number
            for one in missing:
                if arrived := read(f"lab/arrived/{one}"):
                    store.set(f"lab/answer/{one}", f"{arrived} {number}")
        time.sleep(PAUSE)
    raise RuntimeError(f"Process {rank} of {world} waited {patience} for the others, which did not come.")
