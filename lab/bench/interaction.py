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
        yield taken.row(what, "interaction", what, "a process of its own", goal=goal)
    names = names or tuple(one for one in figures.names() if figures.get(one).tier in ("instant", "static"))
    yield _slowest("a figure is drawn", {one: figures.create(one).figure for one in names}, repeats, clock)
    moves = {one: move for one in names if (move := _move(one))}
    yield _slowest("a slider in a notebook moves its figure", moves, repeats, clock)
    yield from _inspector(n, repeats, clock)
    loader = loading.Loader(data.create("emoji7"), transforms.training(32))
    taken = medians({"batch": lambda: list(loader.batches([np.arange(images)]))}, repeats, clock)
    yield taken.row("batch", "interaction", "a batch of images", f"{images} of 32 px", goal=0.1)


def _slowest(name: str, works: dict[str, Callable], repeats: int, clock: Callable[[], float]) -> BenchRow:
    taken = medians(works, repeats, clock)
    slowest = max(taken, key=taken.__getitem__)
    return taken.row(slowest, "interaction", name, f"{slowest}, the slowest of {len(works)}", goal=0.1)


def _move(name: str) -> Callable[[], None] | None:
    """Move the first slider of a live figure away or back; None where it has no slider."""
    from lab.widgets import show

    start = figures.create(name).knobs
    near = (
        (knob.name, getattr(start, knob.name), _near(knob, getattr(start, knob.name))) for knob in describe(type(start))
    )
    first = next((one for one in near if one[2] is not None), None)
    if first is None:
        return None
    knob, home, away = first
    live = show(name)
    live.widget()
    return lambda: live.set(**{knob: away if getattr(live.figure.knobs, knob) == home else home})


def _near(knob: Knob, value: Any) -> Any:
    """A legal value of a slider a little away; None where the knob is no slider."""
    if knob.kind not in (int, float) or knob.many or knob.optional or knob.choices:
        return None
    near = (value + 1, value - 1) if knob.kind is int else (value * 1.05, value * 0.95)
    return next((one for one in near if one != value and knob.check(one) is None), None)


def _inspector(n: int, repeats: int, clock: Callable[[], float]) -> Iterator[BenchRow]:
    vectors, labels = batch(n, 128, 4, "half-trained")

    def look(loss: Any) -> None:
        pairs = inspect.pair_gradients(loss, vectors, labels)
        inspect.wrong_direction(pairs)
        inspect.dead_gradients(pairs)

    taken = medians({name: partial(look, losses.create(name)) for name in INSPECTED}, repeats, clock)
    for name in taken:
        yield taken.row(name, "interaction", f"every pair inspected, {name}", f"n={n} d=128", goal=1)
