"""004, algorithm 1: from distances to contextual similarity, every mask a layer, with the switches of table 5."""

import numpy as np
import torch

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob, slack, slope
from lab.kernels.neighbours import plain
from lab.kernels.neighbours.plain import Steps
from lab.surrogates import ConstantGradient


class ContextualSteps(Figure):
    """Eight matrices: distance, neighbours, W1, close reciprocal neighbours, w, error, gradient, and its audit."""

    title = "Contextual similarity, step by step"
    source = "Contextual, algorithm 1, eq. 2-5, figures 12 and 17"
    tier = "instant"
    question = "Switch the complement off: which pairs lose their gradient?"
    moves = ("spread", "complement")

    classes: int = knob("Number of classes.", default=4, ge=2, le=8)
    per_class: int = knob("Items per class.", default=4, ge=2, le=6)
    spread: float = knob("Spread of a class.", default=0.8, ge=0.05, le=3, scale="log")
    k: int | None = knob(
        "Neighbours, the item itself included; empty takes the items a class.", default=None, ge=1, le=16
    )
    eps: float = slack(0.05, 2)
    alpha: float = slope()
    minimum: bool = knob(
        "Take the minimum instead of the product as the logical 'and'.", default=False, source="Contextual, table 5"
    )
    complement: bool = knob(
        "Compare what lies outside the neighbourhoods too (M-).", default=True, source="Contextual, fig. 12"
    )
    expansion: bool = knob(
        "Average over close reciprocal neighbours (step 3).", default=True, source="Contextual, eq. 4"
    )
    stop_gradient: bool = knob(
        "Sizes of neighbourhoods carry no gradient.", default=True, source="Contextual, table 5, row 8"
    )
    detach_expansion: bool = knob(
        "Sizes of the reciprocal neighbourhoods (step 3) carry no gradient either.",
        default=False,
        source="Contextual, H.6, fig. 17",
    )
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat(np.arange(k.classes), k.per_class)
        points = random.normal(size=(k.classes, 6))[labels] + k.spread * random.normal(size=(len(labels), 6))
        units = torch.from_numpy(points / np.linalg.norm(points, axis=1, keepdims=True))
        distances = (2 - 2 * units @ units.T).clamp_min(0).requires_grad_()
        steps = Steps(
            k=min(k.k or k.per_class, len(labels)), eps=k.eps, theta=ConstantGradient(k.alpha), minimum=k.minimum,
            complement=k.complement, expansion=k.expansion, stop_gradient=k.stop_gradient,
            detach_expansion=k.detach_expansion,
        )  # fmt: skip
        near = plain._neighbours(distances, steps.k, steps)
        agreement = plain._agreement(near, steps)
        half = plain._neighbours(distances, max(1, steps.k // 2), steps)
        w = plain.contextual_similarity(distances, steps)
        same = torch.from_numpy(labels[:, None] == labels[None, :])
        error = (same.to(w) - w).square().fill_diagonal_(0)
        (gradient,) = torch.autograd.grad(error.mean(), distances)
        gradient = (gradient + gradient.T).fill_diagonal_(0)
        wrong = torch.where(same, gradient < -1e-12, gradient > 1e-12)
        layers = {
            "D, squared distance": distances, "N, neighbours (k + ε)": near, "W₁, shared neighbourhood": agreement,
            "mutual among k/2 + ε": half * half.T, "w, contextual similarity": w, "(y - w)², error": error,
            "∂L/∂D, gradient": gradient, "against the label": wrong.double(),
        }  # fmt: skip
        return {
            "labels": labels,
            "layers": {name: layer.detach().numpy() for name, layer in layers.items()},
            "loss": error.mean().item(),
            "wrong": float(wrong.double().mean()),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        layers = numbers["layers"]
        figure = self.canvas(
            f"L_context <b>{numbers['loss']:.4f}</b> · {numbers['wrong']:.1%} of the pairs move against their label · "
            "lines separate the classes",
            panels=tuple(layers),
            rows=2,
            cols=4,
            height=640,
            horizontal_spacing=0.05,
            vertical_spacing=0.12,
        )
        n = len(numbers["labels"])
        grid = _class_lines(np.flatnonzero(np.diff(numbers["labels"])) + 0.5, n)
        for index, (name, layer) in enumerate(layers.items()):
            row, col = 1 + index // 4, 1 + index % 4
            signed = name.startswith("∂")
            reach = max(np.abs(layer).max(), 1e-12)
            drawn_as = (
                {"colorscale": style.DIVERGING, "zmid": 0, "zmin": -reach, "zmax": reach}
                if signed
                else {
                    "colorscale": [[0, "white"], [1, style.VERMILLION if index == 7 else style.BLUE]],
                    "zmin": 0,
                    "zmax": reach,
                }
            )
            figure.add_heatmap(
                z=layer, showscale=False, xgap=1, ygap=1,
                hovertemplate=f"{name}<br>%{{y}}, %{{x}}: %{{z:.3g}}<extra></extra>", **drawn_as, row=row, col=col,
            )  # fmt: skip
            figure.add_scatter(
                x=grid[0], y=grid[1], mode="lines", line={"width": 1, "color": style.BLACK}, showlegend=False,
                hoverinfo="skip", row=row, col=col,
            )  # fmt: skip
        bare = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
        figure.update_yaxes(range=[n - 0.5, -0.5], **bare)
        figure.update_xaxes(range=[-0.5, n - 0.5], **bare)
        figure.update_xaxes(title_text="item", row=2)
        return figure.update_yaxes(title_text="item", col=1)

    def alt(self, numbers: Numbers) -> str:
        near = numbers["layers"]["N, neighbours (k + ε)"].sum(axis=1)
        return (
            f"Eight matrices of {len(numbers['labels'])} items, from squared distance to gradient. Neighbourhoods hold "
            f"{near.min():.0f} to {near.max():.0f} items; the contextual loss is {numbers['loss']:.4f}, and "
            f"{numbers['wrong']:.1%} of the pairs move against their label."
        )


def _class_lines(edges: np.ndarray, n: int) -> tuple[list, list]:
    """One polyline with gaps that crosses an n by n matrix at every edge, both ways."""
    x, y = [], []
    for edge in edges:
        x += [edge, edge, None, -0.5, n - 0.5, None]
        y += [-0.5, n - 0.5, None, edge, edge, None]
    return x, y
