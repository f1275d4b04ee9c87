"""000, section 4.2: large batches by multistage back-propagation, its memory, and whether its gradients are equal."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from lab.core import style
from lab.figures._base import BESIDE, DASHED, LEFT, Figure, Numbers, PlotlyFigure, knob
from lab.inspect import GradientEquality, gradient_equality
from lab.surrogates import Sigmoid

BYTES = {"float64": 8, "float32": 4, "bfloat16": 2}


class CachedGradients(Figure):
    """Memory over time of the plain step and the cached one, and an equality meter on a small network."""

    title = "A large batch in small memory: cached gradients"
    source = "RS@k, section 4.2"
    tier = "instant"
    question = (
        "Which of dropout, running batch statistics and 16-bit arithmetic "
        "breaks the equality, and how is it mended?"
    )

    chunk: int = knob(
        "Images that run through the network at once (chunk).",
        default=128,
        ge=8,
        le=1024,
        scale="log",
    )
    dropout: bool = knob("Give the small network dropout.", default=True)
    batch_norm: Literal["none", "frozen", "running"] = knob(
        "Batch normalisation of the small network.", default="frozen"
    )
    dtype: Literal["float32", "float64", "bfloat16"] = knob(
        "Precision of the small network.", default="float32"
    )
    batch: int = knob("Images per step (batch size B).", default=4096, ge=64, le=16384, scale="log")
    dim: int = knob("Width of the embeddings.", default=512, ge=16, le=2048, scale="log")
    activations: float = knob(
        "Activations that one image keeps for back-propagation.",
        default=90.0,
        ge=1,
        le=1000,
        scale="log",
        unit="MB",
    )
    replay: bool = knob("Replay the random state of each chunk in the second pass.", default=True)

    def numbers(self) -> Numbers:
        k = self.knobs
        chunk = min(k.chunk, k.batch)
        steps = -(-k.batch // chunk)
        embeddings = k.batch * k.dim * BYTES[k.dtype] / 1e6
        pairs = k.batch**2 * BYTES[k.dtype] / 1e6
        plain = [
            *(chunk * k.activations * np.arange(1, steps + 1)),
            k.batch * k.activations + pairs,
        ]
        plain += [*(chunk * k.activations * np.arange(steps, 0, -1))]
        first = [chunk * k.activations + embeddings * (i + 1) / steps for i in range(steps)]
        cached = [*first, 2 * embeddings + pairs, *([chunk * k.activations + embeddings] * steps)]
        return {"plain": np.array(plain), "cached": np.array(cached), "equality": self._equality()}

    def _equality(self) -> GradientEquality:
        k = self.knobs
        dtype = getattr(torch, k.dtype)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layers: list[nn.Module] = [nn.Linear(8, 16)]
            if k.batch_norm != "none":
                layers.append(nn.BatchNorm1d(16))
            layers += [nn.Tanh(), nn.Dropout(0.3 if k.dropout else 0.0), nn.Linear(16, 6)]
            net = nn.Sequential(*layers).to(dtype)
            images = torch.randn(24, 8).to(dtype)
        labels = torch.arange(24) // 4
        if k.batch_norm == "frozen":
            net[1].eval()

        def together(module: nn.Module) -> tuple[Tensor, list[Tensor]]:
            states = []
            parts = []
            for part in images.chunk(4):
                states.append(torch.random.get_rng_state())
                parts.append(module(part))
            return torch.cat(parts), states

        def plain(module: nn.Module) -> None:
            # one forward pass sees the statistics of the whole batch
            whole = k.batch_norm == "running"
            soft_ranks(module(images) if whole else together(module)[0], labels).backward()

        def cached(module: nn.Module) -> None:
            with torch.no_grad():
                vectors, states = together(module)
            leaf = vectors.requires_grad_()
            (gradient,) = torch.autograd.grad(soft_ranks(leaf, labels), leaf)
            for part, grad, state in zip(images.chunk(4), gradient.chunk(4), states, strict=True):
                if k.replay:
                    torch.random.set_rng_state(state)
                module(part).backward(grad)

        return gradient_equality(net, plain, cached)

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        equality = numbers["equality"]
        figure = self.canvas(
            f"peak {numbers['plain'].max() / 1e3:.3g} GB against {numbers['cached'].max() / 1e3:.3g} GB, for one more "
            "forward pass · "
            + style.badge(
                equality.holds, "gradients equal" if equality.holds else "gradients differ"
            ),
            panels=("activations and embeddings in memory", "relative difference of each gradient"),
            column_widths=[0.58, 0.42],
            x=("time within the step (from start to end)", "relative difference (log scale)"),
            y=("memory (GB, log scale)",),
        )
        for index, (name, values) in enumerate(
            (("plain", numbers["plain"]), ("cached", numbers["cached"]))
        ):
            figure.add_scatter(
                x=np.linspace(0, 1, len(values)),
                y=values / 1e3,
                name=name,
                mode="lines",
                line={**style.line(1 - index), "shape": "hv"},
                **LEFT,
            )
        ok = equality.relative <= equality.tolerance
        figure.add_scatter(
            x=np.maximum(equality.relative, 1e-18),
            y=list(equality.names),
            mode="markers+text",
            showlegend=False,
            text=[style.RIGHT if x else style.WRONG for x in ok],
            textposition="middle right",
            marker={
                "size": 12,
                "color": [style.BLUE if x else style.VERMILLION for x in ok],
                "symbol": ["circle" if x else "x" for x in ok],
            },
            **BESIDE,
        )
        figure.add_vline(x=equality.tolerance, line=DASHED, **BESIDE)
        style.note(
            figure,
            "limit",
            np.log10(equality.tolerance),
            1,
            xanchor="left",
            yanchor="top",
            yref="y2 domain",
            xref="x2",
        )
        figure.update_yaxes(type="log", dtick=1, **LEFT)
        figure.update_xaxes(
            type="log", range=[-18.5, 1.5], exponentformat="power", dtick=4, **BESIDE
        )
        return figure.update_layout(legend={"x": 0.02, "y": 0.05})

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Memory over one step of {self.knobs.batch} images: the plain step peaks at "
            f"{numbers['plain'].max() / 1e3:.3g} GB, the cached one at {numbers['cached'].max() / 1e3:.3g} GB. "
            f"{numbers['equality'].summary}"
        )


def soft_ranks(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Return the mean soft rank of the positives, a loss in which all items of the batch depend on each other."""
    units = nn.functional.normalize(embeddings.double(), dim=1)
    s = units @ units.T
    same = (labels[:, None] == labels[None, :]) & ~torch.eye(len(labels), dtype=torch.bool)
    gaps = s[:, None, :] - s[:, :, None]
    return Sigmoid(0.1)(gaps).sum(dim=2)[same].mean()
