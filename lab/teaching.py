"""Small real experiments for the tutorials: rankings and batches of Emoji-7, and a training that can be watched.

Each helper hides only details that its notebook is not about, and all use the same parts as `lab train`.
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
    """Search every image among the others by exact search; return the evidence that metrics and contact sheets read."""
    k = min(k, len(embeddings) - 1)
    index = lab.search.create("exact", device="cpu", k=k, ties="shuffled").build(embeddings)
    return Evidence(index.rank(embeddings, same_source=True), embeddings, embeddings)


def mistakes(evidence: Evidence, count: int = 2) -> np.ndarray:
    """Return queries whose first neighbour is of another class, although a positive comes later in the ranking.

    Args:
        evidence: result of a search; a ranking of 10 to 20 neighbours has such queries.
        count: number of queries.

    Returns:
        int64 [at most count], rows of the ranking, those with the latest first positive first.
    """
    hits = evidence.ranking.hits
    # 0: the first neighbour is right, or none is
    first_hit = np.where(hits.any(1), hits.argmax(1), 0)
    worst_first = np.argsort(-first_hit, kind="stable")
    return worst_first[: min(count, int((first_hit > 0).sum()))]


def pixels(images: ImageSet, items: np.ndarray, size: int = 16) -> EmbeddingSet:
    """Return the pixels of images as embeddings: `size` x `size` pixels minus the image's mean, at unit length.

    Args:
        images: a set that holds its pixels in memory, such as Emoji-7.
        items: int64 [n], positions of the images in the set.
        size: side in pixels; it must divide the side of the stored images.

    Raises:
        ValueError: the set has no pixels in memory, or `size` does not divide their side.
    """
    stored = images.pixels
    if stored is None:
        raise ValueError(
            f"{images.name} does not keep its pixels in memory; use Emoji-7, or embed it with an encoder."
        )
    side = stored.shape[1]
    if side % size:
        raise ValueError(f"size must divide {side}, got {size}.")
    blocks = stored[items].reshape(len(items), size, side // size, size, side // size, 3)
    small = blocks.mean((2, 4))
    vectors = small.reshape(len(items), -1).astype(np.float32)
    vectors -= vectors.mean(1, keepdims=True)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddingSet(vectors, images.labels[items], items)


def batch(
    images: ImageSet, classes: int = 8, per_class: int = 4, seed: int = 0, dim: int = 16
) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    """Return a batch of real images, embedded by their pixels: like a batch of a ranking loss early in training.

    Returns:
        embeddings: float64 [n dim], unit rows, n = classes x per_class: pixels, projected on their first `dim` (at most
            n) principal directions and normalised again.
        labels: int64 [n].
        items: int64 [n], positions in the set.
    """
    train = images.splits["train"].query
    sampler = lab.samplers.create(
        "m_per_class", batch_size=classes * per_class, per_class=per_class
    )
    items = train[sampler.bind(images.labels[train], seed=seed).batch(0)]
    vectors = torch.from_numpy(pixels(images, items).vectors).double()
    _, _, directions = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    embeddings = torch.nn.functional.normalize(vectors @ directions[:dim].T, dim=1)
    return embeddings, torch.from_numpy(images.labels[items]), items


@dataclass(frozen=True)
class Moment:
    """The state of a training: number of steps, loss of the last step, and current embeddings of the watched images."""

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
    """Train the small CNN with any loss, and embed some images on the way; about 0.15 s per step on one core.

    Args:
        loss: any callable of embeddings [n dim] and labels [n]; its own weights are trained, too. The labels are the
            training classes, renumbered 0..c-1.
        watched: int64 [w], images to embed every `every` steps, and after the last step.
        chosen: classes to train on; all training classes by default.

    Yields:
        A `Moment` before the first step, every `every` steps, and after the last step.
    """
    with torch.random.fork_rng(devices=[]):  # the caller's random state does not change
        torch.manual_seed(seed)
        # A loss with anchors of any length, such as that of 003, needs embeddings of any length.
        normalise = not getattr(loss, "lengths_matter", False)
        encoder: Any = lab.encoders.create("small_cnn", dim=dim, normalise=normalise)

    train = images.splits["train"].query
    if chosen is not None:
        train = train[np.isin(images.labels[train], chosen)]
    _, labels = np.unique(images.labels[train], return_inverse=True)
    sampler = lab.samplers.create("m_per_class", batch_size=batch_size, per_class=per_class).bind(
        labels, seed=seed
    )
    batches = [sampler.batch(step) for step in range(steps)]
    loader = Loader(
        images, transforms.training(encoder.input_size, encoder.mean, encoder.std), seed=seed
    )

    loss_weights: list[Any] = []
    if isinstance(loss, torch.nn.Module):
        loss_weights = list(loss.parameters())
    optimiser = torch.optim.Adam(
        [{"params": encoder.parameters()}, {"params": loss_weights, "lr": 10 * lr}], lr=lr
    )

    yield Moment(0, float("nan"), embedded(encoder, images, watched))
    for step, loaded in enumerate(loader.batches(train[rows] for rows in batches)):
        encoder.train()
        optimiser.zero_grad()
        with seeded(seed, LOSS, step):
            result = gradients(
                encoder, loss, loaded.images, torch.from_numpy(labels[batches[step]])
            )
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
    """Draw several maps of the same points side by side, with the largest classes in colour and with their own marks.

    Args:
        flat: places [n 2] of each map, by its title.
        labels: int64 [n].
        names: class name of each label.
        highlighted: number of classes in colour.
    """

    from lab.core import style

    classes, counts = np.unique(labels, return_counts=True)
    largest = classes[np.argsort(-counts, kind="stable")[:highlighted]]
    figure = style.canvas(
        "Maps of the same embeddings",
        "grey: all other classes",
        panels=tuple(flat),
        height=430,
        x="no unit: a map",
    )
    groups = {"other classes": (~np.isin(labels, largest), {"color": "#CCCCCC", "size": 4})}
    for index, label in enumerate(largest):
        groups[names[label]] = (labels == label, style.marker(index))
    for column, points in enumerate(flat.values(), start=1):
        for name, (mask, marker) in groups.items():
            figure.add_scatter(
                x=points[mask, 0],
                y=points[mask, 1],
                mode="markers",
                marker=marker,
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                row=1,
                col=column,
            )
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False)
    style.legend_below(figure)
    return figure.update_layout(
        meta={"alt": f"{len(labels)} points on {len(flat)} maps: {', '.join(flat)}."}
    )


def pairs_sheet(images: ImageSet, worst: Any, size: int = 96) -> Image.Image:
    """Draw the worst pairs of a loss: the two images of a pair in a column, with the effect of the loss on them.

    Args:
        worst: `lab.inspect.WorstPairs` whose items are positions in `images`.
        size: side of an image in pixels.

    Returns:
        RGB picture.
    """
    from PIL import Image, ImageDraw

    gap = 12
    caption_height = 44
    width = gap + len(worst.items) * (size + 2 * gap)
    sheet = Image.new("RGB", (width, 2 * size + 3 * gap + caption_height), "white")
    draw = ImageDraw.Draw(sheet)
    for column, pair in enumerate(worst.items):
        left = gap + column * (size + 2 * gap)
        for row, item in enumerate(pair):
            picture = images.load(int(item)).resize((size, size))
            sheet.paste(picture, (left, gap + row * (size + gap)))

        label = "same class" if worst.same[column] else "other class"
        motion = "pushed apart" if worst.gradients[column] > 0 else "pulled together"
        caption = f"{label}\ncosine {worst.similarities[column]:.2f}\n{motion}"
        draw.multiline_text((left, 2 * (size + gap) + 2), caption, fill="#222222", spacing=2)
    return sheet
