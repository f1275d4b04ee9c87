"""001 figures 6 and 7, 003 figure 7, on own runs: the same query's list under several runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.core import style
from lab.core.knobs import Knobs, knob
from lab.figures import _bundled, _runs
from lab.figures._base import Figure, Numbers, PlotlyFigure


class RetrievedLists(Figure):
    """The first k items of one query, a row a run, right and wrong marked, with the score of each."""

    title = "One query, several runs"
    source = "ROADMAP, figures 6 and 7; CAM, figure 7"
    tier = "from_runs"
    question = "Which items does only one run find?"
    reads_runs = True

    class Knobs(Knobs):
        """The query."""

        query: int = knob(0, "Position of the query in the split.", ge=0)
        k: int = knob(9, "Number of items to show.", ge=1, le=30)
        split: str = knob("test", "Split of the data set.")

    def example(self) -> Sequence:
        return _bundled.examples()

    def numbers(self, runs: Sequence = ()) -> Numbers:
        _runs.needs(runs, "RetrievedLists")
        rows = []
        for run in runs:
            query = _runs.test_embeddings(run, self.knobs.split)
            gallery = run.embeddings(self.knobs.split, "gallery") or query
            if self.knobs.query >= len(query):
                raise ValueError(f"RetrievedLists: query must be below {len(query)}, got {self.knobs.query}.")
            scores = gallery.vectors @ query.vectors[self.knobs.query]
            if gallery is query:
                scores[self.knobs.query] = -np.inf
            order = np.argsort(-scores, kind="stable")[: min(self.knobs.k, len(scores) - (gallery is query))]
            rows.append(
                {
                    "name": run.name, "items": gallery.items[order], "scores": scores[order],
                    "right": gallery.labels[order] == query.labels[self.knobs.query],
                    "item": int(query.items[self.knobs.query]),
                }
            )  # fmt: skip
        return {"rows": rows}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        import plotly.graph_objects as go

        rows = numbers["rows"]
        width = max(len(row["items"]) for row in rows)

        def padded(values: Sequence[Any] | np.ndarray, fill: Any) -> list:
            return [*values, *[fill] * (width - len(values))]

        figure = style.canvas(
            self.title,
            f"query item {rows[0]['item']}; {style.RIGHT} same label, {style.WRONG} different label",
            x="rank",
            height=220 + 60 * len(rows),
        )
        figure.add_trace(
            go.Heatmap(
                y=[row["name"] for row in rows], x=np.arange(1, width + 1), xgap=4, ygap=8, showscale=False,
                zmin=0, zmax=1,
                z=[padded(row["right"].astype(float), np.nan) for row in rows],
                colorscale=((0, "#F6C9AD"), (1, "#A9CFE8")),
                text=[
                    padded(
                        [f"{style.RIGHT if r else style.WRONG} {i}<br>{s:.3f}"
                         for i, s, r in zip(row["items"], row["scores"], row["right"], strict=True)],
                        "",
                    )
                    for row in rows
                ],
                texttemplate="%{text}", hovertemplate="%{y}, rank %{x}: %{text}<extra></extra>",
            )
        )  # fmt: skip
        figure.update_yaxes(autorange="reversed", type="category")
        figure.update_xaxes(dtick=1)
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = "; ".join(
            f"{row['name']} {int(row['right'].sum())} of {len(row['items'])} right" for row in numbers["rows"]
        )
        return f"The list of query item {numbers['rows'][0]['item']} under {len(numbers['rows'])} runs: {values}."
