"""Signs of a training at a few of its steps: small numbers from which `lab.verdict` finds what is wrong.

They are computed of a batch as its loss sees it, and of at most `SAMPLE` validation images; milliseconds each: see
`lab doctor bench verdict`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.core.results import labelled
from lab.losses import Loss
from lab.wrappers import CrossBatchMemory

SAMPLE = 256
"""Validation images of a check-up, in whole classes: their similarities are a matrix of 0.3 MB."""
ROWS = 64
"""Images of a batch whose pair gradients are computed, in whole classes: some 10 ms, growing quadratically."""
SMALL = 1_000_000
"""Numbers of a loss (memory, class weights) that may be copied to try the loss without changing it."""
WEIGHTS = 1_000_000
"""Weights of the encoder that are copied to measure how far a step moves them."""
NEAREST = 10
"""k of the k-occurrence: the number of lists of 10 neighbours that contain an image (Radovanovic et al., JMLR 2010)."""
FLAT = 0.6
WIDER = (10, 1_000, 100_000)
"""Share of positives without gradient from which on wider temperatures are tried, and the factors."""
SHARPER = (0.1, 0.001)
"""Factors of the temperature at which a loss is tried on the first batch."""
THUMBNAIL = 16
"""Side in pixels at which pixels of images are compared."""
SAME_PICTURE = 0.9999
"""Cosine of two thumbnails of one picture; JPEG at quality 90 leaves it above that, another drawing does not."""


def due(step: int) -> bool:
    """Return whether a batch is examined at this step: 1, 4, 16, 64, ...; steps of validations are examined, too."""
    return step & (step - 1) == 0 and step.bit_length() % 2 == 1


def whole_classes(labels: np.ndarray, most: int) -> np.ndarray:
    """Return rows int64 [s] of at most `most` images: classes spread evenly over those with two images, or over all.
    Images without a class are left out."""
    classes, counts = np.unique(labels[labelled(labels)], return_counts=True)
    has_two = counts > 1
    if has_two.any():
        classes = classes[has_two]
        counts = counts[has_two]
    count = max(2, int(most / counts.mean()))
    chosen = classes[np.unique(np.linspace(0, len(classes) - 1, count).astype(int))]
    return np.flatnonzero(np.isin(labels, chosen))[:most]


def average_precisions(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of each image as a query among the others by cosine, float64 [n]; NaN without a
    positive."""
    cosines = _cosines(vectors)
    same = labels[:, None] == labels[None, :]
    np.fill_diagonal(cosines, -np.inf)  # the query itself comes last, and is no positive
    np.fill_diagonal(same, False)
    right = np.take_along_axis(same, np.argsort(-cosines, axis=1, kind="stable"), axis=1)
    precision = right.cumsum(1) / np.arange(1, len(labels) + 1)
    total = right.sum(1)
    return np.where(total > 0, (precision * right).sum(1) / np.maximum(total, 1), np.nan)


def geometry(vectors: np.ndarray) -> dict[str, float]:
    """Return the mean cosine of embeddings [n d], how many directions they use, and how unevenly they are neighbours.

    effective_rank: the exponential of the entropy of the singular values (Garrido et al., RankMe, 2023), 1 to min(n d).
    hubness: skewness of the k-occurrence; 0 is even, and a few images in every list make it large.
    """
    cosines = _cosines(vectors)
    n = len(vectors)
    values = np.linalg.svd(_unit(vectors), compute_uv=False)
    share = values / max(values.sum(), 1e-12)
    signs = {
        "mean_cosine": float((cosines.sum() - np.trace(cosines)) / max(1, n * (n - 1))),
        "effective_rank": float(np.exp(-(share * np.log(np.maximum(share, 1e-12))).sum())),
    }
    if n > 2 * NEAREST:
        np.fill_diagonal(cosines, -np.inf)
        near = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
        times = np.bincount(near.ravel(), minlength=n).astype(float)
        spread = times.std()
        signs["hubness"] = 0.0
        if spread:
            signs["hubness"] = float((((times - times.mean()) / spread) ** 3).mean())
        signs["hub"] = int(times.argmax())
    return signs


def of_validation(vectors: np.ndarray, labels: np.ndarray, items: np.ndarray) -> dict[str, Any]:
    """Return signs of validation embeddings [n d]: geometry and average precision of each query, of `whole_classes`.

    Embeddings that are not finite are left out; the lists have one entry per sampled image.
    """
    rows = whole_classes(labels, SAMPLE)
    rows = rows[np.isfinite(vectors[rows]).all(1)]
    if len(rows) < 2:
        return {}
    sample = vectors[rows].astype(np.float32)
    classes = labels[rows]
    signs: dict[str, Any] = geometry(sample)
    if "hub" in signs:
        signs["hub"] = int(items[rows[int(signs["hub"])]])
    signs["precisions"] = [round(float(value), 4) for value in average_precisions(sample, classes)]
    signs["classes"] = np.unique(classes, return_inverse=True)[1].tolist()
    return signs


def seen_and_unseen(
    seen: tuple[np.ndarray, np.ndarray], unseen: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    """Return the mean average precision of training and of validation images (vectors and labels).

    Both are cut to as many classes of as many images as both have, since only lists of one length can be compared.
    Empty if no class has two images in both.
    """
    samples = []
    for vectors, labels in (seen, unseen):
        rows = whole_classes(labels, SAMPLE)
        samples.append((vectors[rows], labels[rows]))
    sizes = [np.unique(labels, return_counts=True) for _, labels in samples]
    per_class = min(int(np.median(counts)) for _, counts in sizes)
    classes = min(int((counts >= per_class).sum()) for _, counts in sizes)
    if per_class < 2 or classes < 2:
        return {}
    precisions = {}
    for name, (vectors, labels), (class_labels, counts) in zip(
        ("seen", "unseen"), samples, sizes, strict=True
    ):
        large = class_labels[counts >= per_class]
        chosen = large[np.linspace(0, len(large) - 1, classes).astype(int)]
        rows = np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in chosen])
        precisions[name] = float(np.nanmean(average_precisions(vectors[rows], labels[rows])))
    return precisions


def rounded(values: dict[str, Any]) -> dict[str, Any]:
    """Round numbers to five digits, so that records stay small."""
    return {
        name: float(f"{value:.5g}") if isinstance(value, float) else value
        for name, value in values.items()
    }


def of_batch(vectors: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return signs of a batch float32 [n d] as its loss saw it: its classes, lengths, geometry, precision."""
    counts = np.unique(labels, return_counts=True)[1]
    lengths = np.linalg.norm(vectors, axis=1)
    signs: dict[str, float] = {
        "images": len(labels),
        "classes": len(counts),
        "with_positive": float(counts[counts > 1].sum() / max(1, len(labels))),
        "length": float(lengths.mean()),
        "length_spread": float(lengths.std() / max(lengths.mean(), 1e-12)),
    }
    rows = whole_classes(labels, SAMPLE)
    precision = average_precisions(vectors[rows], labels[rows])
    precision = precision[~np.isnan(precision)]
    if len(precision):
        signs["precision"] = float(precision.mean())
    # classes may have one image each
    spread_out = np.unique(np.linspace(0, len(labels) - 1, SAMPLE).astype(int))
    signs |= geometry(vectors[spread_out])
    signs.pop("hub", None)
    return signs


def out_of_reach(loss: Callable, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """Return how many positives rank behind a negative and get no gradient, of at most `ROWS` images.

    out_of_reach: share of those positives without gradient, as in Inspect's dead gradients. behind: share of all
    positives that rank behind a negative. If `FLAT` get no gradient, wider temperatures are tried on the same images;
    woken: the smallest share without gradient among them. Empty for a loss that does not see pairs, or if no positive
    ranks behind a negative.
    """
    if _numbers(loss) > SMALL:
        return {}
    chosen = torch.from_numpy(whole_classes(labels.cpu().numpy(), ROWS))
    rows = embeddings.detach().cpu()[chosen]
    classes = labels.cpu()[chosen]
    signs = _dead(copy.deepcopy(loss), rows, classes)
    if not signs or signs["out_of_reach"] < FLAT:
        return signs
    for times in WIDER:
        for wider in with_other_temperatures(loss, times):
            woken = _dead(wider, rows, classes).get("out_of_reach", 1.0)
            signs["woken"] = min(woken, signs.get("woken", 1.0))
    return signs


def _dead(loss: Callable, rows: Tensor, labels: Tensor) -> dict[str, float]:
    from lab.inspect import dead_gradients, pair_gradients

    try:
        dead = dead_gradients(pair_gradients(loss, rows, labels))
    except (ValueError, RuntimeError, NotImplementedError):
        return {}
    behind = int((dead.gaps > 0).sum())
    return {"out_of_reach": dead.share, "behind": behind / len(dead.gaps)} if behind else {}


def with_other_temperatures(loss: Any, times: float) -> Iterator[torch.nn.Module]:
    """Yield a copy of the loss for each of its temperatures, which is multiplied by `times` in the wider direction.

    The losses of the catalogue declare their temperatures. Temperatures of other modules are numbers called `tau` or
    `temperature`. The loss itself is not changed.
    """
    for path, module in loss.named_modules() if isinstance(loss, torch.nn.Module) else ():
        if isinstance(module, Loss):
            for knob, factor in module.temperatures.items():
                factor_of_knob = times if factor < 1 else 1 / times
                value = getattr(module, knob) * factor_of_knob
                try:
                    other = type(module)(**{**dict(module.knobs), knob: value})
                except ValueError:  # out of the knob's range
                    continue
                other.load_state_dict(module.state_dict())
                yield _replaced(loss, path, other.to(_device(loss)).train(module.training))
            continue
        for knob in ("tau", "temperature"):
            value = getattr(module, knob, None)
            if isinstance(value, float) and not _within_catalogued(loss, path):
                changed = copy.deepcopy(loss)
                setattr(changed.get_submodule(path), knob, value * times)
                yield changed


def _replaced(loss: torch.nn.Module, path: str, other: torch.nn.Module) -> torch.nn.Module:
    """Return a copy of a loss with another module at this path."""
    if not path:
        return other
    changed = copy.deepcopy(loss)
    parent, _, name = path.rpartition(".")
    setattr(changed.get_submodule(parent), name, other)
    return changed


def _within_catalogued(loss: torch.nn.Module, path: str) -> bool:
    """Return whether a module is part of a loss of the catalogue, which declares its temperatures."""
    while path:
        path = path.rpartition(".")[0]
        parent = loss.get_submodule(path)
        if isinstance(parent, Loss) and parent.temperatures:
            return True
    return False


def _device(loss: torch.nn.Module) -> torch.device:
    for value in loss.state_dict().values():
        if isinstance(value, Tensor):
            return value.device
    return torch.device("cpu")


def of_loss(loss: Any, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """Return values of a loss without large weights for other embeddings of the same batch, computed on copies.

    now: of these embeddings; again: of the same, called once more. followed: each image as far as it can go in the
    direction of its gradient. perfect: every image exactly at its class. equal: all images at one point. scaled: these
    embeddings, twice as long. The last three are left out for a loss with weights of its own, which would not fit.

    range: share of its value by which the loss can fall, from now to perfect, or to followed if it has weights.
    sharper: the same at a smaller temperature, where it is largest. Both are left out if embeddings may have any
    length: the encoder then scales its similarities.
    """
    loss = _without_memory(loss)
    if _numbers(loss) > SMALL:
        return {}
    n, d = embeddings.shape
    rows = embeddings.detach()
    tried: dict[str, Tensor | None] = {
        "now": rows,
        "again": rows,
        "followed": _followed(loss, rows, labels),
    }
    points = None
    if not (isinstance(loss, torch.nn.Module) and any(True for _ in loss.parameters())):
        places = np.random.default_rng(0).normal(size=(int(labels.max()) + 1, d))
        points = (
            torch.from_numpy(_unit(places).astype(np.float32)).to(rows)[labels]
            * rows.norm(dim=1).mean()
        )
        tried |= {
            "perfect": points,
            "equal": points[:1].expand(n, d).contiguous(),
            "scaled": 2 * rows,
        }
    values: dict[str, float] = {}
    for name, embeddings_tried in tried.items():
        value = _value(loss, embeddings_tried, labels)
        if value is not None:
            values[name] = value
    if getattr(loss, "lengths_matter", False):
        return values
    share = _range(loss, rows, points, labels)
    if share is not None:
        values["range"] = share
    for times in SHARPER:
        for sharper in with_other_temperatures(loss, times):
            share = _range(sharper, rows, points, labels)
            if share is not None:
                values["sharper"] = max(share, values.get("sharper", share))
    return values


def _without_memory(loss: Any) -> Any:
    """Return the loss without its memory of other batches, which would not fit other embeddings of this batch."""
    for path, module in loss.named_modules() if isinstance(loss, torch.nn.Module) else ():
        if isinstance(module, CrossBatchMemory):
            return _replaced(loss, path, module.loss)
    return loss


def _range(loss: Any, rows: Tensor, best: Tensor | None, labels: Tensor) -> float | None:
    """Return the share of its value by which a loss falls from these rows to the best ones; without best ones, to rows
    that follow its gradient."""
    if best is None:
        best = _followed(loss, rows, labels)
    now = _value(loss, rows, labels)
    perfect = _value(loss, best, labels)
    if now is None or perfect is None:
        return None
    return (now - perfect) / max(abs(now), 1e-12)


def _followed(loss: Any, rows: Tensor, labels: Tensor) -> Tensor | None:
    """Return rows of the same lengths in the direction in which the loss falls; None if it has no gradient."""
    try:
        moved = rows.clone().requires_grad_()
        (slope,) = torch.autograd.grad(copy.deepcopy(loss)(moved, labels), moved)
    except (ValueError, RuntimeError, IndexError):
        return None
    return -torch.nn.functional.normalize(slope, dim=1, eps=1e-30) * rows.norm(dim=1, keepdim=True)


def _value(loss: Any, rows: Tensor | None, labels: Tensor) -> float | None:
    """Return the value of a copy of the loss; None if it refuses, is not finite, or there are no rows."""
    if rows is None:
        return None
    try:
        with torch.no_grad():
            value = float(copy.deepcopy(loss)(rows, labels))
    except (ValueError, RuntimeError, IndexError):
        return None
    return value if np.isfinite(value) else None


def moved_by(parameters: Sequence[Tensor], step: Callable[[], None]) -> float:
    """Take a step of the optimiser and return how far it moved the weights: median over tensors of |change| / |w|.

    Vectors (biases, scales of normalisation) begin at zero or one and tell nothing about a rate. Of large networks
    some of the tensors are followed, spread evenly.
    """
    matrices = [weight for weight in parameters if weight.ndim > 1 and weight.grad is not None]
    stride = max(1, sum(weight.numel() for weight in matrices) // WEIGHTS)
    before = [(weight, weight.detach().clone()) for weight in matrices[::stride]]
    step()
    ratios = []
    for weight, old in before:
        ratios.append(float((weight.detach() - old).norm() / old.norm().clamp_min(1e-12)))
    return float(np.median(ratios)) if ratios else float("nan")


class Thumbnails(torch.nn.Module):
    """Turns images of 16 x 16 pixels [n 3 16 16] into rows of unit length [n 768], less each image's own mean."""

    def forward(self, images: Tensor) -> Tensor:
        small = images.flatten(1)  # frozen features in the place of images are rows already
        return torch.nn.functional.normalize(small - small.mean(1, keepdim=True), dim=1)


def copies(thumbnails: np.ndarray, others: np.ndarray) -> np.ndarray:
    """bool [n]: which of these thumbnails [n d] is the picture of one of the others [m d]."""
    if not len(others):
        return np.zeros(len(thumbnails), bool)
    return (thumbnails @ others.T >= SAME_PICTURE).any(1)


def _numbers(loss: Any) -> int:
    if not isinstance(loss, torch.nn.Module):
        return 0
    return sum(value.numel() for value in loss.state_dict().values() if isinstance(value, Tensor))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(
        np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny
    )


def _cosines(vectors: np.ndarray) -> np.ndarray:
    unit = _unit(vectors)
    return unit @ unit.T
