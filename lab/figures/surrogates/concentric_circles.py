"""004, figure 11: five rings, a small network, and three surrogates for the step of the simplified contextual loss."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob, marks, panel, slack
from lab.figures.points import letters, set_metrics


class ConcentricCircles(Figure):
    """Two-dimensional embeddings of noisy rings after training L1 with a constant gradient, a sigmoid, a bound."""

    title = "Which surrogate survives noise?"
    source = "Contextual, figure 11 and eq. 32"
    tier = "toy_training"
    question = "Raise the noise: which of the three gradients still separates the rings?"
    stops = {"noise": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5), "tau": (0.03, 0.1, 0.3)}

    noise: float = knob("Noise on the training points.", default=0.1, ge=0, le=1)
    rings: int = knob("Number of rings, each a class of its own.", default=5, ge=2, le=8)
    eps: float = slack(0.05)
    alpha: float = knob(
        "Slope of the constant gradient.",
        default=10.0,
        ge=0.1,
        le=100,
        scale="log",
        source="Contextual, eq. 20",
    )
    tau: float = knob(
        "Temperature of the sigmoid and the upper bound.",
        default=0.1,
        ge=0.001,
        le=1,
        scale="log",
        source="Contextual, eq. 21",
    )
    steps: int = knob("Training steps.", default=150, ge=1, le=250)
    lr: float = knob("Learning rate.", default=0.01, ge=0.001, le=0.1, scale="log")
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return 3 * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat(np.arange(k.rings), 40)

        def points(noise: float) -> Tensor:
            angle = random.uniform(0, 2 * np.pi, len(labels))
            ring = (1 + labels)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) / k.rings
            return torch.from_numpy(ring + noise * random.normal(size=ring.shape)).float()

        clean = points(0.0)
        panes = {}
        for name, theta in (
            ("constant gradient", "step"),
            ("sigmoid", "sigmoid"),
            ("upper bound", "upper_bound"),
        ):
            loss = losses.create(
                "contextual",
                theta=theta,
                alpha=k.alpha,
                tau=k.tau,
                eps=k.eps,
                lam=1.0,
                gamma=0.0,
                k=4,
                intersection=False,
                expansion=False,
            )
            net = self._train(loss, points, labels)
            with torch.no_grad():
                out = nn.functional.normalize(net(clean), dim=1).double().numpy()
            panes[name] = {"points": out, "MAP@R": set_metrics(out, labels)["MAP@R"]}
        return {"panes": panes, "labels": labels, "clean": clean.numpy()}

    def _train(
        self, loss: losses.Loss, points: Callable[[float], Tensor], labels: np.ndarray
    ) -> nn.Module:
        k = self.knobs
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(k.seed)
            net = nn.Sequential(
                nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2)
            )
        random = np.random.default_rng(k.seed + 1)
        noisy = points(k.noise)
        optimiser = torch.optim.Adam(net.parameters(), lr=k.lr)
        for _ in range(k.steps):
            rows = np.concatenate(
                [
                    random.choice(np.flatnonzero(labels == c), 4, replace=False)
                    for c in range(k.rings)
                ]
            )
            value = loss(net(noisy[rows]), torch.from_numpy(labels[rows]))
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            _toy.on_step.get()()
        return net

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        panes = numbers["panes"]
        labels = numbers["labels"]
        titles = ("the rings", *(f"{n}, MAP@R {p['MAP@R']:.2f}" for n, p in panes.items()))
        figure = self.canvas(
            f"clean points after {self.knobs.steps} steps on points with noise {self.knobs.noise:g}; embeddings have "
            "length 1, each ring drawn at its own radius",
            panels=titles,
            cols=4,
            height=400,
            horizontal_spacing=0.05,
            x="first coordinate",
            y=("second coordinate",),
        )
        for c in np.unique(labels):
            mine = labels == c
            clouds = [
                numbers["clean"],
                *(p["points"] * (1 + 0.12 * labels[:, None]) for p in panes.values()),
            ]
            for column, points in enumerate(clouds, 1):
                marks(
                    figure,
                    int(c),
                    f"ring {letters([c])[0]}",
                    points[mine, 0],
                    points[mine, 1],
                    size=6,
                    opacity=0.75,
                    **panel(column, str(c)),
                )
        for column in range(1, 5):
            axis = "x" if column == 1 else f"x{column}"
            if column == 1:
                reach = 1.15
            else:
                reach = 1.2 + 0.12 * float(labels.max())
            figure.update_xaxes(range=[-reach, reach], row=1, col=column)
            figure.update_yaxes(
                range=[-reach, reach], scaleanchor=axis, constrain="domain", row=1, col=column
            )
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(f"{name} {pane['MAP@R']:.3f}" for name, pane in numbers["panes"].items())
        return (
            f"{self.knobs.rings} rings embedded on the circle, noise "
            f"{self.knobs.noise:g} in training. MAP@R: {values}."
        )
