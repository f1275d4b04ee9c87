"""Similarities of pairs of one class and of two under one threshold, of all classes and of one that it serves badly."""

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.core.results import EmbeddingSet
from lab.figures import _runs, _thumbnails
from lab.figures._base import BESIDE, DASHED, LEFT, Numbers, PlotlyFigure, knob
from lab.kernels.pair_counts import count_pairs
from lab.metrics.opis import inconsistency, utilities

BINS = 40


class OneThreshold(_runs.RunFigure):
    """Two histograms of cosines with a line: of all pairs, and of the pairs of one class."""

    title = "Which similarity means the same?"
    source = "More"
    question = "Where is one line for all classes best, and which class pays for it?"
    examples = ("recall_at_k",)

    threshold: float = knob(
        "Pairs at least so similar count as the same.", default=0.4, ge=-1, le=1, unit="cosine"
    )
    place: int = knob(
        "Class on the right: 0 is the one that the line serves worst.", default=0, ge=0, le=39
    )
    split: str = _runs.SPLIT

    def numbers(self, runs: Sequence = ()) -> Numbers:
        stored = _runs.test_embeddings(runs[0], self.knobs.split)
        stored = stored.take(np.flatnonzero(stored.labelled))
        if not len(stored):
            raise ValueError(
                "OneThreshold: no image of this run has a class; give the images classes."
            )
        _, groups = np.unique(stored.labels, return_inverse=True)
        images = EmbeddingSet(stored.vectors, groups, stored.items)
        counts = count_pairs(images, images, "cosine", np.arange(len(images)), groups)
        known = (counts.same[:, 0] > 0) & (counts.other[:, 0] > 0)
        if not known.any():
            raise ValueError(
                "OneThreshold: no class has pairs of one class and of two; give classes of two images."
            )
        column = int(np.abs(counts.thresholds[1:] - self.knobs.threshold).argmin()) + 1
        served = utilities(counts.same, counts.other)[:, column]
        worst = np.argsort(served, kind="stable")[min(self.knobs.place, len(served) - 1)]
        row = int(np.flatnonzero(known)[worst])
        seen = np.flatnonzero(
            (counts.same + counts.other).sum(0) < counts.same[:, 0].sum() + counts.other[:, 0].sum()
        )
        least = counts.thresholds[max(1, int(seen[0]) - 1)]
        edges = [
            int(np.abs(counts.thresholds - one).argmin()) for one in np.linspace(least, 1, BINS + 1)
        ]
        names = _thumbnails.names(_thumbnails.images(runs[0]), stored.items)
        return {
            "edges": counts.thresholds[edges],
            "class": names[int(stored.items[groups == row][0])],
            "panels": [
                _panel(counts.same[rows].sum(0), counts.other[rows].sum(0), edges, column)
                for rows in (slice(None), slice(row, row + 1))
            ],
            "opis": inconsistency(counts, 0.01, 0.1),
            "run": runs[0].name,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            f"{self._told(numbers, 0)} · OPIS <b>{numbers['opis']:.4f}</b>",
            panels=("all classes", f"{numbers['class']}: {self._told(numbers, 1)}"),
        )
        for panel, where in zip(numbers["panels"], (LEFT, BESIDE), strict=True):
            for index, name in enumerate(("same", "other")):
                shares = panel[name]
                figure.add_scatter(
                    x=numbers["edges"],
                    y=np.append(shares, shares[-1]),
                    fill="tozeroy",
                    opacity=0.8,
                    name=("pairs of one class", "pairs of two classes")[index],
                    showlegend=where is LEFT,
                    line={**style.line(index), "shape": "hv"},
                    **where,
                )
            figure.add_vline(x=self.knobs.threshold, line=DASHED, **where)
        figure.update_xaxes(title_text="cosine similarity")
        figure.update_yaxes(tickformat=".0%").update_yaxes(
            title_text="share of the pairs of each kind", **LEFT
        )
        return style.legend_below(figure)

    def _told(self, numbers: Numbers, panel: int) -> str:
        rates = numbers["panels"][panel]
        return f"false accepts {rates['far']:.1%}, false rejects {rates['frr']:.1%}"

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Similarities of {numbers['run']} with a threshold at {self.knobs.threshold:g}: {self._told(numbers, 0)} "
            f"over all classes; {self._told(numbers, 1)} for {numbers['class']}."
        )


def _panel(same: np.ndarray, other: np.ndarray, edges: list[int], column: int) -> Numbers:
    """Return the shares per bin of pairs of one class and of two classes, and the rates at the threshold."""
    sides = {
        name: -np.diff(np.append(of[edges[:-1]], 0)) / max(1, of[0])
        for name, of in (("same", same), ("other", other))
    }
    return {
        **sides,
        "far": other[column] / max(1, other[0]),
        "frr": 1 - same[column] / max(1, same[0]),
    }
