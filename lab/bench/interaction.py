"""Interaction: seconds that somebody waits for the command, a figure, the inspector, a batch of images."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lab import data, figures, inspect, losses
from lab.bench._measure import BenchRow, medians
from lab.bench.losses import batch
from lab.core.knobs import describe
from lab.data.images import loading, transforms
from lab.install import children

if TYPE_CHECKING:
    from lab.core.knobs import Knob
    from lab.widgets import Live


INSPECTED = ("recall_at_k", "sup_ap", "contextual", "triplet_margin", "contrastive")


def measure(
    names: tuple[str, ...] = (),
    n: int = 512,
    images: int = 256,
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[BenchRow]:
    """Rows with what is bearable as their goal.

    Args:
        names: figures; all that answer at once when none is named. The slowest is told.
        n: embeddings that the inspector is given.
        images: of a batch.
    """
    for what, words, goal in (("import lab", ["-c", "import lab"], 0.3), ("lab --help", ["-m", "lab", "--help"], 0.5)):
        command = children.python(*words)
        work = partial(subprocess.run, command, env=children.environment(), check=True, capture_output=True)
        taken = medians({what: work}, repeats)  # always by the clock: the work is another process's
        spread = taken.spread(what)
        yield BenchRow("interaction", what, "a process of its own", taken[what], "s", goal=goal, spread=spread)
    yield from _figures(names or tuple(one for one in figures.names() if _answers_at_once(one)), repeats, clock)
    yield from _inspector(n, repeats, clock)
    yield _loading(images, repeats, clock)


def _answers_at_once(name: str) -> bool:
    return figures.get(name).tier in ("instant", "static")


def _slowest(name: str, works: dict[str, Callable], repeats: int, clock: Callable[[], float]) -> BenchRow:
    taken = medians(works, repeats, clock)
    slowest = max(taken, key=lambda work: taken[work])
    setting, spread = f"{slowest}, the slowest of {len(works)}", taken.spread(slowest)
    return BenchRow("interaction", name, setting, taken[slowest], "s", goal=0.1, spread=spread)


def _figures(names: tuple[str, ...], repeats: int, clock: Callable[[], float]) -> Iterator[BenchRow]:
    from lab.widgets import show

    yield _slowest("a figure is drawn", {one: figures.create(one).figure for one in names}, repeats, clock)
    moves = {one: _move(show(one)) for one in names if any(_other(*knob) is not None for knob in _knobs(one))}
    yield _slowest("a slider in a notebook moves its figure", moves, repeats, clock)


def _knobs(name: str) -> list[tuple[Knob, Any]]:
    start = figures.create(name).knobs
    return [(knob, getattr(start, knob.name)) for knob in describe(type(start))]


def _other(knob: Knob, value: Any) -> Any:
    """A legal value of a slider a little away; None where the knob is no slider."""
    if knob.kind not in (int, float) or knob.many or knob.optional or knob.choices:
        return None
    near = (value + 1, value - 1) if knob.kind is int else (value * 1.05, value * 0.95)
    return next((one for one in near if one != value and knob.check(one) is None), None)


def _move(live: Live) -> Callable[[], None]:
    """Move the first slider of a live figure away or back."""
    name = type(live.figure).__module__.rsplit(".", 1)[-1]
    knob, home = next((knob, value) for knob, value in _knobs(name) if _other(knob, value) is not None)
    away = _other(knob, home)
    live.widget()

    def work() -> None:
        live.set(**{knob.name: away if getattr(live.figure.knobs, knob.name) == home else home})

    return work


def _inspector(n: int, repeats: int, clock: Callable[[], float]) -> Iterator[BenchRow]:
    vectors, labels = batch(n, 128, 4, "half-trained")

    def look(loss: Any) -> None:
        pairs = inspect.pair_gradients(loss, vectors, labels)
        inspect.wrong_direction(pairs)
        inspect.dead_gradients(pairs)

    works = {name: partial(look, losses.create(name)) for name in INSPECTED}
    taken = medians(works, repeats, clock)
    for name, seconds in taken.items():
        what, spread = f"every pair inspected, {name}", taken.spread(name)
        yield BenchRow("interaction", what, f"n={n} d=128", seconds, "s", goal=1, spread=spread)


def _loading(images: int, repeats: int, clock: Callable[[], float]) -> BenchRow:
    """Seconds of this process for a batch of the embedded set, cropped and flipped."""
    loader = loading.Loader(data.create("emoji7"), transforms.training(32))
    taken = medians({"batch": lambda: list(loader.batches([np.arange(images)]))}, repeats, clock)
    setting, spread = f"{images} of 32 px", taken.spread("batch")
    return BenchRow("interaction", "a batch of images", setting, taken["batch"], "s", goal=0.1, spread=spread)
