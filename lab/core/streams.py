"""Generators that report while they work: run one to its end, or make one of work that reports through a callback."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

from lab.core.records import Record

Result = TypeVar("Result")
Progress = TypeVar("Progress", bound=Record)
ReportProgress = Callable[[int, int], None]


def followed(
    work: Callable[[ReportProgress], Result], record: Callable[[int, int], Progress]
) -> Generator[Progress, None, Result]:
    """Run `work(progress)` in a thread; yield `record(done, total)` whenever it reports; return what it returns."""
    news: queue.SimpleQueue = queue.SimpleQueue()
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work(lambda done, total: news.put((done, total))))
        except BaseException as error:
            outcome.set_exception(error)
        news.put(None)

    threading.Thread(target=run, name="lab-followed", daemon=True).start()
    while (report := news.get()) is not None:
        yield record(*report)
    return outcome.result()


def result_of(
    work: Generator[Any, None, Result], tell: Callable[[Any], object] = lambda _: None
) -> Result:
    """Run a generator to its end and return what it returns; `tell` is called with whatever it yields."""
    while True:
        try:
            tell(next(work))
        except StopIteration as end:
            return end.value
