"""000, figure 1: the exact recall of a short list beside its surrogate, with scores that can be dragged."""

import numpy as np
from torch import Tensor

from lab.core import style
from lab.figures import _lists
from lab.figures._base import BESIDE, Figure, Numbers, PlotlyFigure, knob
from lab.figures._strip import draw_strip, item_names
from lab.surrogates import Heaviside, Sigmoid


class RecallStrip(Figure):
    """One query, a handful of scores, and recall@k, r@k and rs@k of the list."""

    title = "Recall@k and its surrogate on one list"
    source = "RS@k, figure 1 and eq. 1-6"
    tier = "instant"
    drag = ("scores", "pattern")
    question = "Can you make rs@1 large while recall@1 is 0?"

    scores: tuple[float, ...] = _lists.SCORES
    pattern: str = _lists.PATTERN
    k: int = knob("Cut-off k.", default=2, ge=1, le=16, source="RS@k, eq. 1")
    tau1: float = knob(
        "Temperature on ranks.",
        default=1.0,
        ge=0.01,
        le=10,
        scale="log",
        unit="ranks",
        source="RS@k, eq. 5",
    )
    tau2: float = _lists.TAU2
    divide_by_k: bool = knob(
        "Divide by min(k, positives) instead of all positives.", default=True, source="RS@k, sec. 3"
    )
    clip: bool = knob(
        "Limit the numerator to k, as in training.", default=True, source="RS@k, sec. 3"
    )

    def idle(self, runs: object = None) -> set[str]:
        clip = set() if self.numbers()["clipped"] else {"clip"}
        if self.knobs.k >= self.knobs.pattern.count("+"):
            return clip | {"divide_by_k"}
        return clip

    def numbers(self) -> Numbers:
        k = self.knobs
        scores, relevant = _lists.read(k.scores, k.pattern)
        counting = Sigmoid(k.tau1)
        ranking = Sigmoid(k.tau2)

        def loss(s: Tensor) -> Tensor:
            return 1 - _lists.recall_at_k(
                s, relevant, k.k, counting, ranking, k.divide_by_k, k.clip
            )

        exact, soft_ranks = (_lists.ranks(scores, step) for step in (Heaviside(), ranking))
        hits = int((exact[relevant] <= k.k).sum())  # ties count against
        credit = counting.value(k.k - soft_ranks)
        count = int(relevant.sum())
        divisor = min(k.k, count) if k.divide_by_k else count
        return {
            "scores": scores.numpy(),
            "relevant": relevant.numpy(),
            "push": -_lists.gradient(loss, scores),
            "rank": exact.numpy(),
            "credit": credit.numpy() / divisor,
            "clipped": bool(credit[relevant].sum() > k.k),
            "divisor": divisor,
            "recall": hits / count,
            "trained_recall": min(hits, k.k) / divisor,
            "hit": float(hits > 0),
            "surrogate": 1 - loss(scores).item(),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs.k
        figure = self.canvas(
            f"recall@{k} = {numbers['recall']:.3f} · hit rate r@{k} = {numbers['hit']:.0f} · trained target "
            f"{numbers['trained_recall']:.3f} · <b>rs@{k} = {numbers['surrogate']:.3f}</b>, "
            f"{numbers['surrogate'] - numbers['trained_recall']:+.3f} from its target",
            panels=(
                "the list, and where descent pushes each score",
                f"what each positive adds to rs@{k}",
            ),
            height=560,
            column_widths=[0.6, 0.4],
            y=("", f"share of rs@{k}"),
            x=("", "positive"),
        )
        draw_strip(figure, numbers["scores"], numbers["relevant"], numbers["push"])
        mine = numbers["relevant"]
        order = np.argsort(numbers["rank"][mine], kind="stable")
        names = np.array(item_names(mine))[mine][order]
        exact = (numbers["rank"][mine][order] <= k) / numbers["divisor"]
        for index, (label, values) in enumerate(
            (("step H(k - rank)", exact), ("σ(τ₁)", numbers["credit"][mine][order]))
        ):
            figure.add_bar(
                x=names,
                y=values,
                name=label,
                marker={
                    "color": [style.GREY, style.BLUE][index],
                    "pattern": {"shape": ["/", ""][index]},
                },
                text=[f"{v:.2f}" for v in values],
                textposition="outside",
                **BESIDE,
            )
        figure.update_yaxes(range=[0, 1.15], **BESIDE)
        style.legend_below(figure)
        return figure.update_layout(barmode="group")

    def alt(self, numbers: Numbers) -> str:
        k = self.knobs.k
        size = np.abs(numbers["push"])
        first = int((size >= (1 - 1e-9) * size.max()).argmax())  # of equals
        strongest = item_names(numbers["relevant"])[first]
        return (
            f"A list of {len(numbers['scores'])} items, {int(numbers['relevant'].sum())} positive. recall@{k} is "
            f"{numbers['recall']:.3f}, the hit rate {numbers['hit']:.0f}, the surrogate {numbers['surrogate']:.3f}, "
            f"{numbers['surrogate'] - numbers['trained_recall']:+.3f} from what it stands for; "
            f"the strongest push is on {strongest}."
        )
