"""Call a loss under inspection: with the same random numbers each time, on a copy, with one sentence per mistake."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.core.results import as_array, label_column, labelled, parts_of
from lab.kernels import paths

NEEDS = "The inspector needs a callable loss(embeddings [n d], labels [n]) that returns one number with a gradient"
_RANDOM_STATE = threading.RLock()
"""Held while the random state of the process is replaced; see `repeatable`."""


def batch(embeddings: Any, labels: Any = None) -> tuple[Tensor, Tensor]:
    """Check a batch and convert it to float64 [n d] and int64 [n], on its CUDA device or on the CPU.

    Every whole number is a class, also a negative number.

    Raises:
        ValueError: a shape, length or type is wrong, or a row is not finite; the message names the first bad row.
    """
    embeddings, labels = parts_of(embeddings, labels)
    if labels is None:
        raise ValueError(
            "The inspector needs the class of each embedding: give labels, or a set with labels of its own."
        )
    labels = _class_numbers(labels)
    vectors = _tensor(embeddings, "embeddings")
    classes = _tensor(labels, "labels")
    if vectors.ndim != 2 or not vectors.is_floating_point():
        raise ValueError(
            f"embeddings must be floats of shape [n d], got {vectors.dtype} {list(vectors.shape)}."
        )
    if classes.shape != vectors.shape[:1] or classes.is_floating_point():
        raise ValueError(
            f"labels must be one integer per embedding, [{len(vectors)}], got {classes.dtype} {list(classes.shape)}."
        )
    if len(vectors) < 2:
        raise ValueError(
            f"embeddings must have at least two rows to form a pair, got {len(vectors)}."
        )
    bad = ~vectors.isfinite().all(dim=1)
    if bad.any():
        raise ValueError(
            f"embeddings must be finite; row {int(bad.nonzero()[0])} holds NaN or infinity."
        )
    zero = (vectors == 0).all(dim=1)
    if zero.any():
        raise ValueError(
            f"embeddings must not be zero vectors; row {int(zero.nonzero()[0])} is one."
        )
    if vectors.device.type != "cuda":
        vectors = vectors.cpu()  # other accelerators have no float64
    return vectors.double(), classes.long().to(vectors.device)


def cosines(vectors: Tensor) -> np.ndarray:
    """Return the cosines of all pairs of rows [n d], float64 [n n]."""
    units = vectors / vectors.norm(dim=1, keepdim=True)
    return (units @ units.T).cpu().numpy()


def _class_numbers(labels: Any) -> Any:
    """Return labels as whole numbers [n].

    Raises:
        ValueError: an embedding has no class.
    """
    if isinstance(labels, Tensor):
        return labels
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "OfUS":
        column = labels
    else:
        column = label_column(labels)
    has_label = labelled(column)
    if not has_label.all():
        row = int(np.flatnonzero(~has_label)[0])
        raise ValueError(
            f"Row {row} has no class, and a loss compares classes; leave such rows out: with a set, "
            "images.take(images.labelled)."
        )
    if column.dtype.kind == "U":
        return np.unique(column, return_inverse=True)[1]
    return column


def _tensor(values: Any, argument: str) -> Tensor:
    """Return numbers as a tensor without a gradient; `argument` is its name in messages."""
    if isinstance(values, Tensor):
        return values.detach()
    array = as_array(values, argument)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{argument} must be numbers, got {array.dtype} {list(array.shape)}.")
    return torch.as_tensor(np.ascontiguousarray(array))  # torch has no negative strides


@contextlib.contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Fix the random seed inside the block, and make our losses use plain tensor operations without compilation.

    Afterwards the random state is restored. It belongs to the whole process, so only one thread at a time may enter.
    """
    cuda_devices = [device] if device.type == "cuda" else []
    with _RANDOM_STATE, paths.force("plain"), torch.random.fork_rng(devices=cuda_devices):
        torch.manual_seed(0)
        yield


class Subject:
    """A loss under inspection.

    Each call works on a fresh float64 copy, so that memories and running statistics of the original never change, and
    under the same random seed, so that random miners make the same choice each time.
    """

    def __init__(self, loss: Callable):
        if not callable(loss):
            raise ValueError(f"{NEEDS}; got {type(loss).__name__}.")
        self.loss = loss

    @property
    def name(self) -> str:
        """The name of its class or function."""
        if isinstance(self.loss, nn.Module):
            return type(self.loss).__name__
        return getattr(self.loss, "__name__", type(self.loss).__name__).replace(
            "<lambda>", "lambda"
        )

    def weights(self, width: int) -> list[str]:
        """Return the learnt weights that have an axis of the embeddings' width, each as `name [shape]`."""
        if not isinstance(self.loss, nn.Module):
            return []
        return [
            f"{name} {list(p.shape)}"
            for name, p in self.loss.named_parameters()
            if width in p.shape
        ]

    def fresh(self, device: torch.device) -> Callable:
        """Return a float64 copy of a module on this device, or the function itself."""
        if isinstance(self.loss, nn.Module):
            return copy.deepcopy(self.loss).to(device).double()
        return self.loss

    def per_query(self, embeddings: Tensor, labels: Tensor) -> Tensor | None:
        """Return the loss of each query from its method `per_query`, float64 [n]; None if it has no such method."""
        method = getattr(self.fresh(embeddings.device), "per_query", None)
        if not callable(method):
            return None
        with repeatable(embeddings.device), torch.no_grad():
            return method(embeddings, labels).double()

    def value(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Return the loss as a checked scalar.

        Raises:
            ValueError: the call fails, or returns something other than one finite number.
        """
        try:
            with repeatable(embeddings.device):
                result = self.fresh(embeddings.device)(embeddings, labels)
        except Exception as error:
            raise ValueError(
                f"{NEEDS}; {self.name} raised {type(error).__name__}: {error}"
            ) from error
        if not isinstance(result, Tensor):
            raise ValueError(
                f"{NEEDS}; {self.name} returned {type(result).__name__}, so no gradient can flow back."
            )
        if result.numel() != 1:
            raise ValueError(
                f"{NEEDS}; {self.name} returned a tensor of shape {list(result.shape)}. Reduce it, for instance "
                "with .mean()."
            )
        if not result.isfinite().all():
            raise ValueError(
                f"{NEEDS}; {self.name} returned {result.item()} for finite embeddings."
            )
        return result.reshape(())

    def gradient(self, embeddings: Tensor, labels: Tensor) -> tuple[float, Tensor]:
        """Return the value, and the gradient [n d] with respect to the embeddings.

        Raises:
            ValueError: see `value`; also if no gradient path leads to the embeddings, or a gradient is NaN.
        """
        leaf = embeddings.clone().requires_grad_()
        grad = None
        with torch.enable_grad(), repeatable(embeddings.device):
            result = self.value(leaf, labels)
            if result.requires_grad:
                (grad,) = torch.autograd.grad(result, leaf, allow_unused=True)
        if grad is None:
            raise ValueError(
                f"{NEEDS}; the result of {self.name} has no gradient path back to the embeddings. Look for .detach(), "
                ".item(), numpy, torch.no_grad() or a bare comparison on the way."
            )
        if not grad.isfinite().all():
            row = int((~grad.isfinite().all(dim=1)).nonzero()[0])
            raise ValueError(
                f"{NEEDS}; the gradient of {self.name} is not finite at row {row}, although its value is "
                f"{result.item():g}. A square root or a logarithm at zero, or a division by an empty count, does this."
            )
        return result.item(), grad
