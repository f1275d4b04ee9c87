"""001, table 2 and 004, figure 8, on own runs: what each run cost in time and memory."""

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.figures import _bundled, _runs
from lab.figures._base import Numbers, PlotlyFigure, knob, marks, panel


def _named(run: _runs.RunLike) -> str:
    """The run, with its batch and, where a loss remembers embeddings, with how many: what its costs grow with."""
    flat = _runs.flat(run.config_dict)
    wrappers = run.config_dict.get("wrappers", ())
    if "sampler.batch_size" in flat:
        parts = [f"batch {flat['sampler.batch_size']}"]
    else:
        parts = []
    parts += [f"memory {one['size']:,}" for one in wrappers if one["name"] == "cross_batch_memory"]
    return f"{run.name} ({', '.join(parts)})" if parts else run.name


class RunCosts(_runs.RunFigure):
    """The score over seconds per step and over peak memory, one mark per run."""

    title = "Cost and score of the runs"
    source = "ROADMAP, table 2; Contextual, figure 8"
    question = "How much does one more point of the score cost?"
    examples = _bundled.MEMORIES
    stops = {"metric": ("r@1", "MAP@R")}

    metric: str = knob("Score to show beside the costs.", default="r@1")
    split: str = _runs.SPLIT

    def numbers(self, runs: Sequence = ()) -> Numbers:
        rows = []
        for run in runs:
            steps = run.metrics("stepped")
            seconds = np.array([np.nan])
            if steps:
                seconds = np.diff([0.0, *(record["seconds"] for record in steps)])
            memory = max((record["memory_bytes"] or 0 for record in steps), default=0)
            row = {
                "name": _named(run),
                "seconds a step": float(np.median(seconds)),
                "peak memory (GB)": memory / 1e9,
            }
            row[f"{self.knobs.metric}, {self.knobs.split}"] = _runs.score(
                run, self.knobs.metric, self.knobs.split
            )
            rows.append(row)
        return {"rows": rows}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows = numbers["rows"]
        *_, score = rows[0]
        costs = ("seconds a step", "peak memory (GB)")
        figure = self.canvas(
            f"{self._message(rows, score)}; left and up is better",
            panels=("time, median", "memory"),
            shared_yaxes=True,
            horizontal_spacing=0.06,
            height=480,
            y=(score,),
        )
        for column, cost in enumerate(costs, 1):
            for index, row in enumerate(rows):
                marks(
                    figure,
                    index,
                    row["name"],
                    [row[cost]],
                    [row[score]],
                    size=15,
                    cliponaxis=False,
                    hovertemplate="%{x:.3g}, %{y:.3f}<extra>" + row["name"] + "</extra>",
                    **panel(column, str(index)),
                )
            longest = np.nanmax([row[cost] for row in rows] + [1e-9])
            figure.update_xaxes(title_text=cost, range=[0, 1.15 * longest], row=1, col=column)
        scores = [row[score] for row in rows if not np.isnan(row[score])]
        if scores:
            middle = (min(scores) + max(scores)) / 2
            half = max(0.02, 0.7 * np.ptp(scores))
            figure.update_yaxes(range=[middle - half, middle + half])
        return style.legend_below(figure)

    def _message(self, rows: list[dict], score: str) -> str:
        """Compare the slowest run with the fastest in words: extra time and difference in score."""
        timed = [
            row for row in rows if not np.isnan(row["seconds a step"]) and not np.isnan(row[score])
        ]
        if len(timed) < 2:
            return f"cost and {score} of each run"
        fastest = min(timed, key=lambda row: row["seconds a step"])
        slowest = max(timed, key=lambda row: row["seconds a step"])
        extra = slowest["seconds a step"] / fastest["seconds a step"] - 1
        gain = f"{score} <b>{slowest[score] - fastest[score]:+.3f}</b>"
        return f"the slowest run takes <b>{extra:.0%}</b> longer a step than the fastest, {gain}"

    def alt(self, numbers: Numbers) -> str:
        runs = []
        for row in numbers["rows"]:
            values = ", ".join(
                f"{name} {value:.3g}" for name, value in row.items() if name != "name"
            )
            runs.append(f"{row['name']}: {values}")
        return f"Costs and scores of {len(numbers['rows'])} runs. {'; '.join(runs)}."
