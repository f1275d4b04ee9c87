"""001, table 2 and 004, figure 8, on own runs: what each run cost in time and memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.core.knobs import Knobs, knob
from lab.figures import _bundled, _runs
from lab.figures._base import Figure, Numbers, PlotlyFigure


def _named(run: _runs.Run) -> str:
    """The run, with its batch and, where a loss remembers embeddings, with how many: what its costs grow with."""
    flat = _runs.flat(run.config_dict)
    wrappers = run.config_dict.get("wrappers", ())
    memory = next((one["size"] for one in wrappers if one["name"] == "cross_batch_memory"), None)
    parts = [f"batch {flat['sampler.batch_size']}"] if "sampler.batch_size" in flat else []
    parts += [] if memory is None else [f"memory {memory:,}"]
    return f"{run.name} ({', '.join(parts)})" if parts else run.name


class RunCosts(Figure):
    """Seconds a step and peak memory beside the score, one bar a run."""

    title = "Cost and score of the runs"
    source = "ROADMAP, table 2; Contextual, figure 8"
    tier = "from_runs"
    question = "How much does one more point of the score cost?"
    reads_runs = True

    class Knobs(Knobs):
        """The score."""

        metric: str = knob("r@1", "Score to show beside the costs.")
        split: str = knob("test", "Split of the data set.")

    def example(self) -> Sequence:
        return _bundled.examples()

    def numbers(self, runs: Sequence = ()) -> Numbers:
        _runs.needs(runs, "RunCosts")
        rows = []
        for run in runs:
            stepped = run.metrics("stepped")
            seconds = np.diff([0.0, *(r["seconds"] for r in stepped)]) if stepped else np.array([np.nan])
            rows.append(
                {
                    "name": _named(run),
                    "seconds a step": float(np.median(seconds)),
                    "peak memory (GB)": max((r["memory_bytes"] or 0 for r in stepped), default=0) / 1e9,
                    f"{self.knobs.metric}, {self.knobs.split}": _runs.score(run, self.knobs.metric, self.knobs.split),
                }
            )
        return {"rows": rows}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        import plotly.graph_objects as go

        rows = numbers["rows"]
        columns = [name for name in rows[0] if name != "name"]
        figure = style.canvas(
            self.title, "median over the steps of each run", panels=tuple(columns), cols=3,
            height=220 + 34 * len(rows), shared_yaxes=True,
        )  # fmt: skip
        for column, name in enumerate(columns, 1):
            figure.add_trace(
                go.Bar(
                    y=[row["name"] for row in rows], x=[row[name] for row in rows], orientation="h", showlegend=False,
                    marker={"color": style.COLOURS[column - 1], "pattern": {"shape": ["", "/", "."][column - 1]}},
                    text=["none" if np.isnan(row[name]) else f"{row[name]:.3g}" for row in rows],
                    textposition="outside",
                ),
                row=1, col=column,
            )  # fmt: skip
            longest = np.nanmax([row[name] for row in rows] + [1e-9])
            figure.update_xaxes(title_text=name, range=[0, 1.25 * longest], row=1, col=column)
        figure.update_yaxes(autorange="reversed", type="category")
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = "; ".join(
            f"{row['name']}: " + ", ".join(f"{k} {v:.3g}" for k, v in row.items() if k != "name")
            for row in numbers["rows"]
        )
        return f"Costs and scores of {len(numbers['rows'])} runs. {values}."
