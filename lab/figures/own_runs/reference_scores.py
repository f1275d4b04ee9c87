"""000 tables 2 and 3, 001 tables 1 to 4, 004 tables 2 to 4: published scores beside own runs, for orientation only."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

import lab.papers.tables
from lab.core import style
from lab.figures import _runs
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

DATA = {
    "SOP": "sop",
    "Cars196": "cars196",
    "CUB": "cub200",
    "iNaturalist": "inaturalist2018",
    "VehicleID": "vehicle_id",
    "ROxford": "revisited_oxford",
    "RParis": "revisited_paris",
}
COLUMN = {"ROxford": "mAP-M", "RParis": "mAP-M"}
"""The score that is compared, where it is not r@1."""
SHORT = {"ResNet-50": "R50", "DeiT-S": "DeiT"}
UNTRAINED = "Pretrained alone"
"""What a network brings before any loss, by the slides of 002."""


def published(dataset: str) -> list[tuple[str, float, str]]:
    """Name, score in percent and source of every row that a recipe trains, and of networks before any training.

    Backbone, width and test set belong to the name, since scores across them do not compare.
    """
    column = COLUMN.get(dataset, "r@1")
    return [
        (
            ", ".join(map(str, filter(None, (row.method, SHORT.get(row.encoder, row.encoder), row.dim, row.part)))),
            100 * row.values[column],
            row.source,
        )
        for row in lab.papers.tables.rows(data=(DATA[dataset],))
        if (row.recipe or row.method == UNTRAINED) and column in row.values
    ]


class ReferenceScores(Figure):
    """Published scores as grey marks, own runs as blue bars."""

    title = "Own runs beside published numbers"
    source = "RS@k, tables 2 and 3; ROADMAP, tables 1 to 4; Contextual, tables 2 to 4; DML deck, slides on backbones"
    tier = "from_runs"
    question = "Do backbone, width, resolution and epochs match before you compare the scores?"
    reads_runs = True

    dataset: Literal["SOP", "Cars196", "CUB", "iNaturalist", "VehicleID", "ROxford", "RParis"] = knob(
        "Benchmark.", default="SOP"
    )
    split: str = knob("Split of the own runs.", default="test")

    def numbers(self, runs: Sequence = ()) -> Numbers:
        column = COLUMN.get(self.knobs.dataset, "r@1")
        scores = [(self._named(run), 100 * _runs.score(run, column, self.knobs.split)) for run in runs]
        return {"published": published(self.knobs.dataset), "own": [(n, v) for n, v in scores if not np.isnan(v)]}

    def _named(self, run: _runs.Run) -> str:
        """The run, and its data set where that is another than the benchmark's."""
        data = _runs.flat(run.config_dict).get("data.name")
        return run.name if data in (None, DATA[self.knobs.dataset]) else f"{run.name} (on {data}, not comparable)"

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        published, scores = numbers["published"], numbers["own"]
        figure = self.canvas(
            f"{self.knobs.dataset}; {style.WRONG} published numbers differ in backbone, width, resolution and budget",
            x=f"{COLUMN.get(self.knobs.dataset, 'r@1')} (%)",
            height=240 + 32 * (len(published) + len(scores)),
        )
        figure.add_scatter(
            y=[f"{name} ({paper})" for name, _, paper in published], x=[value for _, value, _ in published],
            mode="markers+text", text=[f" {value:.1f}" for _, value, _ in published], textposition="middle right",
            name="published", cliponaxis=False, marker={"symbol": "diamond", "size": 12, "color": style.GREY},
        )  # fmt: skip
        if scores:
            figure.add_scatter(
                y=[name for name, _ in scores], x=[value for _, value in scores], mode="markers+text",
                text=[f" {value:.1f}" for _, value in scores], textposition="middle right", name="own run",
                cliponaxis=False, marker=style.marker(0, 13),
            )  # fmt: skip
        rows = len({*((name, paper) for name, _, paper in published), *((name, "") for name, _ in scores)})
        figure.update_yaxes(range=[rows - 0.3, -0.7], type="category")
        return figure.update_layout(showlegend=True)

    def alt(self, numbers: Numbers) -> str:
        references = ", ".join(f"{name} {value:.1f}" for name, value, _ in numbers["published"])
        scores = ", ".join(f"{name} {value:.1f}" for name, value in numbers["own"]) or "none"
        column = COLUMN.get(self.knobs.dataset, "r@1")
        return f"{column} on {self.knobs.dataset}. Published: {references}. Own runs: {scores}."
