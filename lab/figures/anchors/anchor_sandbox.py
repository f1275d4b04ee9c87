"""003, figures 1 and 2: anchors and embeddings as bodies in the plane, pulled, pushed and kept off the origin."""

import json
from typing import Literal

import numpy as np
import torch

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob, marks
from lab.figures.points import letters, normal, uniform
from lab.losses.class_anchor_margin import attraction, repulsion, short_fall


class AnchorSandbox(Figure):
    """Gradient descent on the class-anchor loss where the embeddings move freely, with the three forces drawn."""

    title = "Anchors pull their own and push each other"
    source = "CAM, figures 1 and 2, eq. 1-4"
    tier = "instant"
    drag = ("anchors_x", "anchors_y")
    plays = "step"
    question = "Switch the repeller off: where do the anchors go? What does the minimum norm save?"

    step: int = knob("Number of optimisation steps taken.", default=20, ge=0, le=150)
    repeller: bool = knob("Push anchors apart.", default=True, source="CAM, eq. 2")
    min_norm: bool = knob("Keep anchors off the origin.", default=True, source="CAM, eq. 3")
    attractor: bool = knob(
        "Pull embeddings and anchor together.", default=True, source="CAM, eq. 1"
    )
    lr: float = knob("Learning rate.", default=0.05, ge=0.001, le=0.5, scale="log")
    m: float = knob(
        "Radius around each anchor that stays free.", default=2.0, ge=0.1, le=5, source="CAM, eq. 2"
    )
    p: float = knob("Minimum length of an anchor.", default=1.0, ge=0, le=5, source="CAM, eq. 3")
    classes: int = knob("Number of classes.", default=3, ge=2, le=6)
    per_class: int = knob("Embeddings per class.", default=8, ge=1, le=30)
    start: Literal["random", "origin", "circle"] = knob(
        "Where anchors start: at random, near the origin, or sqrt(2) m out on a circle.",
        default="random",
    )
    seed: int = knob("Random seed.", default=0, ge=0, le=999)
    anchors_x: tuple[float, ...] = knob(
        "First coordinates of your own anchors; empty: those of the start.", default=()
    )
    anchors_y: tuple[float, ...] = knob("Second coordinates of your own anchors.", default=())

    def initial(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return anchors [c 2], embeddings [n 2] and labels [n] before the first step.

        Raises:
            ValueError: own anchors that are not one point a class.
        """
        k = self.knobs
        labels = np.repeat(np.arange(k.classes), k.per_class)
        free, points = np.split(normal(uniform(k.seed, k.classes + len(labels), 2, 2)), [k.classes])
        angle = 2 * np.pi * np.arange(k.classes) / k.classes
        anchors = {
            "random": 1.2 * free,
            "origin": 0.05 * free,
            "circle": np.sqrt(2) * k.m * np.column_stack([np.cos(angle), np.sin(angle)]),
        }[k.start]
        if k.anchors_x or k.anchors_y:
            if not len(k.anchors_x) == len(k.anchors_y) == k.classes:
                raise ValueError(
                    f"AnchorSandbox: anchors_x and anchors_y must hold one number a class, {k.classes}, got "
                    f"{len(k.anchors_x)} and {len(k.anchors_y)}."
                )
            anchors = np.column_stack([k.anchors_x, k.anchors_y])
        return anchors, 0.8 * points, labels

    def given(self) -> Numbers:
        """A picture with all classes that there can be."""
        return {"whole": json.loads(type(self)(classes=6).figure().to_json())}

    def terms(
        self, anchors: torch.Tensor, points: torch.Tensor, labels: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """The parts of 003, eq. 4 that are switched on."""
        k = self.knobs
        parts = {
            "attractor": attraction(points, anchors[labels]).mean(),
            "repeller": repulsion(anchors, k.m, ordered=True),
            "min_norm": short_fall(anchors, k.p),
        }
        return {name: value for name, value in parts.items() if getattr(k, name)}

    def numbers(self) -> Numbers:
        k = self.knobs
        *places, labels = self.initial()
        anchors, points = (torch.from_numpy(x).requires_grad_() for x in places)
        classes = torch.from_numpy(labels)
        path = [anchors.detach().numpy().copy()]
        for _ in range(k.step):
            terms = self.terms(anchors, points, classes)
            if not terms:
                break
            total = torch.stack(list(terms.values())).sum()
            grads = torch.autograd.grad(total, (anchors, points), allow_unused=True)
            with torch.no_grad():
                for body, grad, scale in zip(
                    (anchors, points), grads, (1, len(labels) / k.classes), strict=True
                ):
                    if grad is not None:
                        body -= k.lr * scale * grad
            path.append(anchors.detach().numpy().copy())
        parts = self.terms(anchors, points, classes)
        forces = {}
        for name, value in parts.items():
            (grad,) = torch.autograd.grad(value, anchors, allow_unused=True, retain_graph=True)
            if grad is None:
                forces[name] = np.zeros((k.classes, 2))
            else:
                forces[name] = -grad.numpy()
        return {
            "anchors": anchors.detach().numpy(),
            "points": points.detach().numpy(),
            "labels": labels,
            "path": np.stack(path),
            "forces": forces,
            "loss": sum(value.item() for value in parts.values()),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        anchors = numbers["anchors"]
        points = numbers["points"]
        labels = numbers["labels"]
        figure = self.canvas(
            f"step {k.step}, loss <b>{numbers['loss']:.3f}</b>; discs of radius m around the anchors may not overlap",
            x="embedding, first coordinate",
            y="second coordinate",
            height=600,
        )
        for c in range(k.classes):
            colour = style.COLOURS[c]
            x, y = anchors[c]
            figure.add_shape(
                type="circle",
                x0=x - k.m,
                x1=x + k.m,
                y0=y - k.m,
                y1=y + k.m,
                fillcolor=colour,
                opacity=0.08,
                line={"color": colour},
            )
            name = f"class {letters([c])[0]}"
            (x, y) = points[labels == c].T
            marks(figure, c, name, x, y, size=8, opacity=0.7, legendgroup=str(c))
            figure.add_scatter(
                x=numbers["path"][:, c, 0],
                y=numbers["path"][:, c, 1],
                mode="lines",
                showlegend=False,
                line={"color": colour, "width": 1.5, "dash": "dot"},
                legendgroup=str(c),
                hoverinfo="skip",
            )
        figure.add_scatter(
            x=anchors[:, 0],
            y=anchors[:, 1],
            mode="markers+text",
            name="anchors",
            text=letters(range(k.classes)),
            textposition="top center",
            textfont={"size": 15},
            marker={
                "symbol": "star",
                "size": 18,
                "color": [style.COLOURS[c] for c in range(k.classes)],
                "line": {"width": 1.5, "color": style.BLACK},
            },
        )
        self._add_forces(figure, numbers)
        figure.add_scatter(
            x=[0],
            y=[0],
            mode="markers",
            name="origin",
            marker={"symbol": "cross-thin", "size": 12, "line": {"width": 2}, "color": style.BLACK},
        )
        return figure.update_yaxes(scaleanchor="x")

    def _add_forces(self, figure: PlotlyFigure, numbers: Numbers) -> None:
        """An arrow for each force on each anchor, the longest one and a half margins long; faint ones less."""
        styles = {
            "attractor": (style.BLUE, "solid"),
            "repeller": (style.VERMILLION, "dash"),
            "min_norm": (style.GREEN, "dot"),
        }
        k = self.knobs
        anchors = numbers["anchors"]
        longest = max([np.abs(f).max() for f in numbers["forces"].values()] + [0.01])
        for name, force in numbers["forces"].items():
            colour, dash = styles[name]
            ends = anchors + 1.5 * k.m * force / longest
            line = np.stack([anchors, ends, np.full_like(ends, np.nan)], axis=1).reshape(-1, 2)
            figure.add_scatter(
                x=line[:, 0],
                y=line[:, 1],
                mode="lines+markers",
                name=f"force of the {name.replace('_', ' ')}",
                line={"color": colour, "dash": dash, "width": 3},
                marker={
                    "symbol": "arrow",
                    "angleref": "previous",
                    "size": [0, 14, 0] * k.classes,
                    "color": colour,
                },
            )

    def alt(self, numbers: Numbers) -> str:
        anchors = numbers["anchors"]
        distances = np.linalg.norm(anchors[:, None] - anchors[None], axis=2)[
            np.triu_indices(len(anchors), 1)
        ]
        lengths = np.linalg.norm(anchors, axis=1)
        return (
            f"{len(anchors)} anchors and {len(numbers['labels'])} embeddings after {self.knobs.step} steps. The "
            f"nearest two anchors are {distances.min():.2f} apart, 2m is {2 * self.knobs.m:g}; the shortest anchor is "
            f"{lengths.min():.2f} long, p is {self.knobs.p:g}."
        )
