"""004, figure 1: pairs of images with similar neighbourhoods and different labels."""

import itertools
from collections.abc import Sequence

import numpy as np
import torch

from lab.core import style
from lab.figures import _runs, _thumbnails
from lab.figures._base import Numbers, PlotlyFigure, knob
from lab.kernels.plain.neighbours import Steps, contextual_similarity
from lab.surrogates import ConstantGradient

COMPANY = 6
"""Largest number of shared neighbours that are drawn beside a pair."""


class DisagreeingNeighbours(_runs.RunFigure):
    """Pairs of different labels with a high contextual similarity, each with the shared neighbours."""

    title = "Same neighbourhood, different label"
    source = "Contextual, figure 1"
    question = "Would you have told these pairs apart? Which of them would you give one label?"
    examples = ("contrastive",)
    moves = ("threshold", "k")

    k: int = knob(
        "Number of neighbours, the item itself included.",
        default=8,
        ge=2,
        le=40,
        source="Contextual, eq. 2",
    )
    threshold: float = knob(
        "Contextual similarity above which a pair of different classes is suspect.",
        default=0.5,
        ge=0,
        le=1,
    )
    shown: int = knob("Number of pairs to draw, the most alike first.", default=6, ge=1, le=12)
    most: int = knob(
        "Maximum number of items of a run that are compared.", default=300, ge=20, le=1000
    )

    def numbers(self, runs: Sequence = ()) -> Numbers:
        k = self.knobs
        images = _runs.test_embeddings(runs[0])
        rows = np.sort(np.random.default_rng(0).permutation(len(images))[: k.most])
        labels = images.labels[rows]
        items = images.items[rows]
        units = torch.from_numpy(images.vectors[rows]).double()
        units = units / units.norm(dim=1, keepdim=True)
        steps = Steps(k=min(k.k, len(units)), eps=0.0, theta=ConstantGradient())
        distances = (2 - 2 * units @ units.T).clamp_min(0)
        w = contextual_similarity(distances, steps).numpy()

        # Pairs of different labels above the threshold, the most alike first.
        other_label = labels[:, None] != labels[None, :]
        i, j = np.nonzero(np.triu(other_label & (w >= k.threshold), 1))
        order = np.argsort(-w[i, j], kind="stable")
        i = i[order]
        j = j[order]
        pairs = list(zip(i[: k.shown], j[: k.shown], strict=True))

        # The neighbours that both images of a pair share.
        near = np.argsort(distances.numpy(), axis=1, kind="stable")[:, : steps.k]
        company = []
        for a, b in pairs:
            company.append([other for other in near[a] if other in near[b] and other not in (a, b)])

        drawn_rows = np.array([*itertools.chain.from_iterable((*pairs, *company))], dtype=np.int64)
        drawn = items[drawn_rows]
        dataset = _thumbnails.images(runs[0])
        return {
            "items": items,
            "labels": labels,
            "w": w[i, j],
            "company": company,
            "pairs": pairs,
            "pictures": _thumbnails.pictures(dataset, drawn),
            "names": _thumbnails.names(dataset, drawn),
            "run": runs[0].name,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        pairs = numbers["pairs"]
        w = numbers["w"]
        items = numbers["items"]
        figure = self.canvas(
            f"{len(w)} pairs of different labels with w ≥ {self.knobs.threshold:g} among {len(items)} images of "
            f"{numbers['run']}; here the {len(pairs)} most alike",
            x="the pair, and neighbours that both have among their nearest",
            y="contextual similarity w",
            height=210 + 92 * max(len(pairs), 2),
        )
        captions = []
        for line, ((a, b), company) in enumerate(zip(pairs, numbers["company"], strict=True)):
            shown = [(0.0, a), (1.25, b)]  # x and row of each picture of the line
            for position, neighbour in enumerate(company[:COMPANY]):
                shown.append((2.9 + position, neighbour))
            for x, row in shown:
                item = int(items[row])
                picture = numbers["pictures"].get(item)
                _thumbnails.lay(figure, picture, x, line, (0.62, 0.62), numbers["names"][item])
            names = [numbers["names"][int(items[row])] for row in (a, b)]
            captions.append(f"{names[0]} {style.WRONG} {names[1]}")
        figure.add_scatter(
            x=np.full(len(pairs), 0.62),
            y=np.arange(len(pairs)) + 0.44,
            mode="text",
            showlegend=False,
            hoverinfo="skip",
            text=captions,
            textfont={"size": 12, "color": style.VERMILLION},
        )
        figure.add_vline(x=2.1, line={"color": style.GREY, "dash": "dot"})
        figure.update_xaxes(
            range=[-0.8, 2.9 + COMPANY],
            tickvals=[0.62, 2.4 + COMPANY / 2],
            ticktext=["pair", "shared company"],
            showgrid=False,
            zeroline=False,
        )
        return figure.update_yaxes(
            range=[max(len(pairs), 2) - 0.3, -0.5],
            tickvals=np.arange(len(pairs)),
            showgrid=False,
            zeroline=False,
            ticktext=[f"{value:.2f}" for value in w[: len(pairs)]],
        )

    def alt(self, numbers: Numbers) -> str:
        items = numbers["items"]
        names = numbers["names"]
        pairs = []
        # only the first pairs are drawn
        for (a, b), value in zip(numbers["pairs"], numbers["w"], strict=False):
            pairs.append(f"{names[int(items[a])]} and {names[int(items[b])]} ({value:.2f})")
        return (
            f"Of {len(items)} images {len(numbers['w'])} pairs of different labels have a contextual similarity of at "
            f"least {self.knobs.threshold:g}: {', '.join(pairs) or 'none'}."
        )
