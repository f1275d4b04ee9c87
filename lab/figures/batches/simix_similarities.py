"""000, eq. 8-10: a virtual example on the chord between two emoji, and its similarities by mixing scalars alone."""

import itertools
from typing import Literal

import numpy as np

from lab.core import style
from lab.figures import twelve
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, curve, knob, marks

PAIRS = {
    f"{twelve.NAMES[a]} + {twelve.NAMES[b].split()[1]}": (a, b)
    for a, b in itertools.combinations(range(12), 2)
    if twelve.LABELS[a] == twelve.LABELS[b]
}
"""The pairs that SiMix mixes: two of one kind."""


class SimixSimilarities(Figure):
    """Two emoji of one kind, their mixture, and its list among the twelve."""

    title = "SiMix mixes similarities, never vectors"
    source = "RS@k, algorithm 1 and eq. 8-10"
    tier = "instant"
    question = "Move α from 0 to 1: whom does the mixture of two tigers find, and why is it shorter than 1?"
    moves = ("alpha", "pair")

    alpha: float = knob(
        "Mixing weight: 1 is the first of the two, 0 the second.", default=0.5, ge=0, le=1
    )
    pair: Literal[
        "tiger 1 + 2",
        "tiger 1 + 3",
        "tiger 2 + 3",
        "cat 1 + 2",
        "cat 1 + 3",
        "cat 2 + 3",
        "fox 1 + 2",
        "fox 1 + 3",
        "fox 2 + 3",
        "frog 1 + 2",
        "frog 1 + 3",
        "frog 2 + 3",
    ] = knob("Two emoji of one kind.", default="tiger 1 + 3", source="RS@k, alg. 1")

    def numbers(self) -> Numbers:
        alpha = self.knobs.alpha
        (a, b) = PAIRS[self.knobs.pair]
        s = twelve.VECTORS @ twelve.VECTORS.T
        mixture = alpha * twelve.VECTORS[a] + (1 - alpha) * twelve.VECTORS[b]
        mixed = alpha * s[a] + (1 - alpha) * s[b]  # eq. 9
        return {
            "pair": (a, b),
            "mixture": mixture,
            "length": float(np.linalg.norm(mixture)),
            "mixed": mixed,
            "of": (s[a], s[b]),
            "itself": float(alpha * mixed[a] + (1 - alpha) * mixed[b]),  # eq. 10
            "error": float(np.abs(mixed - twelve.VECTORS @ mixture).max()),
            "order": np.argsort(-mixed, kind="stable"),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        (a, b) = numbers["pair"]
        (x, y) = numbers["mixture"]
        order = numbers["order"]
        ends = twelve.VECTORS[[a, b]]
        angles = np.linspace(0, 2 * np.pi, 121)
        figure = self.canvas(
            f"{self._worked(numbers)}<br>the mixture is <b>{numbers['length']:.2f}</b> long, so its similarity to "
            f"itself is {numbers['itself']:.2f}; the vectors give the same to {numbers['error']:.0e}",
            panels=("the mixture lies on the chord", "its list: similarities, mixed"),
            height=560,
            x=("first coordinate", "similarity to the mixture"),
            y=("second coordinate", "rank"),
        )
        for name, line, index in (
            ("all lengths are 1 on the circle", np.stack([np.cos(angles), np.sin(angles)], 1), 2),
            ("chord: α x + (1 - α) z", ends, 1),
            ("length of the mixture", np.array([[0, 0], [x, y]]), 0),
        ):
            curve(figure, index, name, line[:, 0], line[:, 1], **LEFT)
        marks(figure, 6, "the mixture", [x], [y], size=20, **LEFT)
        across, up = 1.16 * twelve.VECTORS.T
        twelve.lay(figure, range(12), across, up, (0.26, 0.26), **LEFT)
        right = twelve.LABELS[order] == twelve.LABELS[a]
        for index, (name, mine) in enumerate((("same kind", right), ("another kind", ~right))):
            figure.add_bar(
                x=numbers["mixed"][order][mine],
                y=np.flatnonzero(mine) + 1,
                orientation="h",
                name=name,
                width=0.3,
                marker={"color": style.COLOURS[index], "pattern": {"shape": "/" if index else ""}},
                hovertemplate="rank %{y}: %{x:.2f}<extra></extra>",
                **BESIDE,
            )
        lefts = numbers["mixed"][order] + np.where(numbers["mixed"][order] < 0, -0.13, 0.13)
        twelve.lay(figure, order, lefts, np.arange(1, 13), (0.2, 0.95), **BESIDE)
        figure.update_xaxes(range=[-1.4, 1.4], **LEFT)
        figure.update_yaxes(range=[-1.4, 1.4], scaleanchor="x", **LEFT)
        figure.update_xaxes(range=[-1.3, 1.3], **BESIDE)
        figure.update_yaxes(range=[12.7, 0.3], dtick=1, showgrid=False, **BESIDE)
        return style.legend_below(figure)

    def _worked(self, numbers: Numbers) -> str:
        """Explain in words the mixed similarity of the first item of the list (eq. 9)."""
        first = numbers["order"][0]
        alpha = self.knobs.alpha
        one, other = (similarities[first] for similarities in numbers["of"])
        words = f"{alpha:.2f} · {one:.2f} + {1 - alpha:.2f} · {other:.2f} = {numbers['mixed'][first]:.2f}"
        return f"similarity to {twelve.NAMES[first]}: {words}"

    def alt(self, numbers: Numbers) -> str:
        names = ", ".join(twelve.NAMES[item] for item in numbers["order"][:4])
        return (
            f"Twelve emoji on a circle and the mixture of {self.knobs.pair} on the chord between them, "
            f"{numbers['length']:.2f} long because nothing is renormalised. Its list begins with {names}; "
            f"{self._worked(numbers)}."
        )
