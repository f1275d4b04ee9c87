"""004, figure 5: the parts of the contextual gradient, by eq. 9 of the text and as it is (eq. 39 of the appendix)."""

from typing import Literal

import numpy as np
import torch

from lab.core import style
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob, marks, slack, slope
from lab.figures.points import squared_distances
from lab.kernels.neighbours import plain
from lab.surrogates import ConstantGradient


class GradientParts(Figure):
    """A wrongly ranked negative pair i, j in the plane, their neighbourhoods, and the parts of the gradient as arrows.

    Eq. 9 pushes i from the neighbours of j, and leaves the others alone. The gradient of algorithm 1 is that of
    eq. 39: it also pulls i towards every non-neighbour of j, with alpha / 2 (n - k), since M- counts shared ones.
    The two differ by just that much on every entry; autograd, drawn beside both, says which of them is right.
    """

    title = "The contextual gradient moves whole neighbourhoods"
    source = "Contextual, figure 5, eq. 8, 9 and 39"
    tier = "instant"
    question = "Which arrows push two items of one class apart, and why may that be right?"
    moves = ("equation", "j")

    i: int = knob("One item of the pair, of the first class.", default=0, ge=0, le=5)
    j: int = knob("The other item, of the second class.", default=2, ge=0, le=5)
    k: int = knob("Neighbours, the item itself included.", default=4, ge=2, le=8, source="Contextual, eq. 2")
    equation: Literal["39", "9"] = knob("The gradient as it is (39), or as the main text prints it (9).", default="39")
    eps: float = slack(0.0)
    alpha: float = slope()
    first: bool = knob("Show part 1: j is pushed away from i.", default=True)
    second: bool = knob("Show part 2: i is pushed from the neighbours of j, and j from those of i.", default=True)
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat([0, 1], 6)
        points = np.array([[-0.8, 0.0], [0.8, 0.0]])[labels] + 0.45 * random.normal(size=(12, 2))
        i, j = k.i, 6 + k.j
        points[0], points[8] = (0.05, 0.02), (0.25, -0.05)  # the default pair starts out wrongly ranked
        distance = squared_distances(points, points)
        radius = np.sort(distance, axis=1)[:, k.k - 1] + k.eps
        near = distance <= radius[:, None]
        # A right pair has w = y = 0 here, and then nothing of this reaches the loss.
        taken = near[i, j] * _autograd(distance, i, j, k.k, k.eps, k.alpha)
        n, g = len(points), 1.0
        a = 1 / (2 * k.k) + 1 / (2 * (n - k.k))
        b = (n - 2 * k.k) / (2 * (n - k.k))
        shared = near[i] @ near[j].astype(float)
        first = -k.alpha * g * (a * shared + b) * near[i, j]
        left_out = k.alpha * g / (2 * (n - k.k)) * near[i, j]
        printed = -k.alpha * a * g * near[i, j] * near[j] + first * (np.arange(n) == j)
        pull = left_out * (k.equation == "39")
        return {
            "points": points, "labels": labels, "i": i, "j": j, "near": near, "radius": np.sqrt(radius),
            "wrong": bool(near[i, j]),
            "first": first,
            "second_i": pull - k.alpha * a * g * near[i, j] * near[j],
            "second_j": pull - k.alpha * a * g * near[i, j] * near[i],
            "autograd_i": taken[0], "autograd_j": taken[1],
            "entries": {"eq. 9": printed, "eq. 39": printed + left_out, "autograd of algorithm 1": taken[0]},
        }  # fmt: skip

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        points, labels, i, j = numbers["points"], numbers["labels"], numbers["i"], numbers["j"]
        parted = int((numbers["second_i"][labels == 0] < 0).sum() - (numbers["second_i"][i] < 0))
        parted += int((numbers["second_j"][labels == 1] < 0).sum() - (numbers["second_j"][j] < 0))
        subtitle = (
            f"∂D(i, j) = {numbers['first']:.2f} by part ①, the long arrows; part ②, the short ones, also parts "
            f"<b>{parted}</b> pairs of one label."
            if numbers["wrong"]
            else "j is not among the neighbours of i: the pair is ranked right and both parts are zero"
        )
        figure = self.canvas(
            subtitle + _deviations(numbers) * numbers["wrong"],
            panels=("the pair and its arrows", "∂W₁(i, j) / ∂D(i, ·), image by image"),
            column_widths=[0.6, 0.4],
            height=600,
            x=("embedding, first coordinate",),
            y=("second coordinate",),
        )
        for item, other, name, index in ((i, j, "i", 0), (j, i, "j", 1)):
            outward = -1 if points[item][0] <= points[other][0] else 1
            _neighbourhood(figure, points[item], numbers["radius"][item], index, f"N(k+ε) of {name}", outward)
        self._draw_arrows(figure, numbers)
        for index in (0, 1):
            mine = labels == index
            marks(
                figure, index, ("first class", "second class")[index], points[mine, 0], points[mine, 1], size=12, **LEFT
            )
        figure.add_scatter(
            x=points[[i, j], 0], y=points[[i, j], 1], mode="markers+text", text=["<b>i</b>", "<b>j</b>"],
            textposition="top right", textfont={"size": 17}, name="the pair",
            marker={"symbol": "circle-open", "size": 22, "color": style.BLACK, "line": {"width": 2.5}}, **LEFT,
        )  # fmt: skip
        for index, name in enumerate((f"{style.RIGHT} with the labels", f"{style.WRONG} against the labels")):
            figure.add_scatter(
                x=[None], y=[None], mode="lines+markers", name=name, line={"color": style.COLOURS[index], "width": 3},
                marker={"symbol": ("arrow", "x")[index], "size": 10, "color": style.COLOURS[index]}, **LEFT,
            )  # fmt: skip
        _draw_entries(figure, numbers)
        figure.update_yaxes(scaleanchor="x", **LEFT)
        return style.legend_below(figure)

    def _draw_arrows(self, figure: PlotlyFigure, numbers: Numbers) -> None:
        """What moves i and j, as long as it is strong."""
        k, points, labels, i, j = self.knobs, numbers["points"], numbers["labels"], numbers["i"], numbers["j"]
        arrows = []
        if k.first and numbers["wrong"]:
            arrows += [(i, j, numbers["first"], "①"), (j, i, numbers["first"], "①")]
        if k.second and numbers["wrong"]:
            arrows += [(i, p, numbers["second_i"][p], "②") for p in np.flatnonzero(numbers["second_i"]) if p != i]
            arrows += [(j, p, numbers["second_j"][p], "②") for p in np.flatnonzero(numbers["second_j"]) if p != j]
        largest = max([abs(size) for _, _, size, _ in arrows] + [1e-9])
        for mover, other, size, part in arrows:
            right = (labels[mover] == labels[other]) == (size > 0)
            away = np.sign(-size) * (points[mover] - points[other])
            end = points[mover] + 0.9 * abs(size) / largest * away / (np.linalg.norm(away) + 1e-9)
            figure.add_annotation(
                x=end[0], y=end[1], ax=points[mover][0], ay=points[mover][1], axref="x", ayref="y",
                text="", showarrow=True, arrowhead=2, arrowwidth=3 if part == "①" else 1.8,
                arrowcolor=style.BLUE if right else style.VERMILLION,
            )  # fmt: skip
            if part == "①" or not right:  # the others are many and short: their signs would hide the points
                beyond = points[mover] + 1.15 * (end - points[mover])
                style.note(figure, part if right else style.WRONG, *beyond, bgcolor="rgba(255,255,255,0.6)")

    def alt(self, numbers: Numbers) -> str:
        state = "is" if numbers["wrong"] else "is not"
        return (
            f"Twelve points of two classes; j {state} in the neighbourhood of i. Part 1 pushes the pair with "
            f"{numbers['first']:.2f}; part 2 pushes i from {int((numbers['second_i'] < 0).sum())} neighbours of j "
            f"and j from {int((numbers['second_j'] < 0).sum())} neighbours of i, and pulls i towards "
            f"{int((numbers['second_i'] > 0).sum())} non-neighbours of j.{_deviations(numbers) * numbers['wrong']}"
        )


def _deviations(numbers: Numbers) -> str:
    """How far both equations are from autograd."""
    *printed, (_, taken) = numbers["entries"].items()
    gaps = {name: np.abs(entries - taken) for name, entries in printed}
    off = [
        f"{name} on {(gap > 1e-9).sum()} of {len(taken)} images, by up to {gap.max():.2f}"
        if gap.max() > 1e-9
        else f"{name} on none"
        for name, gap in gaps.items()
    ]
    return f" Off from autograd: {'; '.join(off)}."


def _draw_entries(figure: PlotlyFigure, numbers: Numbers) -> None:
    """Row i of the gradient by both equations and by autograd, a place for each image."""

    i, j = numbers["i"], numbers["j"]
    names = [{i: "i", j: "j"}.get(item, str(item + 1)) for item in range(len(numbers["points"]))]
    for index, (name, entries) in enumerate(numbers["entries"].items(), start=2):
        shape = {"symbol": "circle-open", "size": 17, "line": {"width": 2}} if index == 4 else {"size": 8}
        figure.add_scatter(
            x=entries, y=names, mode="markers", name=name, marker={**style.marker(index), **shape},
            hovertemplate="image %{y}<br>%{x:.3f}", **BESIDE,
        )  # fmt: skip
    figure.update_xaxes(title_text="gradient per squared distance", **BESIDE)
    figure.update_yaxes(title_text="image", type="category", autorange="reversed", **BESIDE)


def _neighbourhood(figure: PlotlyFigure, centre: np.ndarray, r: float, index: int, name: str, outward: int) -> None:
    """A circle, its name beside it on the left (-1) or on the right."""
    x, y = centre
    figure.add_shape(
        type="circle", x0=x - r, x1=x + r, y0=y - r, y1=y + r, fillcolor=style.COLOURS[index], opacity=0.12,
        line={"color": style.COLOURS[index], "dash": style.DASHES[index], "width": 3},
    )  # fmt: skip
    side = "right" if outward < 0 else "left"
    style.note(figure, name, x + 0.72 * outward * r, y - 0.72 * r, xanchor=side, yanchor="top")


def _autograd(distance: np.ndarray, i: int, j: int, k: int, eps: float, alpha: float) -> np.ndarray:
    """Rows i and j of the gradient of W1(i, j) by the distances [n n], as algorithm 1 makes it, [2 n]."""
    leaf = torch.from_numpy(distance).requires_grad_()
    steps = plain.Steps(k=k, eps=eps, theta=ConstantGradient(alpha))
    agreement = plain._agreement(plain._neighbours(leaf, k, steps), steps)
    (gradient,) = torch.autograd.grad(agreement[i, j], leaf)
    return gradient[[i, j]].numpy()
