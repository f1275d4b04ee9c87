"""One search by cosine, by inner product and by distance: what the lengths of vectors do to a list."""

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, curve, knob

OTHERS = (("a", 10, 1.0), ("b", -20, 0.8), ("c", 30, 1.2), ("t", 90, 1.0), ("u", -120, 0.9))
"""Name, degrees from the query, length; a, b and c are of its class."""


class VectorLengths(Figure):
    """Six vectors ranked for one query in three ways, while a stranger among them grows."""

    title = "What a search makes of lengths"
    source = "More"
    tier = "instant"
    question = "Make the stranger S longer: in which of the three lists does it come first, and in which never?"

    length: float = knob("Length of the stranger's vector.", default=1.0, ge=0.1, le=2.5)
    angle: float = knob(
        "Angle between stranger and query.", default=40.0, ge=15, le=85, unit="degrees"
    )

    def numbers(self) -> Numbers:
        k = self.knobs
        names, degrees, lengths = zip(("S", k.angle, k.length), *OTHERS, strict=True)
        radians = np.radians(degrees)
        sizes = np.array(lengths)
        vectors = sizes[:, None] * np.column_stack([np.cos(radians), np.sin(radians)])
        query = np.array([1.0, 0.0])
        scores = {
            "cosine": vectors @ query / sizes,
            "inner product": vectors @ query,
            "distance": -np.linalg.norm(vectors - query, axis=1),
        }
        order = {name: np.argsort(-values, kind="stable") for name, values in scores.items()}
        place = {name: int(np.flatnonzero(rows == 0)[0]) + 1 for name, rows in order.items()}
        mine = np.array([name in "abc" for name in names])
        return {
            "names": names,
            "vectors": vectors,
            "mine": mine,
            "scores": scores,
            "order": order,
            "place": place,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            "the stranger S is number "
            + ", ".join(f"<b>{n}</b> by {name}" for name, n in numbers["place"].items()),
            panels=("the query and the vectors", "the three lists"),
            column_widths=[0.45, 0.55],
            horizontal_spacing=0.18,
            height=540,
            x=("first coordinate", "rank"),
            y=("second coordinate", "ranked by"),
        )
        figure.add_scatter(
            x=[0, 1],
            y=[0, 0],
            mode="lines+markers+text",
            text=["", "query"],
            textposition="bottom right",
            line=style.line(6, 4),
            marker={"size": [0, 9], "color": style.BLACK},
            showlegend=False,
            **LEFT,
        )
        for index, (name, mask) in enumerate(
            (
                (f"{style.RIGHT} of the query's class", numbers["mine"]),
                (f"{style.WRONG} a stranger", ~numbers["mine"]),
            )
        ):
            self._group(figure, numbers, mask, name, index)
        figure.update_xaxes(range=[-0.8, 2.9], constrain="domain", **LEFT)
        figure.update_yaxes(range=[-1, 2.7], scaleanchor="x", constrain="domain", **LEFT)
        figure.update_xaxes(range=[0.4, 6.6], dtick=1, **BESIDE)
        figure.update_yaxes(range=[2.6, -0.6], type="category", **BESIDE)
        return style.legend_below(figure)

    def _group(
        self, figure: PlotlyFigure, numbers: Numbers, mask: np.ndarray, name: str, index: int
    ) -> None:
        """The vectors of one kind: as lines from the origin, and at their ranks."""
        names = np.array(numbers["names"])
        (x, y) = numbers["vectors"][mask].T
        gap = np.full(len(x), np.nan)
        curve(
            figure,
            index,
            None,
            np.column_stack([0 * x, x, gap]).ravel(),
            np.column_stack([0 * y, y, gap]).ravel(),
            width=1.5,
            hoverinfo="skip",
            showlegend=False,
            **LEFT,
        )
        places = [
            (rank, way, row)
            for way, rows in numbers["order"].items()
            for rank, row in enumerate(rows, 1)
        ]
        ranked = [(rank, way, names[row]) for rank, way, row in places if mask[row]]
        for column, xs, ys, texts in (
            (1, x, y, names[mask]),
            (2, *map(list, zip(*ranked, strict=True))),
        ):
            figure.add_scatter(
                x=xs,
                y=ys,
                text=texts,
                mode="markers+text",
                name=name,
                textposition="middle right" if column == 1 and index == 0 else "top center",
                legendgroup=name,
                showlegend=column == 2,
                marker=style.marker(index, 11),
                row=1,
                col=column,
            )

    def alt(self, numbers: Numbers) -> str:
        k = self.knobs
        place = numbers["place"]
        return (
            f"A stranger of length {k.length:g} at {k.angle:g} degrees from the query: number {place['cosine']} of six "
            f"by cosine, {place['inner product']} by inner product, {place['distance']} by distance."
        )
