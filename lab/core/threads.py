"""Work in pieces, shared out among as many threads as torch has; within a piece torch has one thread.

Between two products torch's own threads wait by spinning, for milliseconds, on the very core that another thread of
Python wants: code that gives each product to all of torch's threads, and what lies between two products to threads of
its own, can take longer with two threads than with one. Here a thread does its pieces from beginning to end, and
compiled code and products of several threads run side by side.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TypeVar

import torch

Piece = TypeVar("Piece")
Blocks = TypeVar("Blocks", bound=tuple[int, ...])

_helpers: dict[tuple[int, int], ThreadPoolExecutor] = {}
"""Helping threads by process, since a fork has none of its parent's, and by how many they are."""

_beginning: dict[int, threading.Lock] = {}
"""Held while helpers begin, so that two threads do not make a pool each; by process, for a fork may copy a held one."""


def each(
    pieces: Iterable[Piece],
    work: Callable[[Piece], object],
    on_failure: Callable[[], object] = lambda: None,
) -> None:
    """work(piece) for every piece, some at a time, begun in their order.

    Helpers do all the pieces and the caller only waits for them: so Ctrl-C, which reaches the caller's thread alone,
    never loses a piece that others wait for.

    Args:
        pieces: what is to be done.
        work: must call nothing that reads the caller's context variables, and record no gradient.
        on_failure: called in the thread where something failed, at once; it should end what other pieces wait for.

    What work raises is raised here, once all threads are done with what they had begun.
    """
    pieces = list(pieces)
    threads = min(torch.get_num_threads(), len(pieces))
    if threads <= 1:
        for piece in pieces:
            work(piece)
        return
    waiting, failed = iter(pieces), threading.Event()
    inference = torch.is_inference_mode_enabled()

    def fail() -> None:
        failed.set()
        on_failure()

    def take() -> None:
        try:
            with torch.inference_mode() if inference else nullcontext():
                for piece in waiting:  # a list's iterator gives each piece to one thread
                    if failed.is_set():
                        return
                    work(piece)
        except BaseException:
            fail()
            raise

    pool = _pool(torch.get_num_threads())
    helpers: list[Future[None]] = []
    try:
        for _ in range(threads):
            helpers.append(pool.submit(take))
        errors = [error for error in (helper.exception() for helper in helpers) if error]
    except BaseException:
        fail()
        wait(helpers)
        raise
    if errors:
        raise errors[0]


def parts(size: int, work: Callable[[int, int], object]) -> None:
    """work(first, last) over a range of so many rows, one run of rows for each of torch's threads."""
    threads = max(1, min(torch.get_num_threads(), size))
    edges = [size * part // threads for part in range(threads + 1)]
    each(list(zip(edges[:-1], edges[1:], strict=True)), lambda edge: work(*edge))


def in_turns(
    places: Sequence[Blocks],
    prepare: Callable[[Blocks], Any],
    finish: Callable[[Blocks, Any], object],
    settle: Callable[[Blocks, Any], object] | None = None,
) -> None:
    """prepare(place), settle(place, prepared) and finish(place, prepared) for every place.

    A place names the blocks that its `finish` writes to: whoever does it, each block is written to in the order of the
    places, by one thread at a time. So sums come out the same to the last bit whatever thread was quicker. `prepare` is
    free to run at any time; `settle` runs in the order of the places. For them to run side by side, neighbouring places
    should name different blocks: see `in_rounds`.
    """
    if torch.get_num_threads() == 1 or len(places) < 2:
        for place in places:
            prepared = prepare(place)
            if settle:
                settle(place, prepared)
            finish(place, prepared)
        return
    turns = _Turns(places)

    def work(piece: int) -> None:
        with suppress(_Stopped):
            prepared = prepare(places[piece])
            if settle:
                with turns.turn([(_EVERYONE, piece)]):
                    settle(places[piece], prepared)
            with turns.turn(turns.before[piece]):
                finish(places[piece], prepared)

    each(range(len(places)), work, turns.end)


def in_rounds(
    places: Iterable[tuple[int, int]], diagonal_last: bool = False
) -> list[tuple[int, int]]:
    """Places (i, j) of a triangle in the order in which `in_turns` goes best through them.

    For one thread they stay as they are, which keeps i for long. For more they are sorted into the rounds of a
    tournament, no two of a round naming the same block; the diagonal, (i, i), is the last round.

    Example:
        >>> before = torch.get_num_threads()
        >>> torch.set_num_threads(2)
        >>> in_rounds([(0, 0), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
        [(0, 3), (1, 2), (0, 1), (2, 3), (0, 2), (1, 3), (0, 0)]
        >>> torch.set_num_threads(before)
    """
    places = list(places)
    if torch.get_num_threads() == 1 or not places:
        return sorted(places, key=lambda place: place[0] == place[1]) if diagonal_last else places
    rounds = max(max(place) for place in places) | 1

    def key(place: tuple[int, int]) -> tuple[int, int]:
        i, j = place
        if i == j:
            return rounds, i
        return (2 * i if j == rounds else i + j) % rounds, i

    return sorted(places, key=key)


class _Stopped(Exception):
    """Another thread failed, whose turn will never be over."""


_EVERYONE = -1
"""The block of turns that follow each other in the order of the places."""


class _Turns:
    """Who may write to which block: a piece waits until all earlier ones that name its blocks are done.

    before: for each piece its blocks, each with the number of earlier pieces that name it.
    """

    def __init__(self, places: Sequence[tuple[int, ...]]):
        named: Counter[int] = Counter()
        self.before: list[list[tuple[int, int]]] = []
        for place in places:
            self.before.append([(block, named[block]) for block in set(place)])
            named.update(set(place))
        self.done: Counter[int] = Counter()
        self.changed, self.failed = threading.Condition(), False

    @contextmanager
    def turn(self, blocks: list[tuple[int, int]]) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(
                lambda: self.failed or all(self.done[block] == before for block, before in blocks)
            )
            if self.failed:
                raise _Stopped
        yield
        with self.changed:
            self.done.update(block for block, _ in blocks)
            self.changed.notify_all()

    def end(self) -> None:
        """End all waiting; who waited stops with `_Stopped`."""
        with self.changed:
            self.failed = True
            self.changed.notify_all()


def _pool(size: int) -> ThreadPoolExecutor:
    """So many helping threads, all of them begun, each with one thread of torch to itself.

    torch keeps that number for each thread, and beside it one with which new threads begin, which a helper changes when
    it begins: so it is put back when the last of them has. A thread that asks torch for the first time meanwhile gets
    one and keeps it.
    """
    key = os.getpid(), size
    with _beginning.setdefault(os.getpid(), threading.Lock()):
        if key not in _helpers:
            threads, all_there = torch.get_num_threads(), threading.Barrier(size + 1)
            pool = ThreadPoolExecutor(size, "lab-helper", initializer=_begin)
            try:
                for _ in range(size):
                    pool.submit(all_there.wait)
                all_there.wait()
            except BaseException:
                all_there.abort()
                pool.shutdown(wait=True)
                raise
            finally:
                torch.set_num_threads(threads)
            _helpers[key] = pool
        return _helpers[key]


def _begin() -> None:
    torch.get_num_threads()  # torch sets a thread's number when it is first asked for; then it may be changed
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
