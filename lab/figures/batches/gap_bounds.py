"""001, eq. 6, 8 and 9: the decomposability gap of one query against its two upper bounds."""

import numpy as np

from lab.figures._base import Figure, Numbers, PlotlyFigure, curve, knob
from lab.figures.points import normal, uniform
from lab.inspect import average_precision, gap_bound
from lab.metrics.decomposability_gap import BatchCounts, largest_bound_9


class GapBounds(Figure):
    """Random batches that are all ranked perfectly; their gap, eq. 8 and eq. 9, by the number of batches.

    Both bounds are the largest over all orders of the batches; in any one order they are none.
    """

    title = "The decomposability gap and its bounds"
    source = "ROADMAP, eq. 6, 8, 9"
    tier = "instant"
    question = "When is the refined bound tighter, and can you make it looser than the plain one?"

    batches: int = knob(
        "Largest number of batches, K.", default=8, ge=2, le=8, source="ROADMAP, eq. 6"
    )
    alpha: float = knob(
        "Positives should score at least alpha.",
        default=0.9,
        ge=-1,
        le=1.5,
        unit="cosine",
        source="ROADMAP, eq. 9",
    )
    beta: float = knob(
        "Negatives should score at most beta.",
        default=0.6,
        ge=-1,
        le=1.5,
        unit="cosine",
        source="ROADMAP, eq. 9",
    )
    noise: float = knob(
        "Spread of the mean scores of the batches.", default=0.05, ge=0, le=1, unit="cosine"
    )
    positives: int = knob("Positives in each batch.", default=3, ge=1, le=10)
    negatives: int = knob("Negatives in each batch.", default=12, ge=1, le=60)
    splits: int = knob("Random draws for each K.", default=20, ge=1, le=100)
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        sizes = np.arange(1, k.batches + 1)
        gap, refined = np.zeros((2, len(sizes), k.splits))
        relevant = np.arange(k.positives + k.negatives) < k.positives
        for row, count in enumerate(sizes):
            drawn = uniform(k.seed + 1000 * count, k.splits, count, 2 + len(relevant))
            level, above, below = np.split(drawn, [2, 2 + k.positives], axis=2)
            positive = 1 - 0.15 * above + k.noise * normal(level)[..., None]
            scores = np.dstack([positive, positive.min(axis=2, keepdims=True) - 0.02 - 0.6 * below])
            gap[row] = [
                1 - average_precision(one.ravel(), np.tile(relevant, count)) for one in scores
            ]
            high = (positive >= k.alpha).sum(axis=2)
            noisy = (scores[..., ~relevant] > k.beta).sum(axis=2)
            mine, others, ones = (np.full_like(high, n) for n in (k.positives, k.negatives, 1))
            refined[row] = largest_bound_9(BatchCounts(mine, others, ones, high, noisy))
        bound = [gap_bound(np.full(n, k.positives), np.full(n, k.negatives)) for n in sizes]
        return {"sizes": sizes, "gap": gap, "refined": refined, "bound": np.array(bound)}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            f"every batch alone has AP 1; with {numbers['sizes'][-1]} of them the whole list has "
            f"{1 - numbers['gap'][-1].mean():.3f}",
            x="number of batches, K",
            y="mean AP of the batches minus AP of all",
        )
        x = numbers["sizes"]
        low = numbers["gap"].min(axis=1)
        high = numbers["gap"].max(axis=1)
        figure.add_scatter(
            x=[*x, *x[::-1]],
            y=[*high, *low[::-1]],
            fill="toself",
            fillcolor="rgba(0,114,178,0.15)",
            line={"width": 0},
            mode="lines",
            name="range over the draws",
            hoverinfo="skip",
        )
        curves = (
            ("measured gap, mean (eq. 6)", numbers["gap"].mean(axis=1)),
            ("bound (eq. 8)", numbers["bound"]),
            ("refined bound, mean (eq. 9)", numbers["refined"].mean(axis=1)),
        )
        for index, (name, y) in enumerate(curves):
            curve(figure, index, name, x, y, size=9)
        figure.update_xaxes(dtick=1)
        return figure.update_yaxes(rangemode="tozero")

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Gap and bounds for up to {numbers['sizes'][-1]} perfectly ranked batches. At the right end the gap is "
            f"{numbers['gap'][-1].mean():.3f}, equation 8 allows {numbers['bound'][-1]:.3f}, equation 9 "
            f"{numbers['refined'][-1].mean():.3f}."
        )
