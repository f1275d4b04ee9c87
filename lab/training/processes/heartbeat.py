"""Notices when another process of a training has died or stands still, which a collective would wait for in silence."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch.distributed as dist

LOST = "lab/lost"
"""Where whoever misses a sign of life says so, for all to read."""

SILENCE = 25.0
"""Seconds without a sign of life after which a process counts as lost."""

LEFT = b"left"
"""The last sign of a process that has done its work."""

UNREACHED = "the machine of the first process cannot be reached"

BEAT = 2.0
"""Seconds between two signs of life."""


class Heartbeat:
    """Gives signs of life in a store and listens for those of the others, in a thread of its own.

    A process that is busy, however long, goes on giving them; one that was killed, stopped or cut off does not. Each
    listens to the next one alone, and tells all when that is silent: so the store answers a few requests a process.

    Args:
        store: of torch.distributed, with `set` and `get` of bytes, used by nobody else.
        lost: called once, in the thread, with a sentence.
        clock: seconds; for tests.
    """

    def __init__(
        self,
        store: Any,
        rank: int,
        world: int,
        lost: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ):
        self.store, self.rank, self.world, self.lost, self.clock = store, rank, world, lost, clock
        self.beats, self.next, self.last = 0, (rank + 1) % world, (b"", clock())
        self.reached = clock()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, name="lab-heartbeat", daemon=True)
        self.watch = threading.Thread(target=self._watch, name="lab-heartbeat-watch", daemon=True)

    def beat(self) -> str | None:
        """Give one sign and look for the others'; a sentence when somebody has been silent for too long."""
        now = self.clock()
        try:
            self.beats += 1
            self.store.set(f"lab/beat/{self.rank}", str(self.beats))
            sign = self._read(f"lab/beat/{self.next}")
            if sign != self.last[0]:
                self.last = (sign, now)
            if self.next != self.rank and now - self.last[1] > SILENCE and sign != LEFT:
                self.store.set(LOST, str(self.next))
            lost = self._read(LOST).decode()
            self.reached = now
        except (RuntimeError, ValueError):  # the store is with the first process, or with torchrun on its machine
            if now - self.reached > SILENCE:
                return self._sentence(UNREACHED)
            return None
        return self._sentence(f"process {lost} has given no sign of life") if lost else None

    def _read(self, key: str) -> bytes:
        return self.store.get(key) if self.store.check([key]) else b""

    def _sentence(self, what: str, times: int = 1) -> str:
        return (
            f"Process {self.rank} ends: {what} for {times * SILENCE:.0f} s; it was killed, stopped or cut off. Go on "
            "from the last checkpoint with the same torchrun command and --resume."
        )

    def _run(self) -> None:
        while not self.over.wait(BEAT):
            if sentence := self.beat():
                self.lost(sentence)
                return

    def _watch(self) -> None:
        """End where a beat never comes back: a store asked over a cut network waits for ever, whatever its timeout."""
        looks = 0
        while not self.over.wait(BEAT):
            looks = looks + 1 if self.clock() - self.reached > 2 * SILENCE else 0
            if looks > 2:  # not at the first look: a process that stood still has to be let beat again
                self.lost(self._sentence(UNREACHED, times=2))
                return

    def __enter__(self) -> Heartbeat:
        self.thread.start()
        self.watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self.over.set()
        self.thread.join(timeout=2 * BEAT)
        if kind is None:  # the first one may go on alone, to evaluate
            last = threading.Thread(target=self._leave, daemon=True)  # over a cut network it would wait for ever
            last.start()
            last.join(timeout=SILENCE)

    def _leave(self) -> None:
        with suppress(RuntimeError):
            self.store.set(f"lab/beat/{self.rank}", LEFT.decode())


def own_store(session: str) -> Any:
    """A connection to the store where the processes met; the one that collectives use would wait with them.

    session: a name that all know, and none before them: torchrun keeps its store when it starts the processes anew.
    """
    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(*where, is_master=False, timeout=timedelta(seconds=SILENCE))
    return dist.PrefixStore(session, store)


def end_at_once(sentence: str) -> None:
    """Say why, and end this process: its main thread waits in a collective and cannot be reached."""
    with suppress(OSError):
        sys.stderr.write(f"\nlab: {sentence}\n")
        sys.stderr.flush()
    os._exit(1)
