"""004, figures 3 and 15: the contextual loss falls with 1 - mAP, and how smoothly it converges."""

from typing import Any

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure, curve, knob, slack


class ContextAgainstMap(Figure):
    """The contextual loss of the whole training set against its 1 - mAP, and both over time, for several lambda."""

    title = "The contextual loss follows 1 - mAP"
    source = "Contextual, figures 3 and 15"
    tier = "toy_training"
    question = "Is the relation a line? What does λ change: the line, or how far along it training gets?"
    stops = {"gamma": (0.0, 0.1, 0.5), "mini_batches": (False, True)}

    lam: tuple[float, ...] = knob(
        "Weights of the contextual part.", default=(0.0, 0.4, 1.0), ge=0, le=1, source="Contextual, eq. 6"
    )
    gamma: float = knob("Weight of the similarity regulariser.", default=0.0, ge=0, le=1, source="Contextual, eq. 7")
    eps: float = slack(0.05)
    mini_batches: bool = knob("Train on batches of 32; otherwise on all points at once.", default=True)
    steps: int = knob("Training steps.", default=60, ge=10, le=120)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return len(self.knobs.lam) * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        per_class = 8
        toy = _toy.hidden_classes(classes=12, per_class=per_class, noise=0.4, seed=k.seed)
        whole = losses.create("contextual", lam=1.0, gamma=0.0, k=per_class, eps=k.eps)
        paths = {}
        for lam in k.lam:
            loss = losses.create("contextual", lam=lam, gamma=k.gamma, eps=k.eps)
            size: dict[str, Any] = (
                {"classes": 8, "per_class": 4} if k.mini_batches else {"classes": 12, "per_class": per_class}
            )
            trace = _toy.train(loss, toy, steps=k.steps, every=max(1, k.steps // 12), seed=k.seed, **size)
            with torch.no_grad():
                context = [whole(torch.from_numpy(e), toy.train.labels).item() for e, _ in trace.embeddings]
            paths[lam] = {
                "steps": trace.steps,
                "context": np.array(context),
                "error": 1 - trace.curve("train", "AP"),
            }
        return {"paths": paths}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            "training runs from the upper right to the lower left",
            panels=("loss against error, training set", "loss over time"),
            x=("1 - mAP", "training step"),
            y="L_context of the whole set",
        )
        for index, (lam, path) in enumerate(numbers["paths"].items()):
            for column, x, y in ((1, path["error"], path["context"]), (2, path["steps"], path["context"])):
                curve(
                    figure, index, f"λ = {lam:g}", x, y, size=7, legendgroup=str(lam), showlegend=column == 1, row=1,
                    col=column,
                )  # fmt: skip
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = []
        for lam, path in numbers["paths"].items():
            together = np.corrcoef(path["context"], path["error"])[0, 1]
            values.append(
                f"lambda {lam:g}: loss {path['context'][-1]:.3f}, 1 - mAP {path['error'][-1]:.3f}, r {together:.2f}"
            )
        return f"Contextual loss against 1 - mAP along training. At the end {'; '.join(values)}."
