"""003, tables 2 and 4 side by side: what a two-stage mAP measures."""

from typing import Literal

import numpy as np

import lab.papers.tables
from lab.core import style
from lab.figures import _bundled
from lab.figures._base import (
    BESIDE,
    DOTTED,
    LEFT,
    Figure,
    Numbers,
    PlotlyFigure,
    knob,
    marks,
    panel,
)

STUDY = "two_stage"
SHORT = {"ResNet-18": "R18", "ResNet-50": "R50"}
"""The networks of table 4."""
SETS = {
    "cifar100": "CIFAR-100",
    "food101": "Food-101",
    "svhn": "SVHN",
    "tiny_imagenet": "Tiny ImageNet",
}


class TwoStageAccuracy(Figure):
    """Two-stage mAP beside the accuracy of nearest anchors, or beside the mAP of an exact search.

    With one anchor opened and every image in the list of its class, a list holds all positives and nothing else, or
    none: its AP is 1 where the nearest anchor is right, and 0 elsewhere.
    """

    title = "Two-stage mAP is the accuracy of nearest anchors"
    source = "CAM, tables 2 and 4"
    tier = "instant"
    question = "Beside which of the two numbers does two-stage mAP stand, and what does it then say of the ranking?"
    moves = ("beside",)

    beside: Literal["nearest-anchor accuracy", "exact mAP"] = knob(
        "Score of the same network that two-stage mAP is compared with.",
        default="nearest-anchor accuracy",
    )

    def numbers(self) -> Numbers:
        if self.knobs.beside == "nearest-anchor accuracy":
            column = 1
        else:
            column = 2
        groups = {}
        for name, rows in (
            ("The paper's networks", _published()),
            ("Trained on emoji", _measured()),
        ):
            pairs = 100 * np.array([(row[0], row[column]) for row in rows.values()])
            groups[name] = {"names": list(rows), "two_stage": pairs[:, 0], "other": pairs[:, 1]}
        return {"groups": groups}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        beside = self.knobs.beside
        sentence = ". ".join(
            f"{name}: {_difference(group)}" for name, group in numbers["groups"].items()
        )
        figure = self.canvas(
            f"{sentence} (a point for each seed, study {STUDY} of docs/claims.md)",
            panels=("each network", "two-stage mAP less the other"),
            column_widths=[0.5, 0.5],
            horizontal_spacing=0.2,
            height=540,
            x=(f"{beside}, %", "points"),
            y=("two-stage mAP, %",),
        )
        figure.add_scatter(x=[0, 100], y=[0, 100], mode="lines", name="equal", line=DOTTED, **LEFT)
        for index, (name, group) in enumerate(numbers["groups"].items()):
            options = {"size": 11, "customdata": group["names"]}
            hover = "%{customdata}<br>%{x:.2f}<br>%{y:.2f}"
            marks(
                figure,
                index,
                name,
                group["other"],
                group["two_stage"],
                hovertemplate=hover,
                **options,
                **panel(1, name),
            )
            hover = "%{customdata}<br>%{x:.2f} points"
            difference = group["two_stage"] - group["other"]
            marks(
                figure,
                index,
                name,
                difference,
                group["names"],
                hovertemplate=hover,
                **options,
                **panel(2, name),
            )
        figure.add_vline(x=0, line=DOTTED, **BESIDE)
        figure.update_xaxes(range=[0, 100], **LEFT)
        figure.update_yaxes(range=[0, 100], **LEFT)
        figure.update_yaxes(type="category", autorange="reversed", **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        sentence = ". ".join(
            f"{name}: {_difference(group)}" for name, group in numbers["groups"].items()
        )
        return f"Two-stage mAP beside {self.knobs.beside}. {sentence}."


def _difference(group: Numbers) -> str:
    """Say in words how far the two scores are from each other."""
    gaps = np.abs(group["two_stage"] - group["other"])
    return (
        f"{len(gaps)} pairs, at most {gaps.max():.2f} points apart, {gaps.mean():.2f} in the mean"
    )


def _published() -> dict[str, tuple[float, float, float]]:
    """Return the printed two-stage mAP, accuracy of nearest anchors and exact mAP, by data set and network."""
    two_stage = {}
    accuracy = {}
    exact = {}
    for row in lab.papers.tables.rows(data=tuple(SETS)):
        key = (row.data, row.encoder)
        if row.method == "CAM, two-stage":
            two_stage[key] = row.values["mAP"]
        if row.method == "CAM, brute force":
            exact[key] = row.values["mAP"]
        if row.source == "CAM, table 4" and row.loss == "class_anchor_margin":
            accuracy[key] = row.values["anchor accuracy"]

    scores = {}
    for (data, encoder), right in accuracy.items():
        name = f"{SETS[data]}, {SHORT[encoder]}"
        scores[name] = (two_stage[data, encoder], right, exact[data, encoder])
    return scores


def _measured() -> dict[str, tuple[float, float, float]]:
    """The same of the trainings that come along, one a seed, at the rate that its validation images chose."""
    scores = _bundled.scores(STUDY)
    (setting,) = scores.settings()
    columns = [scores.by_seed(name, **setting) for name in ("two-stage mAP", "accuracy", "mAP")]
    return {
        f"emoji, seed {seed}": (columns[0][seed], columns[1][seed], columns[2][seed])
        for seed in columns[0]
    }
