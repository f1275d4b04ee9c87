"""004, figure 8: what a loss costs as the batch grows, forecast from the tensors that it holds."""

import numpy as np

from lab.core import style
from lab.figures._base import DOTTED, Figure, Numbers, PlotlyFigure, curve, knob

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full."""

ROWS = 2.2
TILES = 19 << 20
A_PAIR = 150
BESIDES = 2 << 20
"""What recall@k of this lab holds, as measured: float32 matrices [n d], and bytes of tiles at most, of each positive
pair and of all else."""

TICKS = [4**power for power in range(1, 8)]
"""Batch sizes that the axis names."""

UNITS = {
    "100 kB": 1e-4,
    "1 MB": 1e-3,
    "10 MB": 0.01,
    "100 MB": 0.1,
    "1 GB": 1,
    "10 GB": 10,
    "100 GB": 100,
    "1 TB": 1000,
}
"""Gigabytes that the axis names."""


class LossCost(Figure):
    """Bytes of the naive and the tiled formulations by batch size; `lab doctor bench` measures the seconds."""

    title = "Memory of a loss by batch size"
    source = "Contextual, figure 8; ROADMAP, table 2"
    tier = "instant"
    question = "At which batch does the naive rank tensor outgrow the memory of your GPU?"
    moves = ("memory", "bytes")

    largest: int = knob(
        "Largest batch size of the forecast.",
        default=6400,
        ge=64,
        le=16384,
        scale="log",
        source="Contextual, figure 8",
    )
    per_class: int = knob("Images per class.", default=4, ge=2, le=16)
    dim: int = knob("Width of the embeddings.", default=512, ge=8, le=2048, scale="log")
    bytes: int = knob(
        "Bytes per number of the tensors that are held whole; tiles are float32.",
        default=4,
        ge=2,
        le=8,
    )
    memory: float = knob("Memory of the device.", default=80.0, ge=1, le=200, unit="GB")

    def numbers(self) -> Numbers:
        k = self.knobs
        n = np.unique(np.geomspace(32, k.largest, 24).astype(int))
        m = k.per_class
        tiled = 4 * ROWS * n * k.dim + np.minimum(TILES, 8 * n**2) + A_PAIR * n * (m - 1) + BESIDES
        counts = {
            "similarities, n²": n**2,
            f"contextual loss in whole matrices, {WHOLE_MATRICES:g} n²": WHOLE_MATRICES * n**2,
            "rank tensor of the positives, n² (m-1)": n**2 * (m - 1),
            "rank tensor of all pairs, n³": n**3,
        }
        gigabytes = {name: count * k.bytes / 1e9 for name, count in counts.items()}
        gigabytes["recall@k of this lab, in tiles"] = tiled.round() / 1e9
        return {"sizes": n, "gigabytes": gigabytes}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        fits = int((self.knobs.memory * 1e9 / self.knobs.bytes) ** (1 / 3) + 1e-9)
        largest = int(numbers["sizes"][-1])
        if fits < largest:
            subtitle = f"the n³ tensor fits {self.knobs.memory:g} GB up to a batch of {fits:,}"
        else:
            subtitle = f"every tensor fits {self.knobs.memory:g} GB up to a batch of {largest:,}"
        figure = self.canvas(
            subtitle, x="batch size n (images, log scale)", y="memory (log scale)", height=480
        )
        for index, (name, y) in enumerate(numbers["gigabytes"].items()):
            curve(figure, index, name, numbers["sizes"], y)
        figure.add_hline(y=self.knobs.memory, line=DOTTED)
        style.note(
            figure,
            f"{self.knobs.memory:g} GB",
            np.log10(40),
            np.log10(self.knobs.memory),
            yshift=10,
        )
        figure.update_xaxes(type="log", tickvals=TICKS, tickformat=",d")
        figure.update_yaxes(type="log", tickvals=list(UNITS.values()), ticktext=list(UNITS))
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        last = {name: values[-1] for name, values in numbers["gigabytes"].items()}
        listed = "; ".join(f"{name} {value:.3g} GB" for name, value in last.items())
        return f"Memory against the batch size. At {numbers['sizes'][-1]} images: {listed}."
