"""Small real experiments for the tutorials: Emoji-7 as rankings, as a batch, and a model trained while one watches.

Each helper hides only what a notebook is not about, and each uses the same parts as `lab train`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import lab.data
import lab.encoders
import lab.samplers
import lab.search
from lab.core.results import EmbeddingSet, Evidence
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.evaluation.embedding import embed
from lab.training.randomness import LOSS, seeded
from lab.training.steps import gradients

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from PIL import Image


def rank(embeddings: EmbeddingSet, k: int = 20) -> Evidence:
    """Search every image among the others, exactly; what the metrics and the contact sheet read."""
    index = lab.search.create("exact", device="cpu", k=min(k, len(embeddings) - 1), ties="shuffled").build(embeddings)
    return Evidence(index.rank(embeddings, same_source=True), embeddings, embeddings)


def mistakes(evidence: Evidence, count: int = 2) -> np.ndarray:
    """Queries where the search goes wrong although it could do better: the first neighbour is a stranger, and a
    positive comes late among those that the ranking kept.

    Args:
        evidence: of a search; a ranking of 10 to 20 neighbours has such queries.
        count: how many.

    Returns:
        int64 [at most count], rows of the ranking, the latest first positive first.
    """
    right = evidence.ranking.hits
    first = np.where(right.any(1), right.argmax(1), 0)  # 0: found at once, or never
    return np.argsort(-first, kind="stable")[: min(count, int((first > 0).sum()))]


def pixels(images: ImageSet, items: np.ndarray, size: int = 16) -> EmbeddingSet:
    """The images themselves as embeddings: pixels at `size` x `size`, less each image's own mean, at unit length.

    Args:
        images: a set that keeps its pixels in memory, such as Emoji-7.
        items: int64 [n], which of its images.
        size: must divide the stored size.

    Raises:
        ValueError: the set has no pixels in memory, or `size` does not divide their side.
    """
    stored = images.pixels
    if stored is None:
        raise ValueError(f"{images.name} does not keep its pixels in memory; use Emoji-7, or embed it with an encoder.")
    side = stored.shape[1]
    if side % size:
        raise ValueError(f"size must divide {side}, got {size}.")
    small = stored[items].reshape(len(items), size, side // size, size, side // size, 3).mean((2, 4))
    rows = small.reshape(len(items), -1).astype(np.float32)
    rows -= rows.mean(1, keepdims=True)
    return EmbeddingSet(rows / np.linalg.norm(rows, axis=1, keepdims=True), images.labels[items], items)


def batch(
    images: ImageSet, classes: int = 8, per_class: int = 4, seed: int = 0, dim: int = 16
) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    """A batch as a ranking loss meets it early in training: real images, embedded by their pixels.

    Returns:
        embeddings: float64 [n dim], unit rows, n = classes x per_class; pixels turned to their main directions, cut
            to `dim` (at most n) and normalised again.
        labels: int64 [n].
        items: int64 [n], positions in the set.
    """
    train = images.splits["train"].query
    sampler = lab.samplers.create("m_per_class", batch_size=classes * per_class, per_class=per_class)
    items = train[sampler.bind(images.labels[train], seed=seed).batch(0)]
    rows = torch.from_numpy(pixels(images, items).vectors).double()
    _, _, directions = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)
    embeddings = torch.nn.functional.normalize(rows @ directions[:dim].T, dim=1)
    return embeddings, torch.from_numpy(images.labels[items]), items


@dataclass(frozen=True)
class Moment:
    """How far a training is: steps taken, loss of the last one, and the watched images as they are embedded now."""

    step: int
    loss: float
    seen: EmbeddingSet


def watch(
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    images: ImageSet,
    steps: int,
    *,
    watched: np.ndarray,
    every: int = 20,
    batch_size: int = 128,
    per_class: int = 4,
    dim: int = 64,
    lr: float = 2e-3,
    seed: int = 0,
    chosen: Sequence[int] | None = None,
) -> Iterator[Moment]:
    """Train the small CNN with any loss, and look at some images on the way; about 0.15 s a step on one core.

    Args:
        loss: any callable of embeddings [n dim] and labels [n]; its own weights are trained, too. Labels are those of
            the training classes renumbered 0..c-1.
        watched: int64 [w], images to embed every `every` steps, and after the last.
        chosen: classes to train on; all training classes by default.

    Yields:
        A `Moment` before the first step, every `every` steps, and after the last.
    """
    with torch.random.fork_rng(devices=[]):  # the caller's own draws are left as they are
        torch.manual_seed(seed)
        # A loss whose anchors lie anywhere, as 003's, means nothing on vectors of length one.
        free = getattr(loss, "lengths_matter", False)
        encoder: Any = lab.encoders.create("small_cnn", dim=dim, normalise=not free)
    train = images.splits["train"].query
    if chosen is not None:
        train = train[np.isin(images.labels[train], chosen)]
    renumbered = np.unique(images.labels[train], return_inverse=True)[1]
    sampler = lab.samplers.create("m_per_class", batch_size=batch_size, per_class=per_class).bind(renumbered, seed=seed)
    loader = Loader(images, transforms.training(encoder.input_size, encoder.mean, encoder.std), seed=seed)
    loss_weights: list[Any] = list(loss.parameters()) if isinstance(loss, torch.nn.Module) else []
    optimiser = torch.optim.Adam([{"params": encoder.parameters()}, {"params": loss_weights, "lr": 10 * lr}], lr=lr)
    yield Moment(0, float("nan"), embedded(encoder, images, watched))
    places = [sampler.batch(step) for step in range(steps)]
    for step, loaded in enumerate(loader.batches(train[place] for place in places)):
        encoder.train()
        optimiser.zero_grad()
        with seeded(seed, LOSS, step):
            result = gradients(encoder, loss, loaded.images, torch.from_numpy(renumbered[places[step]]))
        optimiser.step()
        if (step + 1) % every == 0 or step + 1 == steps:
            yield Moment(step + 1, float(result.loss), embedded(encoder, images, watched))


def embedded(encoder: Any, images: ImageSet, items: np.ndarray) -> EmbeddingSet:
    """Embed the images at `items` (int64 [n]) with an encoder, in evaluation mode."""
    loader = Loader(images, transforms.testing(encoder.input_size, encoder.mean, encoder.std))
    return result_of(embed(encoder, loader, items))


def side_by_side(
    flat: dict[str, np.ndarray], labels: np.ndarray, names: Sequence[str], highlighted: int = 6
) -> go.Figure:
    """Several maps of the same points side by side; the largest classes are drawn in colour, with their own marks.

    Args:
        flat: title to [n 2].
        labels: int64 [n].
        names: class name of each label.
    """

    from lab.core import style

    classes, counts = np.unique(labels, return_counts=True)
    largest = classes[np.argsort(-counts, kind="stable")[:highlighted]]
    figure = style.canvas(
        "Maps of the same embeddings", "grey: all other classes", panels=tuple(flat), height=430, x="no unit: a map",
    )  # fmt: skip
    for column, points in enumerate(flat.values(), start=1):
        parts = {"other classes": (~np.isin(labels, largest), {"color": "#CCCCCC", "size": 4})}
        parts |= {names[label]: (labels == label, style.marker(i)) for i, label in enumerate(largest)}
        for name, (mine, marker) in parts.items():
            figure.add_scatter(
                x=points[mine, 0], y=points[mine, 1], mode="markers", marker=marker, name=name, legendgroup=name,
                showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False)
    style.legend_below(figure)
    return figure.update_layout(meta={"alt": f"{len(labels)} points on {len(flat)} maps: {', '.join(flat)}."})


def pairs_sheet(images: ImageSet, worst: Any, size: int = 96) -> Image.Image:
    """The worst pairs of a loss as pictures: two images a column, with what the loss does to them.

    Args:
        worst: `lab.inspect.WorstPairs` whose items are positions in `images`.

    Returns:
        RGB picture.
    """
    from PIL import Image, ImageDraw

    gap, caption = 12, 44
    sheet = Image.new("RGB", (gap + len(worst.items) * (size + 2 * gap), 2 * size + 3 * gap + caption), "white")
    draw = ImageDraw.Draw(sheet)
    for column, (pair, same, cosine, gradient) in enumerate(
        zip(worst.items, worst.same, worst.similarities, worst.gradients, strict=True)
    ):
        left = gap + column * (size + 2 * gap)
        for row, item in enumerate(pair):
            sheet.paste(images.load(int(item)).resize((size, size)), (left, gap + row * (size + gap)))
        motion = "pushed apart" if gradient > 0 else "pulled together"
        words = f"{'same' if same else 'other'} class\ncosine {cosine:.2f}\n{motion}"
        draw.multiline_text((left, 2 * (size + gap) + 2), words, fill="#222222", spacing=2)
    return sheet
