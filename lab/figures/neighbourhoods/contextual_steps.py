"""004, algorithm 1: from distances to contextual similarity for twelve emoji, and one pair followed through."""

from typing import Any, Literal

import numpy as np
import torch

from lab.core import style
from lab.figures import twelve
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob, slack, slope
from lab.kernels.plain import neighbours as plain
from lab.kernels.plain.neighbours import Steps
from lab.surrogates import ConstantGradient

Emoji = Literal[
    "tiger 1",
    "tiger 2",
    "tiger 3",
    "cat 1",
    "cat 2",
    "cat 3",
    "fox 1",
    "fox 2",
    "fox 3",
    "frog 1",
    "frog 2",
    "frog 3",
]
PANELS = {
    "D": "1 · D, squared distance",
    "N": "2 · N, neighbours ●",
    "W1": "3 · W₁, shared company",
    "mutual": "4 · mutual within k/2 ●",
    "w": "5 · w, contextual similarity",
    "gradient": "6 · ∂L/∂D, ✗ against label",
}
"""Step to the title of its matrix."""


class ContextualSteps(Figure):
    """Six matrices of the twelve emoji: distance, neighbours, W1, close reciprocal neighbours, w, and the gradient."""

    title = "Contextual similarity, step by step"
    source = "Contextual, algorithm 1, eq. 2-5, figures 12 and 17"
    tier = "instant"
    question = (
        "Follow tiger 1 and frog 3: what makes them alike, and what does the loss then do to them?"
    )
    moves = ("k", "complement")

    row: Emoji = knob(
        "First emoji of the pair that is followed; a click on a cell chooses both.",
        default="tiger 1",
    )
    column: Emoji = knob("Second emoji of the pair.", default="frog 3")
    k: int = knob(
        "Neighbours, the item itself included.", default=4, ge=1, le=12, source="Contextual, eq. 2"
    )
    complement: bool = knob(
        "Compare what lies outside the neighbourhoods too (M-).",
        default=True,
        source="Contextual, fig. 12",
    )
    eps: float = slack(0.0, 2)
    alpha: float = slope()
    minimum: bool = knob(
        "Take the minimum instead of the product as the logical 'and'.",
        default=False,
        source="Contextual, table 5",
    )
    expansion: bool = knob(
        "Average over close reciprocal neighbours (step 3).",
        default=True,
        source="Contextual, eq. 4",
    )
    stop_gradient: bool = knob(
        "Sizes of neighbourhoods carry no gradient.",
        default=True,
        source="Contextual, table 5, row 8",
    )
    detach_expansion: bool = knob(
        "Sizes of the reciprocal neighbourhoods (step 3) carry no gradient either.",
        default=False,
        source="Contextual, H.6, fig. 17",
    )

    def numbers(self) -> Numbers:
        k = self.knobs
        labels = twelve.LABELS
        units = torch.from_numpy(twelve.VECTORS)
        distances = (2 - 2 * units @ units.T).clamp_min(0).requires_grad_()
        steps = Steps(
            k=k.k,
            eps=k.eps,
            theta=ConstantGradient(k.alpha),
            minimum=k.minimum,
            complement=k.complement,
            expansion=k.expansion,
            stop_gradient=k.stop_gradient,
            detach_expansion=k.detach_expansion,
        )
        near = plain._neighbours(distances, steps.k, steps)
        half = plain._neighbours(distances, max(1, steps.k // 2), steps)
        w = plain.contextual_similarity(distances, steps)
        same = torch.from_numpy(labels[:, None] == labels[None, :])
        loss = (same.to(w) - w).square().fill_diagonal_(0).mean()
        (gradient,) = torch.autograd.grad(loss, distances)
        gradient = (gradient + gradient.T).fill_diagonal_(0)
        layers = {
            "D": distances,
            "N": near,
            "W1": plain._agreement(near, steps),
            "mutual": half * half.T,
            "w": w,
            "gradient": gradient,
        }
        i, j = (twelve.NAMES.index(name) for name in (k.row, k.column))
        return {
            "layers": {name: layer.detach().numpy() for name, layer in layers.items()},
            "loss": loss.item(),
            "against": torch.where(same, gradient < -1e-12, gradient > 1e-12).numpy(),
            "pair": (i, j),
            "shared": np.flatnonzero((near[i] * near[j]).detach().numpy()),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        n = len(twelve.NAMES)
        figure = self.canvas(
            f"{self._followed(numbers)}<br>L_context <b>{numbers['loss']:.3f}</b>; the frames follow the pair, thin "
            "lines separate the kinds",
            panels=tuple(PANELS.values()),
            rows=2,
            cols=3,
            height=720,
            horizontal_spacing=0.03,
            vertical_spacing=0.08,
        )
        everyone = np.arange(n)
        edge = np.full(n, -1.0)
        both = [*everyone, *everyone], [*edge, *everyone], [*everyone, *edge]
        pictures = []
        frames = []
        for place, name in enumerate(PANELS):
            where = {"row": 1 + place // 3, "col": 1 + place % 3}
            axes = twelve.axes_of(figure, **where)
            self._draw_matrix(figure, numbers, name, where)
            pictures += twelve.placed(*both, (0.95, 0.95), axes)
            frames += [frame | axes for frame in _frames(numbers["pair"], n)]
        figure.update_layout(images=pictures, shapes=frames)
        figure.update_xaxes(visible=False, range=[-1.6, n - 0.4])
        return figure.update_yaxes(visible=False, range=[n - 0.4, -1.6])

    @staticmethod
    def _draw_matrix(
        figure: PlotlyFigure, numbers: Numbers, name: str, where: dict[str, int]
    ) -> None:
        """Draw one step: colours, a number or sign in each cell, and the kinds."""
        layer = numbers["layers"][name]
        n = len(twelve.NAMES)
        reach = max(np.abs(layer).max(), 1e-12)
        if name == "gradient":
            look = {"colorscale": style.DIVERGING, "zmin": -reach, "zmax": reach}
            text = np.where(numbers["against"], style.WRONG, "")
        else:
            look = {"colorscale": [[0, "white"], [1, style.SKY]], "zmin": 0, "zmax": reach}
            digits = np.array(
                [
                    [f"{value:.1f}".lstrip("0") if value >= 0.05 else "" for value in row]
                    for row in layer
                ]
            )
            if name in ("N", "mutual"):
                text = np.where(layer > 0, "●", "")
            else:
                text = digits
        figure.add_heatmap(
            z=layer,
            showscale=False,
            xgap=1,
            ygap=1,
            text=text,
            texttemplate="%{text}",
            textfont={"size": 10},
            customdata=[[f"{a} and {b}" for b in twelve.NAMES] for a in twelve.NAMES],
            hovertemplate=f"%{{customdata}}<br>{PANELS[name]} %{{z:.3g}}<extra></extra>",
            **look,
            **where,
        )
        edges = np.arange(2.5, n - 1, 3)
        ends = [-0.5, n - 0.5, np.nan]
        lines = [np.repeat(edges, 3), np.tile(ends, len(edges))]
        figure.add_scatter(
            x=[*lines[0], *lines[1]],
            y=[*lines[1], *lines[0]],
            mode="lines",
            showlegend=False,
            hoverinfo="skip",
            line={"width": 1, "color": style.GREY},
            **where,
        )

    def clicked(self, x: Any, y: Any) -> dict[str, str]:
        """A cell: follow its pair."""
        return {"row": twelve.NAMES[round(y)], "column": twelve.NAMES[round(x)]}

    def _followed(self, numbers: Numbers) -> str:
        """Describe the result of each step for the pair in words."""
        (i, j) = numbers["pair"]
        layers = numbers["layers"]
        company = numbers["shared"]
        shared = ", ".join(twelve.NAMES[item] for item in company) or "nobody"
        push = layers["gradient"][i, j]
        if push > 1e-12:
            moves = "pulled together"
        elif push < -1e-12:
            moves = "pushed apart"
        else:
            moves = "left alone"
        if numbers["against"][i, j]:
            against = f" {style.WRONG} against their labels"
        else:
            against = ""
        return (
            f"{self.knobs.row} and {self.knobs.column} share {len(company)} neighbours ({shared}): W₁ "
            f"{layers['W1'][i, j]:.2f}, w {layers['w'][i, j]:.2f}, and are {moves}{against}"
        )

    def alt(self, numbers: Numbers) -> str:
        near = numbers["layers"]["N"].sum(axis=1)
        return (
            f"Six matrices of twelve emoji, from squared distance to gradient. Neighbourhoods hold {near.min():.0f} to "
            f"{near.max():.0f} items; the contextual loss is {numbers['loss']:.4f}, and "
            f"{numbers['against'].mean():.1%} of the pairs move against their label. {self._followed(numbers)}."
        )


def _frames(pair: tuple[int, int], n: int) -> list[dict]:
    """Return frames around the rows of a pair and around its cell."""
    rows = [
        {
            "type": "rect",
            "x0": -1.5,
            "x1": n - 0.5,
            "y0": y - 0.5,
            "y1": y + 0.5,
            "line": style.line(index, 2),
        }
        for index, y in enumerate(pair)
    ]
    i, j = pair
    thick = {"color": style.BLACK, "width": 3}
    return [
        *rows,
        {"type": "rect", "x0": j - 0.5, "x1": j + 0.5, "y0": i - 0.5, "y1": i + 0.5, "line": thick},
    ]
