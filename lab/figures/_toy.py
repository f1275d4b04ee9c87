"""A toy that trains in a fraction of a second: classes hidden among nuisance directions, and a small network.

Training and test classes are disjoint, as in image retrieval: what counts is whether the network learns which
directions carry class, not which class is which.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.core import style
from lab.core.estimates import deviation
from lab.figures._base import PlotlyFigure, curve
from lab.figures.points import set_metrics

on_step: ContextVar[Callable[[], None]] = ContextVar("on_step", default=lambda: None)
"""Called after every step of every small training, by whoever wants to know how far it is."""


@dataclass(frozen=True)
class Split:
    """points: float32 [n w]; labels: int64 [n], 0 .. c-1."""

    points: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Toy:
    """Training and test sets of disjoint classes; `clean` keeps the training labels before noise."""

    train: Split
    test: Split
    clean: Tensor


def hidden_classes(
    classes: int = 12,
    per_class: int = 12,
    signal: int = 4,
    nuisance: int = 8,
    noise: float = 0.5,
    wrong_labels: float = 0.0,
    foreign: float = 0.0,
    shared: bool = False,
    seed: int = 0,
) -> Toy:
    """Two sets of `classes` classes each; `shared` draws the test points from the training classes.

    A point is a class centre in `signal` directions, blurred by `noise`, beside `nuisance` directions that are as
    strong and say nothing, all rotated. `wrong_labels` of the training labels are redrawn; `foreign` of the training
    points are replaced by points of no class.
    """
    random = np.random.default_rng(seed)
    width = signal + nuisance
    rotation = np.linalg.qr(random.normal(size=(width, width)))[0]
    first = random.normal(size=(classes, signal))
    second = first if shared else random.normal(size=(classes, signal))

    def draw(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(classes), per_class)
        core = centres[labels] + noise * random.normal(size=(len(labels), signal))
        return np.hstack([core, random.normal(size=(len(labels), nuisance))]) @ rotation, labels

    (points, clean), (test, test_labels) = draw(first), draw(second)
    labels = clean.copy()
    swapped = random.choice(len(labels), int(wrong_labels * len(labels)), replace=False)
    labels[swapped] = random.integers(0, classes, len(swapped))
    strangers = random.choice(len(labels), int(foreign * len(labels)), replace=False)
    points[strangers] = random.normal(size=(len(strangers), width))

    def split(x: np.ndarray, y: np.ndarray) -> Split:
        return Split(torch.from_numpy(x).float(), torch.from_numpy(y))

    return Toy(split(points, labels), split(test, test_labels), torch.from_numpy(clean))


@dataclass
class Trace:
    """What a training run left behind at its snapshots.

    steps: when; losses: training loss there, mean since the last snapshot.
    train, test: metrics of both sets; embeddings: of both sets, float64 [n d]. net: the network at the end.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    train: list[dict[str, float]] = field(default_factory=list)
    test: list[dict[str, float]] = field(default_factory=list)
    embeddings: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    net: nn.Module | None = None

    def curve(self, which: str, metric: str) -> np.ndarray:
        """One metric over the snapshots."""
        return np.array([values[metric] for values in getattr(self, which)])


def train(
    loss: Callable[[Tensor, Tensor], Tensor],
    toy: Toy,
    *,
    dim: int = 8,
    steps: int = 60,
    classes: int = 8,
    per_class: int = 4,
    lr: float = 0.01,
    every: int | None = None,
    normalise: bool = True,
    seed: int = 0,
) -> Trace:
    """Train two layers with Adam on batches of `classes` times `per_class` points; same seed, same numbers.

    `every` steps a snapshot is taken, always at the start and at the end; None takes those two alone.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(toy.train.points.shape[1], 32), nn.ReLU(), nn.Linear(32, dim))
    random = np.random.default_rng(seed)
    weights = list(loss.parameters()) if isinstance(loss, nn.Module) else []
    optimiser = torch.optim.Adam([*net.parameters(), *weights], lr=lr)
    members = [np.flatnonzero(toy.train.labels.numpy() == c) for c in range(int(toy.train.labels.max()) + 1)]
    members = [m for m in members if len(m) >= 2]
    trace = Trace(net=net)
    recent: list[Any] = []

    def embed(points: Tensor) -> Tensor:
        out = net(points)
        return nn.functional.normalize(out, dim=1) if normalise else out

    def snapshot(step: int) -> None:
        with torch.no_grad():
            both = [embed(part.points).double().numpy() for part in (toy.train, toy.test)]
        trace.steps.append(step)
        trace.losses.append(float(np.mean(recent)) if recent else float("nan"))
        trace.train.append(set_metrics(both[0], toy.clean.numpy()))
        trace.test.append(set_metrics(both[1], toy.test.labels.numpy()))
        trace.embeddings.append((both[0], both[1]))
        recent.clear()

    snapshot(0)
    for step in range(1, steps + 1):
        chosen = random.choice(len(members), min(classes, len(members)), replace=False)
        rows = np.concatenate(
            [random.choice(members[c], min(per_class, len(members[c])), replace=False) for c in chosen]
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed * 100_003 + step)
            value = loss(embed(toy.train.points[rows]), toy.train.labels[rows])
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        recent.append(value.item())
        on_step.get()()
        if step == steps or (every and step % every == 0):
            snapshot(step)
    return trace


def untrained(split: Split) -> dict[str, float]:
    """Scores of the points as they come: the line that a training has to pass."""
    return set_metrics(split.points.double().numpy(), split.labels.numpy())


def sweep(run: Callable[[float, int], float], settings: Sequence[float], seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over the seeds of run(setting, seed), [settings] each."""
    values = np.array([[run(setting, seed) for seed in range(seeds)] for setting in settings])
    return values.mean(axis=1), deviation(values, axis=1)


def draw_sweep(
    figure: PlotlyFigure,
    x: Sequence[float] | Sequence[str],
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    without: Mapping[str, np.ndarray],
    **where: int,
) -> None:
    """Lines with error bars, mean and standard deviation over seeds; and what is reached `without` training, dotted.

    where: row and col of the panel.
    """
    for index, (name, (mean, spread)) in enumerate(curves.items()):
        curve(figure, index, name, list(x), mean, size=9, error_y={"array": spread, "thickness": 1.5}, **where)
    for index, (name, scores) in enumerate(without.items()):
        line = {"color": (style.BLACK, style.GREY)[index], "dash": "dot", "width": 3 - index}
        figure.add_scatter(x=list(x), y=scores, name=name, mode="lines", line=line, **where)


def beaten(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], without: np.ndarray) -> str:
    """Which lines no training beats, in words to end a subtitle with."""
    below = {name: int((mean < without).sum()) for name, (mean, _) in curves.items()}
    losing = [f"{name} at {count} of {len(without)}" for name, count in below.items() if count]
    return f"; {style.WRONG} below no training: {', '.join(losing)}" if losing else "; all above no training"
