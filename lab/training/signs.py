"""What a training is examined for at a few of its steps: small numbers from which `findings` tells what is wrong.

Of a batch as its loss sees it, and of at most `SAMPLE` validation images; milliseconds each: see
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
"""Validation images that are looked at, in whole classes: their similarities are a matrix of 0.3 MB."""
ROWS = 64
"""Images of a batch whose pair gradients are taken, in whole classes: some 10 ms, growing as the square."""
SMALL = 1_000_000
"""Numbers of a loss (memory, class weights) that may be copied to try the loss without changing it."""
WEIGHTS = 1_000_000
"""Weights of the encoder that are copied to see how far a step moves them."""
NEAREST = 10
"""k of the k-occurrence: in how many lists of 10 neighbours an image stands (Radovanovic et al., JMLR 2010)."""
FLAT, WIDER = 0.6, (10, 1_000, 100_000)
"""Share of the positives without a pull from which on wider temperatures are tried, and how much wider."""
SHARPER = (0.1, 0.001)
"""Parts of the temperature at which a loss is tried on the first batch."""
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
    spread_out = np.unique(np.linspace(0, len(labels) - 1, SAMPLE).astype(int))  # the classes may be of one image
    known = precision[~np.isnan(precision)]
    return {
        "images": len(labels),
        "classes": len(counts),
        "with_positive": float(counts[counts > 1].sum() / max(1, len(labels))),
        "length": float(lengths.mean()),
        "length_spread": float(lengths.std() / max(lengths.mean(), 1e-12)),
        **({"precision": float(known.mean())} if len(known) else {}),
        **{name: value for name, value in geometry(vectors[spread_out]).items() if name != "hub"},
    }


def out_of_reach(loss: Callable, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """Return how many positives stand behind a negative and get no pull, of at most `ROWS` images.

    out_of_reach: share of those positives without a pull, as Inspect's dead gradients tell it. behind: share of all
    positives that stand behind a negative. Where `FLAT` get no pull, wider temperatures are tried on the same images;
    woken: the smallest share without a pull among them. Empty for a loss that does not see pairs, or where no positive
    stands behind a negative.
    """
    if _numbers(loss) > SMALL:
        return {}
    chosen = torch.from_numpy(whole_classes(labels.cpu().numpy(), ROWS))
    rows, classes = embeddings.detach().cpu()[chosen], labels.cpu()[chosen]
    found = _dead(copy.deepcopy(loss), rows, classes)
    if not found or found["out_of_reach"] < FLAT:
        return found
    for times in WIDER:
        for wider in with_other_temperatures(loss, times):
            woken = _dead(wider, rows, classes).get("out_of_reach", 1.0)
            found["woken"] = min(woken, found.get("woken", 1.0))
    return found


def _dead(loss: Callable, rows: Tensor, labels: Tensor) -> dict[str, float]:
    from lab.inspect import dead_gradients, pair_gradients

    try:
        found = dead_gradients(pair_gradients(loss, rows, labels))
    except (ValueError, RuntimeError, NotImplementedError):
        return {}
    wrong = int((found.gaps > 0).sum())
    return {"out_of_reach": found.share, "behind": wrong / len(found.gaps)} if wrong else {}


def with_other_temperatures(loss: Any, times: float) -> Iterator[torch.nn.Module]:
    """Yield a copy of the loss for each of its temperatures, made this many times as wide.

    The losses of the catalogue declare their temperatures. Of other modules those count that are numbers called `tau`
    or `temperature`. The loss itself stays as it is.
    """
    for path, module in loss.named_modules() if isinstance(loss, torch.nn.Module) else ():
        if isinstance(module, Loss):
            for knob, factor in module.temperatures.items():
                value = getattr(module, knob) * (times if factor < 1 else 1 / times)
                try:
                    other = type(module)(**{**dict(module.knobs), knob: value})
                except ValueError:  # out of the knob's range
                    continue
                other.load_state_dict(module.state_dict())
                yield _replaced(loss, path, other.to(_device(loss)).train(module.training))
            continue
        for knob in ("tau", "temperature"):
            if isinstance(value := getattr(module, knob, None), float) and not _within_ours(loss, path):
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


def _within_ours(loss: torch.nn.Module, path: str) -> bool:
    """Whether a module is a part of a loss of the catalogue, which declares what its temperatures are."""
    parents = [path.rsplit(".", cut)[0] for cut in range(1, path.count(".") + 1)] + ([""] if path else [])
    return any(isinstance(module := loss.get_submodule(one), Loss) and module.temperatures for one in parents)


def _device(loss: torch.nn.Module) -> torch.device:
    return next((one.device for one in loss.state_dict().values() if isinstance(one, Tensor)), torch.device("cpu"))


def of_loss(loss: Any, embeddings: Tensor, labels: Tensor) -> dict[str, float]:
    """Return what a loss without large weights says of other embeddings of the same batch, tried on copies.

    now: of these embeddings; again: of the same, called once more. followed: each image as far as it can go in the
    direction of its gradient. perfect: every image exactly at its class. equal: all images at one point. scaled: these
    ones, twice as long. The last three are left out for a loss with weights of its own, which they would not fit.

    range: by which share of its value the loss can fall, from now to perfect, or to followed where it has weights.
    sharper: the same at a smaller temperature, where it is largest. Both are left out where embeddings may have any
    length: the encoder then scales its similarities by itself.
    """
    loss = _without_memory(loss)
    if _numbers(loss) > SMALL:
        return {}
    n, d = embeddings.shape
    rows = embeddings.detach()
    tried: dict[str, Tensor | None] = {"now": rows, "again": rows, "followed": _followed(loss, rows, labels)}
    points = None
    if not (isinstance(loss, torch.nn.Module) and any(True for _ in loss.parameters())):
        places = np.random.default_rng(0).normal(size=(int(labels.max()) + 1, d))
        points = torch.from_numpy(_unit(places).astype(np.float32)).to(rows)[labels] * rows.norm(dim=1).mean()
        tried |= {"perfect": points, "equal": points[:1].expand(n, d).contiguous(), "scaled": 2 * rows}
    found: dict[str, float] = {}
    for name, one in tried.items():
        if (value := _value(loss, one, labels)) is not None:
            found[name] = value
    if getattr(loss, "lengths_matter", False):
        return found
    if (share := _range(loss, rows, points, labels)) is not None:
        found["range"] = share
    for times in SHARPER:
        for sharper in with_other_temperatures(loss, times):
            if (share := _range(sharper, rows, points, labels)) is not None:
                found["sharper"] = max(share, found.get("sharper", share))
    return found


def _without_memory(loss: Any) -> Any:
    """Return the loss without the embeddings of other batches, which would not fit other ones of this batch."""
    for path, module in loss.named_modules() if isinstance(loss, torch.nn.Module) else ():
        if isinstance(module, CrossBatchMemory):
            return _replaced(loss, path, module.loss)
    return loss


def _range(loss: Any, rows: Tensor, best: Tensor | None, labels: Tensor) -> float | None:
    """Return by which share of its value a loss falls from these rows to the best ones, or to those that follow its
    gradient where no best ones are given."""
    now = _value(loss, rows, labels)
    perfect = _value(loss, _followed(loss, rows, labels) if best is None else best, labels)
    return None if now is None or perfect is None else (now - perfect) / max(abs(now), 1e-12)


def _followed(loss: Any, rows: Tensor, labels: Tensor) -> Tensor | None:
    """Return rows of the same lengths in the direction in which the loss falls; None where it has no gradient."""
    try:
        moved = rows.clone().requires_grad_()
        (slope,) = torch.autograd.grad(copy.deepcopy(loss)(moved, labels), moved)
    except (ValueError, RuntimeError, IndexError):
        return None
    return -torch.nn.functional.normalize(slope, dim=1, eps=1e-30) * rows.norm(dim=1, keepdim=True)


def _value(loss: Any, rows: Tensor | None, labels: Tensor) -> float | None:
    """Return the value of a copy of the loss; None where it refuses, is not finite, or there are no rows."""
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
    """Images of 16 x 16 pixels [n 3 16 16] to rows of unit length [n 768], less each image's own mean."""

    def forward(self, images: Tensor) -> Tensor:
        small = images.flatten(1)  # frozen features in the place of images are rows already
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
