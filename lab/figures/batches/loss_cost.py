"""004, figure 8: what a loss costs as the batch grows, forecast from its tensors or measured on this machine."""

import time

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.figures._base import BESIDE, DOTTED, LEFT, Figure, Numbers, PlotlyFigure, curve, knob

NAMES = ("recall_at_k", "sup_ap", "roadmap", "contextual", "contrastive")

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full."""

ROWS, TILES, A_PAIR, BESIDES = 2.2, 19 << 20, 150, 2 << 20
"""What recall@k of this lab holds, as measured: float32 matrices [n d], and bytes of tiles at most, of each positive
pair and of all else."""

TICKS = [4**power for power in range(1, 8)]
"""Batch sizes that the axis names."""


class LossCost(Figure):
    """Bytes of the naive and the tiled formulations by batch size; optionally seconds of our losses here."""

    title = "Memory and time of a loss by batch size"
    source = "Contextual, figure 8; ROADMAP, table 2"
    tier = "instant"
    question = "At which batch does the naive rank tensor outgrow the memory of your GPU?"
    moves = ("memory", "bytes")

    largest: int = knob(
        "Largest batch size of the forecast.", default=6400, ge=64, le=16384, scale="log", source="Contextual, figure 8"
    )
    per_class: int = knob("Images per class.", default=4, ge=2, le=16)
    dim: int = knob("Width of the embeddings.", default=512, ge=8, le=2048, scale="log")
    bytes: int = knob("Bytes per number of the tensors that are held whole; tiles are float32.", default=4, ge=2, le=8)
    memory: float = knob("Memory of the device.", default=80.0, ge=1, le=200, unit="GB")
    measure: bool = knob("Also measure the losses on this machine, forward and backward.", default=False)
    measured: int = knob("Largest batch size that is measured.", default=128, ge=32, le=256, scale="log")

    def numbers(self) -> Numbers:
        k = self.knobs
        n, m = np.unique(np.geomspace(32, k.largest, 24).astype(int)), k.per_class
        tiled = 4 * ROWS * n * k.dim + np.minimum(TILES, 8 * n**2) + A_PAIR * n * (m - 1) + BESIDES
        counts = {
            "similarities, n²": n**2,
            f"contextual similarity in whole matrices, {WHOLE_MATRICES:g} n²": WHOLE_MATRICES * n**2,
            "rank tensor of the positives, n² (m-1)": n**2 * (m - 1),
            "rank tensor of all pairs, n³": n**3,
            "embeddings, n d": n * k.dim,
        }
        gigabytes = {name: count * k.bytes / 1e9 for name, count in counts.items()}
        gigabytes["all that recall@k of this lab keeps, in tiles"] = tiled.round() / 1e9
        return {"sizes": n, "gigabytes": gigabytes, "seconds": self._measure() if k.measure else {}}

    def _measure(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Per loss: batch sizes and the faster of two runs, forward and backward, in seconds."""
        k = self.knobs
        sizes = np.unique(np.geomspace(16, k.measured, 5).astype(int) // k.per_class * k.per_class)
        sizes = sizes[sizes >= 2 * k.per_class]
        costs = {}
        for name in NAMES:
            loss, seconds = losses.create(name), []
            for n in sizes:
                vectors = torch.randn(int(n), 64, generator=torch.Generator().manual_seed(0)).requires_grad_()
                labels = torch.arange(int(n)) // k.per_class
                runs = []
                for _ in range(2):
                    start = time.perf_counter()
                    loss(vectors, labels).backward()
                    runs.append(time.perf_counter() - start)
                seconds.append(min(runs))
            costs[name] = sizes, np.array(seconds)
        return costs

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        measured = numbers["seconds"]
        fits, largest = int((self.knobs.memory * 1e9 / self.knobs.bytes) ** (1 / 3) + 1e-9), int(numbers["sizes"][-1])
        subtitle = (
            f"the n³ tensor fits {self.knobs.memory:g} GB up to a batch of {fits:,}"
            if fits < largest
            else f"every tensor fits {self.knobs.memory:g} GB up to a batch of {largest:,}"
        )
        panels = ("memory of the tensors (forecast)",) + (("seconds on this machine",) if measured else ())
        figure = self.canvas(
            subtitle,
            panels=panels,
            cols=len(panels),
            height=480,
            x="batch size n (log scale)",
            y=("GB (log scale)",),
        )
        for index, (name, y) in enumerate(numbers["gigabytes"].items()):
            curve(figure, index, name, numbers["sizes"], y, **LEFT)
        figure.add_hline(y=self.knobs.memory, line=DOTTED, **LEFT)
        style.note(figure, f"{self.knobs.memory:g} GB", np.log10(40), np.log10(self.knobs.memory), **LEFT, yshift=10)
        figure.update_xaxes(type="log", tickvals=TICKS, tickformat=",d")
        figure.update_yaxes(type="log", exponentformat="power", **LEFT)
        for index, (name, (sizes, seconds)) in enumerate(measured.items()):
            curve(figure, index, name, sizes, seconds, size=9, **BESIDE)
        if measured:
            figure.update_yaxes(title_text="forward + backward (s, log scale)", type="log", **BESIDE)
        style.legend_below(figure)
        return figure.update_layout(margin={"b": 150})

    def alt(self, numbers: Numbers) -> str:
        last = {name: values[-1] for name, values in numbers["gigabytes"].items()}
        listed = "; ".join(f"{name} {value:.3g} GB" for name, value in last.items())
        return f"Memory against the batch size. At {numbers['sizes'][-1]} images: {listed}."
