"""004, table 10 and appendix I.5: re-ranking by contextual similarity, one list before and after."""

import numpy as np
import torch

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, curve, knob
from lab.figures.points import letters, mean_metrics, ranked
from lab.kernels.plain.neighbours import Steps, contextual_similarity
from lab.surrogates import ConstantGradient


class RerankingBlend(Figure):
    """Ranks of one query's items by cosine and by the blend with contextual similarity."""

    title = "Re-ranking by contextual similarity"
    source = "Contextual, table 10 and appendix I.5"
    tier = "instant"
    question = "For which β does re-ranking help most, and for which query does it hurt?"

    beta: float = knob(
        "Weight of the contextual similarity.",
        default=0.1,
        ge=0,
        le=1,
        source="Contextual, appendix I.5",
    )
    k: int = knob(
        "Number of neighbours, the item itself included.",
        default=6,
        ge=2,
        le=20,
        source="Contextual, eq. 2",
    )
    query: int = knob("Which query's list to draw.", default=3, ge=0, le=29)
    top: int = knob("Number of ranks to draw.", default=12, ge=5, le=29)
    spread: float = knob("Spread of a class.", default=0.7, ge=0.1, le=3, scale="log")
    seed: int = knob("Random seed.", default=9, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat(np.arange(5), 6)
        points = random.normal(size=(5, 5))[labels] + k.spread * random.normal(size=(30, 5))
        units = torch.from_numpy(points / np.linalg.norm(points, axis=1, keepdims=True))
        cosine = units @ units.T
        before, after = (ranked(s.numpy()) for s in (cosine, blended(cosine, k.beta, k.k)))
        scores = {
            name: mean_metrics(order, labels)
            for name, order in (("before", before), ("after", after))
        }
        return {
            "labels": labels,
            "before": before,
            "after": after,
            "scores": scores,
            "cosine": cosine.numpy(),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        labels = numbers["labels"]
        scores = numbers["scores"]
        text = " · ".join(
            f"{m}: {scores['before'][m]:.3f} → <b>{scores['after'][m]:.3f}</b>"
            for m in ("r@1", "MAP@R")
        )
        figure = self.canvas(f"over all 30 queries {text}", y="rank", height=200 + 30 * k.top)
        before, after = (numbers[name][k.query] for name in ("before", "after"))
        right = labels == labels[k.query]
        listed = set(before[: k.top]) | set(after[: k.top])
        for item in sorted(listed, key=lambda i: right[i]):
            a = int(np.flatnonzero(before == item)[0]) + 1
            b = int(np.flatnonzero(after == item)[0]) + 1
            index = 0 if right[item] else 1
            figure.add_scatter(
                x=[0, 1],
                y=[a, b],
                mode="lines+markers+text",
                showlegend=False,
                line=style.line(index, 2.5),
                marker=style.marker(index, 11),
                text=[f"{letters(labels)[item]}{item}"] * 2,
                textposition=["middle left", "middle right"],
                opacity=1 if index == 0 else 0.8,
                hovertemplate=f"item {item}: rank %{{y}}<extra></extra>",
            )
        for index, name in enumerate(
            (f"{style.RIGHT} same label as the query", f"{style.WRONG} different label")
        ):
            curve(figure, index, name, [None], [None], size=9)
        figure.update_xaxes(
            tickvals=[0, 1],
            ticktext=["by cosine", f"β = {k.beta:g}"],
            range=[-0.25, 1.25],
            title_text=f"the list of query {letters(labels)[k.query]}{k.query}",
        )
        return figure.update_yaxes(range=[k.top + 0.7, 0.3], dtick=1)

    def alt(self, numbers: Numbers) -> str:
        s = numbers["scores"]
        return (
            f"Ranks of query {self.knobs.query} before and after re-ranking with beta {self.knobs.beta:g}. Over all "
            f"queries r@1 goes from {s['before']['r@1']:.3f} to {s['after']['r@1']:.3f} and MAP@R from "
            f"{s['before']['MAP@R']:.3f} to {s['after']['MAP@R']:.3f}."
        )


def blended(cosine: torch.Tensor, beta: float, k: int) -> torch.Tensor:
    """Blend cosines [n n] with the simplified similarity of eq. 15 and 16, without M- and without expansion."""
    steps = Steps(k=k, eps=0.0, theta=ConstantGradient(), complement=False, expansion=False)
    context = contextual_similarity((2 - 2 * cosine).clamp_min(0), steps)
    return beta * context + (1 - beta) * torch.exp(2 * cosine - 2)
