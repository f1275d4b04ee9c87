"""A toy problem that trains in a fraction of a second: classes hidden among nuisance directions, and a small network.

Training and test classes are disjoint, as in image retrieval: the network has to learn which directions carry class,
and not which class is which.
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
"""Function that is called after every step of every small training, to report progress."""


@dataclass(frozen=True)
class LabelledPoints:
    """A set of points float32 [n w] with labels int64 [n], 0 .. c-1."""

    points: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Toy:
    """Training and test sets of disjoint classes; `clean` holds the training labels before noise."""

    train: LabelledPoints
    test: LabelledPoints
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
    """Draw two sets of `classes` classes each; `shared` draws the test points from the training classes.

    A point is a class centre in `signal` directions, blurred by `noise`, with `nuisance` further directions that are as
    strong but carry no class; all directions are rotated. A share `wrong_labels` of the training labels is redrawn, and
    a share `foreign` of the training points is replaced by points of no class.
    """
    random = np.random.default_rng(seed)
    width = signal + nuisance
    rotation = np.linalg.qr(random.normal(size=(width, width)))[0]
    train_centres = random.normal(size=(classes, signal))
    if shared:
        test_centres = train_centres
    else:
        test_centres = random.normal(size=(classes, signal))

    def draw(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(classes), per_class)
        core = centres[labels] + noise * random.normal(size=(len(labels), signal))
        return np.hstack([core, random.normal(size=(len(labels), nuisance))]) @ rotation, labels

    points, clean_labels = draw(train_centres)
    test_points, test_labels = draw(test_centres)

    # Redraw some training labels, and replace some training points.
    labels = clean_labels.copy()
    relabelled = random.choice(len(labels), int(wrong_labels * len(labels)), replace=False)
    labels[relabelled] = random.integers(0, classes, len(relabelled))
    replaced = random.choice(len(labels), int(foreign * len(labels)), replace=False)
    points[replaced] = random.normal(size=(len(replaced), width))

    def as_tensors(points: np.ndarray, labels: np.ndarray) -> LabelledPoints:
        return LabelledPoints(torch.from_numpy(points).float(), torch.from_numpy(labels))

    return Toy(
        as_tensors(points, labels),
        as_tensors(test_points, test_labels),
        torch.from_numpy(clean_labels),
    )


@dataclass
class Trace:
    """Snapshots of a training.

    steps: step of each snapshot. losses: mean training loss since the snapshot before.
    train, test: metrics of both sets. embeddings: embeddings of both sets, float64 [n d].
    net: the network, trained at the end.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    train: list[dict[str, float]] = field(default_factory=list)
    test: list[dict[str, float]] = field(default_factory=list)
    embeddings: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    net: nn.Module | None = None

    def curve(self, which: str, metric: str) -> np.ndarray:
        """Return one metric over the snapshots; `which` is "train" or "test"."""
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
    """Train two layers with Adam on batches of `classes` times `per_class` points; equal seeds give equal numbers.

    A snapshot is taken every `every` steps, and at the start and the end; None takes only these two.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(toy.train.points.shape[1], 32), nn.ReLU(), nn.Linear(32, dim))
    random = np.random.default_rng(seed)
    weights = list(net.parameters())
    if isinstance(loss, nn.Module):
        weights += loss.parameters()
    optimiser = torch.optim.Adam(weights, lr=lr)

    # Rows of each class that has at least two points.
    members = []
    for c in range(int(toy.train.labels.max()) + 1):
        class_rows = np.flatnonzero(toy.train.labels.numpy() == c)
        if len(class_rows) >= 2:
            members.append(class_rows)

    trace = Trace(net=net)
    recent_losses: list[Any] = []

    def embed(points: Tensor) -> Tensor:
        out = net(points)
        return nn.functional.normalize(out, dim=1) if normalise else out

    def snapshot(step: int) -> None:
        with torch.no_grad():
            train_embeddings = embed(toy.train.points).double().numpy()
            test_embeddings = embed(toy.test.points).double().numpy()
        trace.steps.append(step)
        trace.losses.append(float(np.mean(recent_losses)) if recent_losses else float("nan"))
        trace.train.append(set_metrics(train_embeddings, toy.clean.numpy()))
        trace.test.append(set_metrics(test_embeddings, toy.test.labels.numpy()))
        trace.embeddings.append((train_embeddings, test_embeddings))
        recent_losses.clear()

    snapshot(0)
    for step in range(1, steps + 1):
        chosen = random.choice(len(members), min(classes, len(members)), replace=False)
        batch = []
        for c in chosen:
            batch.append(random.choice(members[c], min(per_class, len(members[c])), replace=False))
        rows = np.concatenate(batch)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed * 100_003 + step)
            value = loss(embed(toy.train.points[rows]), toy.train.labels[rows])
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        recent_losses.append(value.item())
        on_step.get()()
        if step == steps or (every and step % every == 0):
            snapshot(step)
    return trace


def untrained(points: LabelledPoints) -> dict[str, float]:
    """Return the scores of the points without training: the baseline of a training."""
    return set_metrics(points.points.double().numpy(), points.labels.numpy())


def sweep(
    run: Callable[[float, int], float], settings: Sequence[float], seeds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation over the seeds of run(setting, seed), [settings] each."""
    rows = []
    for setting in settings:
        rows.append([run(setting, seed) for seed in range(seeds)])
    values = np.array(rows)
    return values.mean(axis=1), deviation(values, axis=1)


def draw_sweep(
    figure: PlotlyFigure,
    x: Sequence[float] | Sequence[str],
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    without: Mapping[str, np.ndarray],
    **where: int,
) -> None:
    """Draw lines with error bars (mean and standard deviation over seeds), and dotted lines for no training.

    Args:
        without: scores without training, by the name of the line.
        where: row and col of the panel.
    """
    for index, (name, (mean, spread)) in enumerate(curves.items()):
        curve(
            figure,
            index,
            name,
            list(x),
            mean,
            size=9,
            error_y={"array": spread, "thickness": 1.5},
            **where,
        )
    for index, (name, scores) in enumerate(without.items()):
        line = {"color": (style.BLACK, style.GREY)[index], "dash": "dot", "width": 3 - index}
        figure.add_scatter(x=list(x), y=scores, name=name, mode="lines", line=line, **where)


def beaten(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], without: np.ndarray) -> str:
    """Return the lines that are below no training, in words for the end of a subtitle."""
    losing = []
    for name, (mean, _) in curves.items():
        count = int((mean < without).sum())
        if count:
            losing.append(f"{name} at {count} of {len(without)}")
    if losing:
        return f"; {style.WRONG} below no training: {', '.join(losing)}"
    return "; all above no training"
