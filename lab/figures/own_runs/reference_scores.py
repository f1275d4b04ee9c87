"""000 tables 2 and 3, 001 tables 1 to 4, 004 tables 2 to 4: published scores beside own runs, for orientation only."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

import lab.papers.tables
from lab.core import style
from lab.core.estimates import Estimate
from lab.core.outcome_file import read_outcome
from lab.figures import _runs
from lab.figures._base import Numbers, PlotlyFigure, knob, marks

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
UNTRAINED = "Pretrained alone"
"""Method of the rows of pretrained networks without further training, from the slides of 002."""
FACETS = {"ResNet": "ResNet", "small transformers": "DeiT", "large transformers": "ViT-B"}
"""Title of a panel, and the beginning of the names of its backbones."""


def published(dataset: str) -> list[tuple[str, str, float, str]]:
    """Return name, backbone, score in percent and source of every row that a recipe trains, and of pretrained networks.

    The names include backbone, width and test set, since scores across them are not comparable.
    """
    column = COLUMN.get(dataset, "r@1")
    rows = []
    for row in lab.papers.tables.rows(data=(DATA[dataset],)):
        if (row.recipe or row.method == UNTRAINED) and column in row.values:
            parts = [str(part) for part in (row.method, row.encoder, row.dim, row.part) if part]
            rows.append((", ".join(parts), str(row.encoder), 100 * row.values[column], row.source))
    return rows


def reproduced(file: str, dataset: str) -> list[tuple[str, float]]:
    """Return name and score in percent from an outcome of `lab papers reproduce`, if it is of this benchmark.

    Raises:
        ValueError: the file is not such an outcome.
    """
    column = COLUMN.get(dataset, "r@1")
    stored = read_outcome(file, "ReferenceScores", "lab papers reproduce")
    recipe = str(stored["knobs"].get("recipe"))
    if all(row.data != DATA[dataset] for row in lab.papers.tables.of_recipe(recipe)):
        return []
    for row in stored["rows"]:
        if row["setting"].get("score") == column and "ours" in row["scores"]:
            return [(f"{recipe}, reproduced", 100 * Estimate.read(row["scores"]["ours"]).mean)]
    return []


class ReferenceScores(_runs.RunFigure):
    """Published scores as dots, with a panel per backbone and a row per paper; own runs as bold lines through all."""

    title = "Published numbers, and where own runs would stand"
    source = "RS@k, tables 2 and 3; ROADMAP, tables 1 to 4; Contextual, tables 2 to 4; DML deck, slides on backbones"
    question = "How much does the backbone change, and how much the loss?"
    examples = ()
    least = 0

    dataset: Literal["SOP", "Cars196", "CUB", "iNaturalist", "VehicleID", "ROxford", "RParis"] = (
        knob("Benchmark.", default="SOP")
    )
    file: str = knob(
        "File outcome.json of `lab papers reproduce`, shown as a run more.", default="", path=True
    )

    def numbers(self, runs: Sequence = ()) -> Numbers:
        column = COLUMN.get(self.knobs.dataset, "r@1")
        own = []
        for run in runs:
            value = 100 * _runs.score(run, column)
            if not np.isnan(value):
                own.append((self._name(run), value))
        if self.knobs.file:
            own += reproduced(self.knobs.file, self.knobs.dataset)
        return {"published": published(self.knobs.dataset), "own": own}

    def _name(self, run: _runs.RunLike) -> str:
        """Return the run's name, with its data set if it is not the benchmark's."""
        data = _runs.setting(run, "data.name")
        if data in (None, DATA[self.knobs.dataset]):
            return run.name
        return f"{run.name} (on {data}, not comparable)"

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        trained = [row for row in numbers["published"] if not row[0].startswith(UNTRAINED)]
        facets = {}
        for title, beginning in FACETS.items():
            if any(encoder.startswith(beginning) for _, encoder, _, _ in trained):
                facets[title] = beginning
        values = sorted(value for _, _, value, _ in trained)
        low = np.floor(values[0]) - 1
        papers = sorted({paper.split(",")[0] for *_, paper in trained})
        figure = self.canvas(
            self._takeaway(numbers, low),
            panels=tuple(facets),
            shared_yaxes=True,
            horizontal_spacing=0.03,
            x=f"{COLUMN.get(self.knobs.dataset, 'r@1')} (%)",
            height=230 + 90 * len(papers),
        )
        for panel, beginning in enumerate(facets.values(), start=1):
            for index, paper in enumerate(papers):
                rows = [
                    row
                    for row in trained
                    if row[1].startswith(beginning) and row[3].startswith(paper)
                ]
                if rows:
                    rows.sort(key=lambda row: row[2])  # by score
                    self._draw_rows(figure, rows, index, {"row": 1, "col": panel})
            for index, (name, value) in enumerate(numbers["own"]):
                figure.add_scatter(
                    x=[max(value, low)] * 2,
                    y=[-0.5, len(papers) - 0.5],
                    mode="lines",
                    name=f"{name}: {value:.1f}",
                    line=style.line(index, 4),
                    showlegend=panel == 1,
                    row=1,
                    col=panel,
                )
        most = max([*values, *(value for _, value in numbers["own"])])
        figure.update_xaxes(range=[low - 0.5, most + 0.4 * (most - low)])
        figure.update_yaxes(
            range=[len(papers) - 0.5, -0.5],
            tickvals=np.arange(len(papers)),
            ticktext=papers,
            zeroline=False,
        )
        figure.update_yaxes(title_text="paper", col=1)
        return style.legend_below(figure) if numbers["own"] else figure

    @staticmethod
    def _draw_rows(figure: PlotlyFigure, rows: list, index: int, where: dict[str, int]) -> None:
        """Draw the scores of one paper and backbone in several lanes, so that equal ones are visible; name the best."""
        lanes = index + 0.16 * (np.arange(len(rows)) % 4 - 1.5) * (len(rows) > 1)
        marks(
            figure,
            index + 2,
            None,
            [value for _, _, value, _ in rows],
            lanes,
            size=10,
            opacity=0.8,
            showlegend=False,
            customdata=[f"{name}<br>{value:.1f}, {paper}" for name, _, value, paper in rows],
            hovertemplate="%{customdata}<extra></extra>",
            **where,
        )
        name, _, value, _ = rows[-1]
        best = f"{name.split(',')[0]} {value:.1f}"
        style.note(figure, best, value, lanes[-1], xshift=8, xanchor="left", **where)

    def _takeaway(self, numbers: Numbers, low: float) -> str:
        rows = numbers["published"]
        before = [value for name, _, value, _ in rows if name.startswith(UNTRAINED)]
        parts = [f"{self.knobs.dataset}; {style.WRONG} width, resolution and budget differ, too"]
        if before:
            parts.append(f"untrained networks reach {min(before):.0f} to {max(before):.0f}")
        if any(value < low for _, value in numbers["own"]):
            parts.append(f"what is below {low:g} stands at the left edge")
        return "; ".join(parts)

    def alt(self, numbers: Numbers) -> str:
        references = ", ".join(f"{name} {value:.1f}" for name, _, value, _ in numbers["published"])
        scores = ", ".join(f"{name} {value:.1f}" for name, value in numbers["own"]) or "none"
        column = COLUMN.get(self.knobs.dataset, "r@1")
        return f"{column} on {self.knobs.dataset}. Published: {references}. Own runs: {scores}."
