"""004, figure 1: items whose neighbourhoods agree and whose labels do not."""

from collections.abc import Sequence

import numpy as np
import torch

from lab.core import style
from lab.figures import _runs, _thumbnails, _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob
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
    moves = ("threshold", "k")

    k: int = knob("Number of neighbours, the item itself included.", default=8, ge=2, le=40, source="Contextual, eq. 2")
    threshold: float = knob(
        "Contextual similarity above which a pair of different classes is suspect.", default=0.7, ge=0, le=1
    )
    wrong_labels: float = knob("Share of wrong labels in the toy data.", default=0.1, ge=0, le=0.5)
    noise: float = knob("Spread of the toy classes (noise).", default=0.2, ge=0.1, le=2)
    most: int = knob("Maximum number of items of a run that are compared.", default=300, ge=20, le=1000)
    shown: int = knob("Number of pairs to draw, the most alike first.", default=6, ge=1, le=12)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

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
        order = np.argsort(-w[i, j], kind="stable")
        i, j = i[order], j[order]
        drawn = items[np.concatenate([i[: k.shown], j[: k.shown]])]
        return {
            "map": centred @ axes.T, "labels": labels, "items": items, "i": i, "j": j, "w": w[i, j],
            "suspects": suspects, "mislabelled": None if clean is None else clean != labels,
            "pictures": _thumbnails.pictures(_thumbnails.images(runs[0]), drawn) if runs else {},
        }  # fmt: skip

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        wrong, suspects, count = numbers["mislabelled"], numbers["suspects"], len(numbers["i"])
        subtitle = f"{count} pairs, {len(suspects)} items"
        if wrong is not None and len(suspects):
            subtitle += (
                f"; <b>{wrong[suspects].mean():.0%}</b> of them are mislabelled, against {wrong.mean():.0%} of all"
            )
        pair_count = min(self.knobs.shown, count)
        listed = f"the {pair_count} most alike" + (f" ({style.WRONG} wrong label)" if wrong is not None else "")
        figure = self.canvas(
            subtitle + ". Neighbours are found in the full space; the map only shows where",
            panels=("where the pairs lie", listed),
            column_widths=[0.6, 0.4],
            horizontal_spacing=0.1,
            height=580,
            x=("first principal component",),
            y=("second principal component",),
        )
        self._draw_map(figure, numbers, pair_count)
        self._draw_pairs(figure, numbers, pair_count)
        return style.legend_below(figure)

    def _draw_map(self, figure: PlotlyFigure, numbers: Numbers, pair_count: int) -> None:
        """Every item, the chosen pairs as numbered lines, and, where that is known, the wrong labels."""
        points, labels, i, j = numbers["map"], numbers["labels"], numbers["i"][:pair_count], numbers["j"][:pair_count]
        place = {"row": 1, "col": 1}
        figure.add_scatter(
            x=points[:, 0], y=points[:, 1], mode="markers", name="item (sign = label)",
            marker={"size": 8, "opacity": 0.55, "color": [style.COLOURS[int(c) % 8] for c in labels],
                    "symbol": [style.MARKERS[int(c) % 8] for c in labels]},
            customdata=np.stack([numbers["items"], labels], 1),
            hovertemplate="item %{customdata[0]}, label %{customdata[1]}<extra></extra>", **place,
        )  # fmt: skip
        if numbers["mislabelled"] is not None:
            wrong = numbers["mislabelled"]
            figure.add_scatter(
                x=points[wrong, 0], y=points[wrong, 1], mode="markers", name=f"{style.WRONG} mislabelled",
                marker={"symbol": "square-open", "size": 18, "color": style.BLACK, "line": {"width": 2}}, **place,
            )  # fmt: skip
        lines = np.stack([points[i], points[j], np.full((pair_count, 2), np.nan)], axis=1).reshape(-1, 2)
        figure.add_scatter(
            x=lines[:, 0], y=lines[:, 1], mode="lines", name="one of the pairs", hoverinfo="skip",
            line={"color": style.BLACK, "width": 2, "dash": "dot"}, **place,
        )  # fmt: skip
        for number in range(pair_count):
            style.note(figure, f"<b>{number + 1}</b>", *(points[i[number]] + points[j[number]]) / 2, **place)

    def _draw_pairs(self, figure: PlotlyFigure, numbers: Numbers, pair_count: int) -> None:
        """The chosen pairs in a list: both items, and how alike their company is."""
        w, labels, wrong = numbers["w"][:pair_count], numbers["labels"], numbers["mislabelled"]
        place = {"row": 1, "col": 2}
        figure.add_bar(
            x=w, y=np.arange(1, pair_count + 1), orientation="h", showlegend=False, width=0.5,
            marker={"color": style.BLUE}, text=[f"{value:.2f}" for value in w], textposition="inside",
            insidetextanchor="end", hoverinfo="skip", **place,
        )  # fmt: skip
        for number in range(pair_count):
            for x, item in ((-0.56, numbers["i"][number]), (-0.2, numbers["j"][number])):
                sign = f" {style.WRONG}" if wrong is not None and wrong[item] else ""
                words = (
                    f"<b>{letters(labels[[item]])[0]}</b>{sign}" if labels.max() < 26 else f"{numbers['items'][item]}"
                )
                picture = numbers["pictures"].get(int(numbers["items"][item]))
                _thumbnails.lay(figure, picture, x, number + 1, (0.34, 0.9), words, **place)
        figure.update_xaxes(title_text="contextual similarity", range=[-0.8, 1], tickvals=[0, 0.5, 1], **place)
        figure.update_yaxes(title_text="pair", range=[max(pair_count, 4) + 0.6, 0.4], dtick=1, showgrid=False, **place)

    def alt(self, numbers: Numbers) -> str:
        return (
            f"{len(numbers['labels'])} items on their two principal components; {len(numbers['i'])} pairs of different "
            f"labels have a contextual similarity of at least {self.knobs.threshold:g}, touching "
            f"{len(numbers['suspects'])} items."
        )
