"""What a training is examined for at a few of its steps: small numbers from which `findings` tells what is wrong.

Of a batch as its loss sees it, and of at most `SAMPLE` validation images; milliseconds each: see
`lab doctor bench verdict`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.core.results import labelled

SAMPLE = 256
"""Validation images that are looked at, in whole classes: their similarities are a matrix of 0.3 MB."""
ROWS = 64
"""Images of a batch whose pair gradients are taken, in whole classes: some 10 ms, growing as the square."""
SMALL = 1_000_000
"""Numbers of a loss (memory, class weights) that may be copied to try the loss without changing it."""
WEIGHTS = 1_000_000
"""Weights of the encoder that are copied to see how far a step moves them."""
NEAREST = 10
"""k of the k-occurrence: in how many lists of 10 neighbours an image stands (Radovanovic et al., JMLR 2010)."""
THUMBNAIL = 16
"""Side in pixels at which images are compared as they are."""
SAME_PICTURE = 0.9999
"""Cosine of two thumbnails of one picture; JPEG at quality 90 leaves it above that, another drawing does not."""


def due(step: int) -> bool:
    """Whether a batch is examined at this step: 1, 4, 16, 64, ...; the steps of validations are, too."""
    return step & (step - 1) == 0 and step.bit_length() % 2 == 1


def whole_classes(labels: np.ndarray, most: int) -> np.ndarray:
    """Rows int64 [s] of at most `most` images: classes spread evenly over those with two images, or over all. An image
    without a class is not among them."""
    classes, counts = np.unique(labels[labelled(labels)], return_counts=True)
    classes, counts = (classes[counts > 1], counts[counts > 1]) if (counts > 1).any() else (classes, counts)
    chosen = classes[np.unique(np.linspace(0, len(classes) - 1, max(2, int(most / counts.mean()))).astype(int))]
    return np.flatnonzero(np.isin(labels, chosen))[:most]


def average_precisions(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Average precision of each image as a query among the others by cosine, float64 [n]; NaN without a positive."""
    cosines, same = _cosines(vectors), labels[:, None] == labels[None, :]
    np.fill_diagonal(cosines, -np.inf)  # the query itself stands last, and is no positive
    np.fill_diagonal(same, False)
    right = np.take_along_axis(same, np.argsort(-cosines, axis=1, kind="stable"), axis=1)
    precision = right.cumsum(1) / np.arange(1, len(labels) + 1)
    total = right.sum(1)
    return np.where(total > 0, (precision * right).sum(1) / np.maximum(total, 1), np.nan)


def geometry(vectors: np.ndarray) -> dict[str, float]:
    """Of embeddings [n d]: their mean cosine, how many directions they use, and how unevenly they are neighbours.

    effective_rank: the exponential of the entropy of the singular values (Garrido et al., RankMe, 2023), 1 to min(n d).
    hubness: skewness of the k-occurrence; 0 is even, and a few images in everybody's list make it large.
    """
    cosines, n = _cosines(vectors), len(vectors)
    values = np.linalg.svd(_unit(vectors), compute_uv=False)
    share = values / max(values.sum(), 1e-12)
    found = {
        "mean_cosine": float((cosines.sum() - np.trace(cosines)) / max(1, n * (n - 1))),
        "effective_rank": float(np.exp(-(share * np.log(np.maximum(share, 1e-12))).sum())),
    }
    if n > 2 * NEAREST:
        np.fill_diagonal(cosines, -np.inf)
        near = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
        times = np.bincount(near.ravel(), minlength=n).astype(float)
        spread = times.std()
        found["hubness"] = float((((times - times.mean()) / spread) ** 3).mean()) if spread else 0.0
        found["hub"] = int(times.argmax())
    return found


def of_validation(vectors: np.ndarray, labels: np.ndarray, items: np.ndarray) -> dict[str, Any]:
    """Signs of validation embeddings [n d]: the geometry and each query's average precision, of `whole_classes`.

    What is not finite is left out; the lists have one entry a sampled image.
    """
    rows = whole_classes(labels, SAMPLE)
    rows = rows[np.isfinite(vectors[rows]).all(1)]
    sample, classes = vectors[rows].astype(np.float32), labels[rows]
    if len(rows) < 2:
        return {}
    found: dict[str, Any] = geometry(sample)
    if "hub" in found:
        found["hub"] = int(items[rows[int(found["hub"])]])
    precisions = average_precisions(sample, classes)
    numbers = np.unique(classes, return_inverse=True)[1]
    return {**found, "precisions": [round(float(one), 4) for one in precisions], "classes": numbers.tolist()}


def seen_and_unseen(seen: tuple[np.ndarray, np.ndarray], unseen: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """Mean average precision of training and of validation images (vectors and labels), each cut to as many classes of
    as many images as both have: lists of one length can be compared. Empty where no class has two images in both."""
    samples = [(v[rows], y[rows]) for v, y in (seen, unseen) for rows in [whole_classes(y, SAMPLE)]]
    sizes = [np.unique(labels, return_counts=True) for _, labels in samples]
    per_class = min(int(np.median(counts)) for _, counts in sizes)
    classes = min(int((counts >= per_class).sum()) for _, counts in sizes)
    if per_class < 2 or classes < 2:
        return {}
    found = {}
    for what, (vectors, labels), (names, counts) in zip(("seen", "unseen"), samples, sizes, strict=True):
        large = names[counts >= per_class]
        chosen = large[np.linspace(0, len(large) - 1, classes).astype(int)]
        rows = np.concatenate([np.flatnonzero(labels == name)[:per_class] for name in chosen])
        found[what] = float(np.nanmean(average_precisions(vectors[rows], labels[rows])))
    return found


def rounded(values: dict[str, Any]) -> dict[str, Any]:
    """Numbers to five digits: records stay small."""
    return {name: float(f"{one:.5g}") if isinstance(one, float) else one for name, one in values.items()}


def of_batch(vectors: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Signs of a batch float32 [n d] as its loss saw it: what the sampler gave it, lengths, geometry, precision."""
    counts = np.unique(labels, return_counts=True)[1]
    lengths, rows = np.linalg.norm(vectors, axis=1), whole_classes(labels, SAMPLE)
    precision = average_precisions(vectors[rows], labels[rows])
    known = precision[~np.isnan(precision)]
    return {
        "images": len(labels),
        "classes": len(counts),
        "with_positive": float(counts[counts > 1].sum() / max(1, len(labels))),
        "length": float(lengths.mean()),
        "length_spread": float(lengths.std() / max(lengths.mean(), 1e-12)),
        **({"precision": float(known.mean())} if len(known) else {}),
        **{name: value for name, value in geometry(vectors[rows]).items() if name != "hub"},
    }


def out_of_reach(loss: Callable, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """Share of the positives behind a negative that get no pull, of at most `ROWS` images, as Inspect's dead gradients
    say; empty for a loss that does not see pairs, or where no positive stands behind a negative."""
    from lab.inspect import dead_gradients, pair_gradients

    if _numbers(loss) > SMALL:
        return {}
    rows = torch.from_numpy(whole_classes(labels.cpu().numpy(), ROWS))
    try:
        found = dead_gradients(pair_gradients(copy.deepcopy(loss), embeddings.detach().cpu()[rows], labels.cpu()[rows]))
    except (ValueError, RuntimeError, NotImplementedError):
        return {}
    wrong = int((found.gaps > 0).sum())
    return {"out_of_reach": found.share, "behind": wrong / len(found.gaps)} if wrong else {}


def of_loss(loss: Any, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """What a loss without large weights says of other embeddings of the same batch, tried on a copy.

    perfect: every image exactly at its class. equal: all images at one point. scaled: these ones, twice as long.
    now: these ones. Empty where the loss has weights of its own, which such embeddings would not fit.
    """
    weights = sum(p.numel() for p in loss.parameters()) if isinstance(loss, torch.nn.Module) else 0
    if weights or _numbers(loss) > SMALL:
        return {}
    n, d = embeddings.shape
    rows, length = embeddings.detach(), float(embeddings.detach().norm(dim=1).mean())
    places = np.random.default_rng(0).normal(size=(int(labels.max()) + 1, d))
    points = torch.from_numpy(_unit(places).astype(np.float32)).to(rows)[labels] * length
    tried = {"now": rows, "perfect": points, "equal": points[:1].expand(n, d).contiguous(), "scaled": 2 * rows}
    found = {}
    for name, one in tried.items():
        try:
            with torch.no_grad():
                value = float(copy.deepcopy(loss)(one, labels))
        except (ValueError, RuntimeError, IndexError):
            continue
        if np.isfinite(value):
            found[name] = value
    return found


def moved_by(parameters: Sequence[Tensor], step: Callable[[], None]) -> float:
    """Take a step of the optimiser and return how far it moved the weights: median over tensors of |change| / |w|.

    Vectors (biases, scales of normalisation) begin at zero or one and say nothing of a rate. Of large networks some of
    the tensors are followed, spread evenly.
    """
    chosen = [one for one in parameters if one.ndim > 1 and one.grad is not None]
    many = max(1, sum(one.numel() for one in chosen) // WEIGHTS)
    before = [(one, one.detach().clone()) for one in chosen[::many]]
    step()
    ratios = [float((one.detach() - old).norm() / old.norm().clamp_min(1e-12)) for one, old in before]
    return float(np.median(ratios)) if ratios else float("nan")


class Thumbnails(torch.nn.Module):
    """Images [n 3 h w] to their pixels at 16 x 16, less each image's own mean, at unit length [n 768]."""

    def forward(self, images: Tensor) -> Tensor:
        pooled = torch.nn.functional.adaptive_avg_pool2d(images, THUMBNAIL) if images.ndim == 4 else images
        small = pooled.flatten(1)  # frozen features in the place of images stay as they are
        return torch.nn.functional.normalize(small - small.mean(1, keepdim=True), dim=1)


def copies(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """bool [n], which of these thumbnails [n d] is the picture of one of the others [m d]."""
    return (ones @ others.T >= SAME_PICTURE).any(1) if len(others) else np.zeros(len(ones), bool)


def _numbers(loss: Any) -> int:
    state = loss.state_dict().values() if isinstance(loss, torch.nn.Module) else ()
    return sum(one.numel() for one in state if isinstance(one, Tensor))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _cosines(vectors: np.ndarray) -> np.ndarray:
    unit = _unit(vectors)
    return unit @ unit.T
