"""000, tables 1 and 2: what SiMix gained on four data sets, from few training classes to many."""

from typing import Literal

import lab.papers.tables
from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

SETS = {
    "cars196": ("Cars196", 98, 82, 392),
    "inaturalist2018": ("iNaturalist", 5_690, 57, 4_000),
    "sop": ("SOP", 11_318, 5, 4_000),
    "vehicle_id": ("VehicleID", 13_134, 8, 4_000),
}
"""Name, training classes, images a class (table 1) and images a batch (section 4.2)."""
WIDTHS = {128: "/", 512: ""}
"""Of the embedding, and the hatching of its bars."""


class SimixGain(Figure):
    """Points that RS@k gained by SiMix with a ResNet-50, a bar for each width."""

    title = "What SiMix gained in its paper"
    source = "RS@k, tables 1 and 2"
    tier = "instant"
    question = "Where does SiMix help, and what sets that data set apart?"
    moves = ("column", "vehicles")

    column: Literal["r@1", "longest list"] = knob(
        "Score: r@1, or the longest list that is printed (r@8, r@32, r@1000, r@5 from left to right).",
        default="r@1",
    )
    vehicles: Literal["small", "medium", "large"] = knob("Test set of VehicleID.", default="small")

    def numbers(self) -> Numbers:
        gains: dict[int, list[float]] = {width: [] for width in WIDTHS}
        for data, width in ((data, width) for data in SETS for width in WIDTHS):
            plain, mixed = (
                list(row.values.values())[0 if self.knobs.column == "r@1" else -1]
                for row in lab.papers.tables.rows(data=(data,), loss=("recall_at_k",))
                if (row.source, row.encoder, row.dim) == ("RS@k, table 2", "ResNet-50", width)
                and row.part in ("", self.knobs.vehicles)
            )
            gains[width].append(round(100 * (mixed - plain), 1))
        return {"gains": gains}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        few, *others = zip(*numbers["gains"].values(), strict=True)
        rest = [gain for pair in others for gain in pair]
        figure = self.canvas(
            f"98 classes, a batch of 392: <b>{min(few):+.1f}</b> and <b>{max(few):+.1f}</b> points; thousands of "
            f"classes, a batch of 4,000: {min(rest):+.1f} to {max(rest):+.1f}",
            x="data set, its training classes and the images of each",
            y=f"gain of SiMix (points, {self.knobs.column})",
        )
        places = [
            f"{name}<br>{classes:,} classes<br>of {images}"
            for name, classes, images, _ in SETS.values()
        ]
        for index, (width, gains) in enumerate(numbers["gains"].items()):
            figure.add_bar(
                x=places,
                y=gains,
                name=f"{width} numbers",
                texttemplate="%{y:+.1f}",
                textposition="outside",
                marker={"color": style.COLOURS[index], "pattern": {"shape": WIDTHS[width]}},
            )
        figure.update_yaxes(range=[-2, 8.5])
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        told = [
            f"{name}, {classes:,} classes of {images}, batch {batch:,}: {narrow:+.1f} and {wide:+.1f}"
            for (name, classes, images, batch), narrow, wide in zip(
                SETS.values(), *numbers["gains"].values(), strict=True
            )
        ]
        return f"Points of {self.knobs.column} that SiMix adds, with 128 and 512 numbers. {'; '.join(told)}."
