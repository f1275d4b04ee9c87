"""001, figure 1b: batches that are each ranked perfectly, and the merged list that is not."""

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob, marks
from lab.inspect import average_precision, gap_bound


class TwoBatches(Figure):
    """One query, several batches of AP 1, shifted against each other; and what calibration does."""

    title = "Perfect batches, imperfect whole"
    source = "ROADMAP, figure 1b and eq. 6-8"
    tier = "instant"
    question = "Find a split whose batches all have AP 1 while the whole list has an AP below .6."
    moves = ("shift", "scale")

    shift: float = knob(
        "Difference between the scores of one batch and the next.",
        default=0.3,
        ge=0,
        le=1,
        unit="cosine",
    )
    scale: float = knob("Spread of the scores inside a batch.", default=1.0, ge=0.1, le=2)
    lam: float = knob(
        "Progress of the calibration from 0 (none) to 1 (complete); not the weight of eq. 2.",
        default=0.0,
        ge=0,
        le=1,
    )
    batches: int = knob("Number of batches, K.", default=2, ge=2, le=8, source="ROADMAP, eq. 6")
    positives: int = knob("Positives of the query in each batch.", default=3, ge=1, le=8)
    negatives: int = knob("Negatives in each batch.", default=5, ge=1, le=20)
    alpha: float = knob(
        "Positives are pulled up to alpha.",
        default=0.9,
        ge=-1,
        le=1,
        unit="cosine",
        source="ROADMAP, eq. 7",
    )
    beta: float = knob(
        "Negatives are pushed down to beta.",
        default=0.6,
        ge=-1,
        le=1,
        unit="cosine",
        source="ROADMAP, eq. 7",
    )

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.beta >= k.alpha:
            raise ValueError(
                f"TwoBatches: beta must be below alpha, got beta {k.beta:g} and alpha {k.alpha:g}."
            )
        positive = 0.92 - 0.06 * k.scale * np.arange(k.positives)
        negative = positive.min() - 0.08 * k.scale - 0.05 * k.scale * np.arange(k.negatives)
        relevant = np.arange(k.positives + k.negatives) < k.positives
        lists = []
        for b in range(k.batches):
            scores = np.concatenate([positive, negative]) - b * k.shift
            target = np.where(relevant, np.maximum(scores, k.alpha), np.minimum(scores, k.beta))
            lists.append((1 - k.lam) * scores + k.lam * target)
        inside = [average_precision(s, relevant) for s in lists]
        whole = average_precision(np.concatenate(lists), np.tile(relevant, k.batches))
        counts = np.full(k.batches, k.positives), np.full(k.batches, k.negatives)
        return {
            "scores": lists,
            "relevant": relevant,
            "inside": inside,
            "whole": whole,
            "gap": float(np.mean(inside) - whole),
            "bound": gap_bound(*counts),  # batches that are alike have no worst order
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        relevant = numbers["relevant"]
        rows = [f"batch {b + 1}" for b in range(k.batches)] + ["all merged"]
        lists = [*numbers["scores"], np.concatenate(numbers["scores"])]
        masks = [relevant] * k.batches + [np.tile(relevant, k.batches)]
        aps = [*numbers["inside"], numbers["whole"]]
        figure = self.canvas(
            f"mean AP of the batches {np.mean(numbers['inside']):.3f} · AP of all <b>{numbers['whole']:.3f}</b> · "
            f"decomposability gap <b>{numbers['gap']:.3f}</b>, at most {numbers['bound']:.3f} (eq. 8)",
            panels=("scores of the query's items", "AP"),
            column_widths=[0.75, 0.25],
            height=240 + 60 * len(rows),
            shared_yaxes=True,
            cols=2,
            x=("similarity to the query (cosine)", "AP"),
        )
        for index, (name, same_label) in enumerate(
            (("same label", True), ("different label", False))
        ):
            x = []
            y = []
            for row, scores, mask in zip(rows, lists, masks, strict=True):
                chosen = scores[mask == same_label]
                x.append(chosen)
                y += [row] * len(chosen)
            marks(figure, index, name, np.concatenate(x), y, size=12, opacity=0.85, **LEFT)
        for value, name, dash in ((k.alpha, "α", "dash"), (k.beta, "β", "dot")):
            figure.add_vline(
                x=value, line={"dash": dash, "color": style.GREY}, annotation_text=name, **LEFT
            )

        texts = []
        colours = []
        patterns = []
        for ap in aps:
            perfect = ap > 1 - 1e-12
            texts.append(f"{style.RIGHT if perfect else style.WRONG} {ap:.3f}")
            colours.append(style.BLUE if perfect else style.VERMILLION)
            patterns.append("" if perfect else "/")
        figure.add_bar(
            x=aps,
            y=rows,
            orientation="h",
            showlegend=False,
            textposition="inside",
            insidetextanchor="start",
            text=texts,
            marker={"color": colours, "pattern": {"shape": patterns, "fgopacity": 0.3}},
            **BESIDE,
        )
        figure.update_yaxes(autorange="reversed", type="category")
        figure.update_xaxes(range=[0, 1.02], **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        return (
            f"{self.knobs.batches} batches with AP {', '.join(f'{ap:.2f}' for ap in numbers['inside'])}; merged, AP is "
            f"{numbers['whole']:.3f}: a decomposability gap of {numbers['gap']:.3f}, bounded by {numbers['bound']:.3f}."
        )
