"""004, figure 10: what the neighbourhood alone pulls in and pushes out."""

import numpy as np

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, arrow, knob, marks, slack
from lab.figures.points import squared_distances


class NeighbourhoodPull(Figure):
    """One item, its k + eps neighbourhood, and the constant push of the simplified loss L1 on everybody else."""

    title = "The simplified contextual loss: inside or outside the neighbourhood"
    source = "Contextual, figure 10 and eq. 32"
    tier = "instant"
    question = "Raise ε: which items does the margin push although the ranking needs no push?"

    k: int = knob(
        "Number of neighbours, the item itself included.",
        default=4,
        ge=1,
        le=12,
        source="Contextual, eq. 2",
    )
    eps: float = slack(0.1, 2)
    per_class: int = knob("Items of the item's class, itself included.", default=4, ge=2, le=8)
    spread: float = knob("Spread of that class.", default=0.9, ge=0.1, le=2, scale="log")
    seed: int = knob("Random seed.", default=5, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        mine = k.spread * random.normal(size=(k.per_class - 1, 2))
        others = 1.6 * random.normal(size=(14, 2))
        points = np.concatenate([np.zeros((1, 2)), mine, others])
        same = np.arange(len(points)) < k.per_class
        distance = squared_distances(points[:1], points)[0]
        edge = np.sort(distance)[min(k.k, len(points)) - 1] + k.eps
        inside = distance <= edge
        force = np.where(same & ~inside, -1.0, np.where(~same & inside, 1.0, 0.0))
        force[0] = 0
        return {
            "points": points,
            "same": same,
            "inside": inside,
            "edge": float(np.sqrt(edge)),
            "force": force,
            "loss": float(np.mean(same != inside)),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        points = numbers["points"]
        same = numbers["same"]
        force = numbers["force"]
        figure = self.canvas(
            f"L₁ of this item <b>{numbers['loss']:.3f}</b>: {int((force < 0).sum())} of its label pulled in, "
            f"{int((force > 0).sum())} others pushed out, all with the slope α of θ",
            x="embedding, first coordinate",
            y="second coordinate",
            height=560,
        )
        r = numbers["edge"]
        figure.add_shape(
            type="circle",
            x0=-r,
            x1=r,
            y0=-r,
            y1=r,
            fillcolor=style.SKY,
            opacity=0.2,
            line={"color": style.BLUE, "dash": "dash", "width": 2},
        )
        style.note(figure, "N(k+ε)", 0, r, yanchor="bottom")
        for x, f in zip(points, force, strict=True):
            if f:
                end = x + 0.5 * np.sign(f) * x / (np.linalg.norm(x) + 1e-9)
                arrow(figure, x, end, style.BLUE if f < 0 else style.VERMILLION)
        for index, (name, mask) in enumerate((("same label", same), ("different label", ~same))):
            marks(figure, index, name, points[mask, 0], points[mask, 1], size=12)
        figure.add_scatter(
            x=[0],
            y=[0],
            mode="markers+text",
            text=["i"],
            textposition="top right",
            name="the item i",
            marker={"symbol": "star", "size": 18, "color": style.BLUE, "line": {"width": 1.5}},
        )
        return figure.update_yaxes(scaleanchor="x")

    def alt(self, numbers: Numbers) -> str:
        force = numbers["force"]
        return (
            f"An item in the plane with a neighbourhood of radius {numbers['edge']:.2f} holding "
            f"{int(numbers['inside'].sum())} items; {int((force < 0).sum())} of its label are pulled in, "
            f"{int((force > 0).sum())} others pushed out."
        )
