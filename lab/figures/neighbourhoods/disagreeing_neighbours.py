"""004, figure 1: items whose neighbourhoods agree and whose labels do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lab.core import style
from lab.core.knobs import Knobs, knob
from lab.figures import _runs, _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure
from lab.figures.points import letters
from lab.kernels.neighbours.plain import Steps, contextual_similarity
from lab.surrogates import ConstantGradient


class DisagreeingNeighbours(Figure):
    """Pairs of different labels with a high contextual similarity, on the toy or on the embeddings of a run."""

    title = "Same neighbourhood, different label"
    source = "Contextual, figure 1"
    tier = "toy_training"
    question = "How many of the suspects are really mislabelled, and how does that change with the threshold?"
    reads_runs = True

    class Knobs(Knobs):
        """The neighbourhood, the threshold and the toy."""

        k: int = knob(8, "Number of neighbours, the item itself included.", ge=2, le=40, source="Contextual, eq. 2")
        threshold: float = knob(
            0.7, "Contextual similarity above which a pair of different classes is suspect.", ge=0, le=1
        )
        wrong_labels: float = knob(0.1, "Share of wrong labels in the toy data.", ge=0, le=0.5)
        noise: float = knob(0.2, "Spread of the toy classes (noise).", ge=0.1, le=2)
        most: int = knob(300, "Maximum number of items of a run that are compared.", ge=20, le=1000)
        seed: int = knob(0, "Random seed.", ge=0, le=99)

    def numbers(self, runs: Sequence = ()) -> Numbers:
        k = self.knobs
        if runs:
            images = _runs.test_embeddings(runs[0])
            rows = np.random.default_rng(k.seed).permutation(len(images))[: k.most]
            points, labels, items, clean = images.vectors[rows], images.labels[rows], images.items[rows], None
        else:
            toy = _toy.hidden_classes(8, 16, nuisance=2, noise=k.noise, wrong_labels=k.wrong_labels, seed=k.seed)
            points, labels, clean = toy.train.points.numpy(), toy.train.labels.numpy(), toy.clean.numpy()
            items = np.arange(len(labels))
        units = torch.from_numpy(points / np.linalg.norm(points, axis=1, keepdims=True)).double()
        steps = Steps(k=min(k.k, len(units)), eps=0.0, theta=ConstantGradient())
        w = contextual_similarity((2 - 2 * units @ units.T).clamp_min(0), steps).numpy()
        i, j = np.nonzero(np.triu((labels[:, None] != labels[None, :]) & (w >= k.threshold), 1))
        centred = units.numpy() - units.numpy().mean(0)
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
        suspects = np.unique(np.concatenate([i, j]))
        return {
            "map": centred @ axes.T, "labels": labels, "items": items, "i": i, "j": j, "w": w[i, j],
            "suspects": suspects, "mislabelled": None if clean is None else clean != labels,
        }  # fmt: skip

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        import plotly.graph_objects as go

        points, labels, i, j = numbers["map"], numbers["labels"], numbers["i"], numbers["j"]
        wrong, suspects = numbers["mislabelled"], numbers["suspects"]
        subtitle = f"{len(i)} pairs, {len(suspects)} items"
        if wrong is not None and len(suspects):
            subtitle += f"; {wrong[suspects].mean():.0%} of them are mislabelled, against {wrong.mean():.0%} of all"
        figure = style.canvas(
            self.title,
            subtitle + ". Neighbours are found in the full space; the map only shows where",
            x="first principal component",
            y="second principal component",
            height=560,
        )
        lines = np.stack([points[i], points[j], np.full((len(i), 2), np.nan)], axis=1).reshape(-1, 2)
        figure.add_trace(
            go.Scatter(
                x=lines[:, 0], y=lines[:, 1], mode="lines", name="suspect pair", hoverinfo="skip",
                line={"color": style.VERMILLION, "width": 1, "dash": "dot"}, opacity=0.6,
            )
        )  # fmt: skip
        few = len(np.unique(labels)) <= 26
        figure.add_trace(
            go.Scatter(
                x=points[:, 0], y=points[:, 1], mode="text" if few else "markers", name="item (letter = label)",
                text=letters(labels) if few else None, marker={"size": 6, "color": style.GREY},
                textfont={"color": [style.COLOURS[int(c) % 8] for c in labels]},
                customdata=np.stack([numbers["items"], labels], 1),
                hovertemplate="item %{customdata[0]}, label %{customdata[1]}<extra></extra>",
            )
        )  # fmt: skip
        if wrong is not None:
            figure.add_trace(
                go.Scatter(
                    x=points[wrong, 0], y=points[wrong, 1], mode="markers", name=f"{style.WRONG} mislabelled",
                    marker={"symbol": "square-open", "size": 18, "color": style.BLACK, "line": {"width": 1.5}},
                )
            )  # fmt: skip
        return figure

    def alt(self, numbers: Numbers) -> str:
        return (
            f"{len(numbers['labels'])} items on their two principal components; {len(numbers['i'])} pairs of different "
            f"labels have a contextual similarity of at least {self.knobs.threshold:g}, touching "
            f"{len(numbers['suspects'])} items."
        )
