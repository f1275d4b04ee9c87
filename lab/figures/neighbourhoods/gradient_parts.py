"""004, figure 5: the parts of the contextual gradient in three frames, and what eq. 9 leaves out of algorithm 1."""

import numpy as np
import torch

from lab.core import style
from lab.figures import twelve
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, arrow, curve, knob, slack
from lab.figures.points import squared_distances
from lab.kernels.plain import neighbours as plain
from lab.surrogates import ConstantGradient

PLACES = {
    "tiger 1": (0.0, 0.0), "frog 3": (0.9, 0.15), "tiger 2": (-0.7, 0.75), "tiger 3": (0.6, -0.75),
    "frog 2": (1.7, 0.75), "frog 1": (1.95, -0.35), "cat 1": (-1.05, -0.85), "fox 1": (1.6, -1.3),
}  # fmt: skip
"""Places chosen by hand: tiger 1 and frog 3 are each other's neighbours and should not be; tiger 3 is near both."""
FRAMES = (
    "① the pair itself: tiger 1 and frog 3 push each other away",
    "② its company: each is also pushed from the neighbours of the other; the bars are now eq. 9",
    "③ and M₋: each is pulled to all that are no neighbours of the other, which eq. 9 leaves out",
)
ALPHA = 10.0
"""Slope of theta, which scales every arrow alike."""


class GradientParts(Figure):
    """A wrongly ranked pair i, j in the plane, their neighbourhoods, and the parts of the gradient in turn.

    Eq. 9 pushes i from the neighbours of j, and leaves the others alone. The gradient of algorithm 1 is that of
    eq. 39: it also pulls i towards every non-neighbour of j, with alpha / 2 (n - k), since M- counts shared ones.
    The two differ by just that much on every entry; autograd, drawn beside both, says which of them is right.
    """

    title = "The contextual gradient moves whole neighbourhoods"
    source = "Contextual, figure 5, eq. 8, 9 and 39"
    tier = "instant"
    plays = "part"
    question = "Which arrows go against the labels, and in which of the three frames do they come?"
    moves = ("part", "k")

    part: int = knob("How many parts of the gradient are shown, 1 to 3.", default=1, ge=1, le=3)
    k: int = knob(
        "Neighbours, the item itself included.", default=4, ge=2, le=6, source="Contextual, eq. 2"
    )
    eps: float = slack(0.0)

    def numbers(self) -> Numbers:
        k = self.knobs
        i = 0
        j = 1
        points = np.array(list(PLACES.values()))
        n = len(points)
        distance = squared_distances(points, points)
        radius = np.sort(distance, axis=1)[:, k.k - 1] + k.eps
        near = distance <= radius[:, None]
        wrong = bool(near[i, j])  # a pair that is ranked right has w = y = 0, and no gradient

        # The pair itself, its company (together eq. 9), and the term that eq. 39 adds.
        a = 1 / (2 * k.k) + 1 / (2 * (n - k.k))
        b = (n - 2 * k.k) / (2 * (n - k.k))
        first = -ALPHA * wrong * (a * (near[i] @ near[j].astype(float)) + b)
        missing = np.full(n, wrong * ALPHA / (2 * (n - k.k)))
        parts = [first * (np.arange(n) == j), -ALPHA * wrong * a * near[j], missing]
        eq_9 = parts[0] + parts[1]
        autograd = _autograd(distance, i, j, k.k, k.eps)
        return {
            "points": points,
            "i": i,
            "j": j,
            "near": near,
            "radius": np.sqrt(radius),
            "wrong": wrong,
            "parts": parts,
            "company": [-ALPHA * wrong * a * near[[j, i]], np.stack([missing, missing])],
            "shown": np.sum(parts[: k.part], axis=0),
            "entries": {"eq. 9": eq_9, "eq. 39": eq_9 + missing, "autograd": wrong * autograd},
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        points = numbers["points"]
        i = numbers["i"]
        j = numbers["j"]
        if numbers["wrong"]:
            words = FRAMES[k.part - 1]
        else:
            words = "the pair is ranked right, and nothing moves"
        figure = self.canvas(
            f"{words}<br>{_deviations(numbers)}",
            panels=("who pushes whom", "∂W₁(tiger 1, frog 3) / ∂D(tiger 1, ·)"),
            column_widths=[0.62, 0.38],
            height=600,
            x=("first coordinate", "gradient per squared distance"),
            y=("second coordinate", "emoji"),
        )
        for item, index, name in ((i, 0, "neighbours of tiger 1"), (j, 1, "neighbours of frog 3")):
            angles = np.linspace(0, 2 * np.pi, 91)
            r = numbers["radius"][item]
            x = points[item, 0] + r * np.cos(angles)
            y = points[item, 1] + r * np.sin(angles)
            curve(figure, index, name, x, y, hoverinfo="skip", **LEFT)
        self._draw_arrows(figure, numbers)
        items = [twelve.NAMES.index(name) for name in PLACES]
        twelve.lay(figure, items, points[:, 0], points[:, 1], (0.34, 0.34), **LEFT)
        rows = np.arange(len(items))
        figure.add_bar(
            x=numbers["shown"],
            y=rows,
            orientation="h",
            name="the parts shown",
            width=0.4,
            marker={"color": style.SKY},
            hovertemplate="%{x:.2f}<extra></extra>",
            **BESIDE,
        )
        figure.add_scatter(
            x=numbers["entries"]["autograd"],
            y=rows,
            mode="markers",
            name="autograd of algorithm 1",
            marker={
                "symbol": "diamond-open",
                "size": 13,
                "color": style.BLACK,
                "line": {"width": 2},
            },
            **BESIDE,
        )
        low = min(numbers["entries"]["autograd"].min(), numbers["shown"].min(), -1)
        twelve.lay(
            figure, items, np.full(len(items), 1.28 * low), rows, (0.16 * -low, 0.9), **BESIDE
        )
        figure.update_xaxes(range=[1.45 * low, -0.45 * low], **BESIDE)
        figure.update_yaxes(
            range=[len(items) - 0.5, -0.5], showticklabels=False, showgrid=False, **BESIDE
        )
        figure.update_xaxes(range=[-1.8, 2.5], **LEFT)
        figure.update_yaxes(range=[-1.9, 1.6], scaleanchor="x", **LEFT)
        return style.legend_below(figure)

    def _draw_arrows(self, figure: PlotlyFigure, numbers: Numbers) -> None:
        """Draw the arrows that move i and j by the parts shown, those of the newest part in full strength."""
        points = numbers["points"]
        i = numbers["i"]
        j = numbers["j"]
        shown = self.knobs.part
        kinds = [name.split()[0] for name in PLACES]
        pair = numbers["parts"][0][j]

        # Each arrow: the item that moves, the item that causes it, its size, and whether it is of the newest part.
        arrows = []
        if pair:
            arrows += [(i, j, pair, shown == 1), (j, i, pair, shown == 1)]
        if shown > 1:
            company = np.sum(numbers["company"][: shown - 1], axis=0)
            for mover, sizes in zip((i, j), company, strict=True):
                for other in np.flatnonzero(sizes):
                    if other not in (i, j):
                        arrows.append(
                            (mover, other, sizes[other], (sizes[other] > 0) == (shown == 3))
                        )

        for mover, other, size, newest in arrows:
            right = (kinds[mover] == kinds[other]) == (size > 0)
            away = np.sign(-size) * (points[mover] - points[other])
            end = points[mover] + (0.3 + 0.9 * abs(size / pair)) * away / np.linalg.norm(away)
            if newest:
                strength = {"width": 3.5, "opacity": 1}
            else:
                strength = {"width": 1.5, "opacity": 0.5}
            arrow(figure, points[mover], end, style.BLUE if right else style.VERMILLION, **strength)
            if newest and not right:
                style.note(
                    figure, f"<b>{style.WRONG}</b>", *(points[mover] + 1.15 * (end - points[mover]))
                )
        for index, name in enumerate(
            (f"{style.RIGHT} with the labels", f"{style.WRONG} against the labels")
        ):
            figure.add_scatter(
                x=[None],
                y=[None],
                mode="lines+markers",
                name=name,
                line={"color": style.COLOURS[index], "width": 3},
                marker={"symbol": ("arrow", "x")[index], "size": 10, "color": style.COLOURS[index]},
                **LEFT,
            )

    def alt(self, numbers: Numbers) -> str:
        near = numbers["near"]
        j = numbers["j"]
        company = ", ".join(name for name, mine in zip(PLACES, near[j], strict=True) if mine)
        return (
            f"Eight emoji in the plane; frog 3 {'is' if numbers['wrong'] else 'is not'} among the neighbours of tiger "
            f"1. The company of frog 3: {company}. Shown: {'; '.join(FRAMES[: self.knobs.part])}. "
            f"{_deviations(numbers)}"
        )


def _deviations(numbers: Numbers) -> str:
    """Say in words how far both equations are from autograd."""
    autograd = numbers["entries"]["autograd"]
    parts = []
    for name in ("eq. 9", "eq. 39"):
        gap = np.abs(numbers["entries"][name] - autograd)
        if gap.max() > 1e-9:
            parts.append(
                f"{name} on {(gap > 1e-9).sum()} of {len(autograd)} emoji, by up to {gap.max():.2f}"
            )
        else:
            parts.append(f"{name} on none")
    return f"Off from autograd: {'; '.join(parts)}."


def _autograd(distance: np.ndarray, i: int, j: int, k: int, eps: float) -> np.ndarray:
    """Return row i of the gradient of W1(i, j) of algorithm 1 with respect to the distances [n n], [n]."""
    leaf = torch.from_numpy(distance).requires_grad_()
    steps = plain.Steps(k=k, eps=eps, theta=ConstantGradient(ALPHA))
    agreement = plain._agreement(plain._neighbours(leaf, k, steps), steps)
    (gradient,) = torch.autograd.grad(agreement[i, j], leaf)
    return gradient[i].numpy()
