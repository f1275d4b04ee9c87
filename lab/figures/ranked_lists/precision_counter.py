"""002: R-precision, MAP@R and AP, counted rank by rank."""

import numpy as np

from lab.core import style
from lab.figures._base import DASHED, Figure, Numbers, PlotlyFigure, knob
from lab.figures.points import list_metrics


class PrecisionCounter(Figure):
    """One ranked list of right and wrong items, and what each rank adds to each metric."""

    title = "Counting R-precision, MAP@R and AP"
    source = "DML deck, slides on R-Precision and MAP@R"
    tier = "instant"
    question = "Swap two neighbouring items inside the first R. Which metric does not notice?"

    pattern: str = knob("One + (right) or - (wrong) per rank, best first.", default="+-++-+---+")
    missing: int = knob("Positives that are missing from the list.", default=0, ge=0, le=20)

    def numbers(self) -> Numbers:
        pattern = self.knobs.pattern
        if set(pattern) - {"+", "-"} or "+" not in pattern:
            raise ValueError(
                f"PrecisionCounter: pattern must hold + and - with at least one +, got {pattern!r}."
            )
        hits = np.array([c == "+" for c in pattern])
        total = int(hits.sum()) + self.knobs.missing
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        inside = np.arange(1, len(hits) + 1) <= total
        metrics = list_metrics(hits, self.knobs.missing)
        return {
            "hits": hits,
            "precision": precision,
            "inside": inside,
            "total": total,
            "metrics": metrics,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        hits = numbers["hits"]
        inside = numbers["inside"]
        total = numbers["total"]
        values = " · ".join(
            f"{name} <b>{value:.3f}</b>" for name, value in numbers["metrics"].items()
        )
        figure = self.canvas(
            f"R = {total} · {values}", x="rank", y="precision at this rank", height=440
        )
        groups = (
            (
                f"{style.RIGHT} hit within R: counts in R-precision, MAP@R and AP",
                hits & inside,
                style.BLUE,
                "",
            ),
            (f"{style.RIGHT} hit beyond R: counts in AP only", hits & ~inside, style.SKY, "."),
            (f"{style.WRONG} miss: adds nothing", ~hits, style.VERMILLION, "/"),
        )
        for name, mask, colour, hatch in groups:
            faded = 0.35 if colour == style.VERMILLION else 1
            figure.add_bar(
                x=np.flatnonzero(mask) + 1,
                y=numbers["precision"][mask],
                name=name,
                width=0.8,
                marker={"color": colour, "pattern": {"shape": hatch}, "opacity": faded},
                text=[f"{p:.2f}" for p in numbers["precision"][mask]],
                textposition="outside",
            )
        figure.add_vline(x=total + 0.5, line=DASHED, annotation_text=f"R = {total}")
        figure.update_xaxes(dtick=1, range=[0.4, max(len(hits), total) + 0.8])
        figure.update_yaxes(range=[0, 1.18])
        figure.update_layout(barmode="overlay")
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(f"{name} {value:.3f}" for name, value in numbers["metrics"].items())
        return f"A list {self.knobs.pattern} with {numbers['total']} positives in all: {values}."
