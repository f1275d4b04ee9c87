"""Which layer of a network to search with: the share of right first answers, by layer and whitening."""

from typing import Any, Literal

import numpy as np

from lab.core import style
from lab.core.layers_file import read_layers
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob
from lab.figures._bundled import EXAMPLES


class WhichLayer(Figure):
    """A heat map of layers over whitenings. The plain output is the network as it was published: a frame and words mark
    it. A star marks the best setting.

    Shows the file of `lab layers SOURCE --output FILE`; without a file that of Emoji-7, which comes with the project.
    """

    title = "Which layer?"
    source = "More"
    tier = "static"
    question = "Which layer of the network finds the right first answer most often, and does whitening help it?"

    file: str = knob(
        "File of `lab layers --output`; by default the results on Emoji-7.", default="", path=True
    )

    show: Literal["score", "gain"] = knob(
        "The score of each layer, or what it gains over the network as it comes.", default="score"
    )

    def numbers(self) -> Numbers:
        stored = read_layers(self.knobs.file or EXAMPLES / "layers_emoji7.json", "WhichLayer")
        rows = [*stored["rows"][1:], stored["rows"][0]]  # the output comes last, above all layers
        columns = sorted({int(column) for row in rows for column in row["scores"]})
        table = np.full((len(rows), len(columns)), np.nan)
        for number, row in enumerate(rows):
            for column, share in row["scores"].items():
                table[number, columns.index(int(column))] = np.nan if share is None else share
        if np.isnan(table).all() or np.isnan(table[-1, 0]):
            raise ValueError(
                f"WhichLayer: {self.knobs.file} has no score of the network as it came."
            )
        best = np.unravel_index(int(np.nanargmax(table)), table.shape)
        return {
            "layers": [row["layer"] for row in rows],
            "columns": ["plain" if column == 0 else f"{column:,} numbers" for column in columns],
            "table": table,
            "best": (int(best[0]), int(best[1])),
            "sentence": stored["sentence"],
            "what": f"{stored['source']}, {stored['network']}",
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        table, columns, layers = numbers["table"], numbers["columns"], numbers["layers"]
        best_row, best_column = numbers["best"]
        figure = self.canvas(
            numbers["sentence"],
            x="whitening: numbers that are kept",
            y="layer of the network",
            height=max(460, 220 + 34 * len(layers)),
        )
        shown = table
        number = ".3f"
        scale: dict[str, Any] = {"colorscale": style.SEQUENTIAL}
        meaning = "share of right<br>first answers"
        if self.knobs.show == "gain":
            shown = table - table[-1, 0]
            number = "+.3f"
            scale = {"colorscale": style.DIVERGING, "zmid": 0}
            meaning = "gain in right<br>first answers"
        text = np.full(table.shape, "", object)
        for place in zip(*np.nonzero(~np.isnan(shown)), strict=True):
            text[place] = f"{shown[place]:{number}}"
        text[-1, 0] += " as it comes"
        text[best_row, best_column] += " ★"
        figure.add_heatmap(
            x=columns,
            y=layers,
            z=shown,
            text=text,
            texttemplate="%{text}",
            **scale,
            xgap=2,
            ygap=2,
            colorbar={"title": {"text": meaning}, "tickformat": number.replace("3", "2")},
            hovertemplate=f"%{{y}}, %{{x}}: %{{z:{number}}}<extra></extra>",
        )
        top = len(layers) - 1
        frame = {"color": style.VERMILLION, "width": 3}
        figure.add_shape(type="rect", x0=-0.5, x1=0.5, y0=top - 0.5, y1=top + 0.5, line=frame)
        figure.update_xaxes(type="category", showgrid=False)
        return figure.update_yaxes(type="category", showgrid=False, automargin=True)

    def alt(self, numbers: Numbers) -> str:
        table, columns = numbers["table"], numbers["columns"]
        rows = []
        for layer, shares in zip(numbers["layers"], table, strict=True):
            known = [
                f"{column} {share:.3f}"
                for column, share in zip(columns, shares, strict=True)
                if share == share
            ]
            rows.append(f"{layer}: {', '.join(known)}")
        best_row, best_column = numbers["best"]
        return (
            f"Share of right first answers of {numbers['what']}, by layer and by numbers that a whitening keeps. "
            f"{'; '.join(rows)}. The network as it came has {table[-1, 0]:.3f}; the best is "
            f"{numbers['layers'][best_row]}, {columns[best_column]}, with {table[best_row, best_column]:.3f}."
        )
