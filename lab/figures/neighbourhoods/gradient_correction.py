"""004, table 1 and eq. 10: clamp the gradients that contradict the label, and see what that costs."""

import numpy as np

from lab import losses
from lab.core import style
from lab.core.estimates import deviation
from lab.figures import _toy
from lab.figures._base import BESIDE, DOTTED, LEFT, Figure, Numbers, PlotlyFigure, knob
from lab.inspect import pair_gradients, wrong_direction

CLAMPED = {"free": False, "corrected": True}
"""Whether the loss corrects its gradient."""


class GradientCorrection(Figure):
    """The contextual loss with and without eq. 10: training score, test score, and the share of wrong gradients."""

    title = "Wrong-way gradients: fault or virtue?"
    source = "Contextual, table 1 and eq. 10"
    tier = "toy_training"
    question = "The paper finds correction better in training and worse in test. Is the toy large enough to agree?"
    stops = {"wrong_labels": (0.0, 0.1, 0.2, 0.3, 0.5)}

    wrong_labels: float = knob("Share of wrong training labels.", default=0.1, ge=0, le=0.5)
    steps: int = knob("Training steps.", default=60, ge=1, le=150)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=3, ge=1, le=4)

    def training_steps(self) -> int:
        return 2 * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        scores: dict[str, list[tuple[float, float]]] = {"free": [], "corrected": []}
        raw = []
        for seed in range(k.seeds):
            toy = _toy.hidden_classes(noise=k.noise, wrong_labels=k.wrong_labels, seed=seed)
            raw.append(_toy.untrained(toy.test)["r@1"])
            for name, clamp in CLAMPED.items():
                loss = losses.create("contextual", lam=1.0, gamma=0.0, correct_gradient=clamp)
                trace = _toy.train(loss, toy, steps=k.steps, seed=seed)
                scores[name].append((trace.train[-1]["r@1"], trace.test[-1]["r@1"]))
        start = trace.embeddings[0][0][::3]
        labels = toy.train.labels[::3]
        audits = {
            name: wrong_direction(
                pair_gradients(
                    losses.create("contextual", lam=1.0, gamma=0.0, correct_gradient=clamp),
                    start,
                    labels,
                )
            )
            for name, clamp in CLAMPED.items()
        }
        return {
            "raw": float(np.mean(raw)),
            "scores": {name: np.array(values) for name, values in scores.items()},
            "wrong": {name: (audit.share, audit.mass) for name, audit in audits.items()},
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            f"mean and deviation over {self.knobs.seeds} seeds; {self.knobs.wrong_labels:.0%} of the labels are wrong",
            panels=("r@1", "gradient against the label, first batch"),
            column_widths=[0.6, 0.4],
            x=("classes", "counted by"),
            y=("r@1", "share of the gradient"),
        )
        words = {"free": "L_context", "corrected": "with correction (eq. 10)"}
        for index, (name, values) in enumerate(numbers["scores"].items()):
            bars = {"color": style.COLOURS[index], "pattern": {"shape": ["", "/"][index]}}
            figure.add_bar(
                x=["training", "test, unseen classes"],
                y=values.mean(axis=0),
                name=words[name],
                marker=bars,
                error_y={"array": deviation(values, axis=0)},
                text=[f"{v:.3f}" for v in values.mean(axis=0)],
                textposition="inside",
                insidetextanchor="start",
                **LEFT,
            )
            share, mass = numbers["wrong"][name]
            figure.add_bar(
                x=["share of pairs", "share of magnitude"],
                y=[share, mass],
                showlegend=False,
                marker=bars,
                text=[f"{share:.1%}", f"{mass:.1%}"],
                textposition="outside",
                **BESIDE,
            )
        figure.add_hline(y=numbers["raw"], line=DOTTED, annotation_text="test, no training", **LEFT)
        figure.update_yaxes(rangemode="tozero", tickformat=".0%", **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        free, corrected = (numbers["scores"][name].mean(axis=0) for name in ("free", "corrected"))
        return (
            f"r@1 in training and test: free {free[0]:.3f} and {free[1]:.3f}, corrected {corrected[0]:.3f} and "
            f"{corrected[1]:.3f}. Of the free gradient {numbers['wrong']['free'][1]:.1%} contradicts the labels, of "
            f"the corrected one {numbers['wrong']['corrected'][1]:.1%}."
        )
