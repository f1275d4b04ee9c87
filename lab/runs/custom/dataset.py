"""Use a torch data set of (image, label) as the images of a run: each picture is read once and stored in its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from lab.core.explain import explain
from lab.core.image_list import PICTURES
from lab.data import ImageRecords, Split, class_disjoint
from lab.data.images.listing import Listed, listed_as
from lab.data.images.reading import as_rgb

SHARE = 0.25
"""Default share of the classes that validate, and that test."""


def keep(
    folder: Path, data: Any, validation: Any = None, test: Any = None, seed: int = 0
) -> Listed:
    """Write the pictures of data sets into a run folder, and return their list, whose paths are relative to it.

    Args:
        data: a torch data set of (image, label) with a length; its images train.
        validation, test: data sets of the same kind, or shares of the classes of `data` from 0 to 1 (by default a
            quarter of the classes tests, and a quarter of the others validates).

    Raises:
        ValueError: there is no image, an item is no pair, no image or has no label; says which.
    """
    parts = {"train": data, "validation": validation, "test": test}
    datasets = {name: part for name, part in parts.items() if is_dataset(part)}
    keys: list[str] = []
    words: list[str] = []
    rows: dict[str, np.ndarray] = {}
    digest = hashlib.sha256()
    for name, part in datasets.items():
        if not len(part):
            raise ValueError(f"The {name} data is empty; give at least one image.")
        start = len(keys)
        (folder / PICTURES / name).mkdir(parents=True, exist_ok=True)
        for number in range(len(part)):
            picture, word = _item(part, number, name)
            keys.append(f"{name}/{number:07d}.png")
            words.append(word)
            picture.save(folder / PICTURES / keys[-1], compress_level=1)
            digest.update(repr((keys[-1], word, picture.size)).encode() + picture.tobytes())
        rows[name] = np.arange(start, len(keys))
    class_names = sorted(set(words), key=_class_order)
    label_of = {word: label for label, word in enumerate(class_names)}
    labels = np.array([label_of[word] for word in words], np.int64)
    # Shares of the classes of `data` become splits, too.
    train = rows.pop("train")
    shares = {}
    for name in ("validation", "test"):
        shares[name] = 0.0 if name in datasets else _share(parts[name], name)
    within = class_disjoint(
        labels[train], seed, test=shares["test"], validation=shares["validation"]
    )
    splits = {name: Split(train[split.query]) for name, split in within.items()}
    splits |= {name: Split(items) for name, items in rows.items()}
    records = ImageRecords(keys=keys, labels=labels, class_names=class_names, splits=splits)
    return listed_as(
        Path(PICTURES), records, {"what": type(data).__name__, "digest": digest.hexdigest()[:16]}
    )


def _class_order(word: str) -> tuple[int, str]:
    """Sort numbers by value, before words."""
    return (len(word), word) if word.isdigit() else (1000, word)


def is_dataset(thing: Any) -> bool:
    """Return whether it is a data set as torch has it: with a length, and items by their numbers."""
    return (
        hasattr(thing, "__getitem__")
        and hasattr(thing, "__len__")
        and not isinstance(thing, str | Mapping)
    )


def _share(share: Any, name: str) -> float:
    if share is None:
        return SHARE
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise ValueError(
            f"{name} must be a data set, or the share of the classes from 0 to below 1; got {str(share)[:100]}."
        )
    return float(share)


def _item(data: Any, number: int, name: str) -> tuple[Image.Image, str]:
    """Return an item as a picture and the name of its class."""
    where = f"Item {number:,} of the {name} data"
    try:
        pair = data[number]
    except Exception as error:  # a user's data set may raise anything
        raise ValueError(f"{where} cannot be read: {explain(error).rstrip('.')}.") from None
    if not isinstance(pair, tuple | list) or len(pair) < 2:
        raise ValueError(f"{where} must be a pair of image and label, got {type(pair).__name__}.")
    return _picture(pair[0], where), _class(pair[1], data, where)


def _picture(image: Any, where: str) -> Image.Image:
    if isinstance(image, Image.Image):
        return as_rgb(image)
    if not isinstance(image, torch.Tensor):
        raise ValueError(
            f"{where} must begin with a PIL image or a tensor [3 h w], got {type(image).__name__}."
        )
    if image.ndim != 3 or image.shape[0] not in (1, 3) or not image.numel():
        raise ValueError(
            f"{where} has an image {list(image.shape)}; a tensor must be [3 h w], or [1 h w] for grey."
        )
    pixels = image.detach().cpu()
    if pixels.is_floating_point():
        low = float(pixels.min())
        high = float(pixels.max())
        if not (low >= 0 and high <= 1):
            raise ValueError(
                f"{where} has pixels from {low:.3g} to {high:.3g}; give 0 to 1, or whole numbers from 0 to 255, and "
                "leave normalising to the run (the encoder's attributes mean and std)."
            )
        pixels = (pixels.double() * 255).round()
    elif pixels.dtype != torch.uint8:
        raise ValueError(
            f"{where} has an image of {image.dtype}; give uint8 pixels, or floating-point ones from 0 to 1."
        )
    return Image.fromarray(
        pixels.to(torch.uint8).expand(3, -1, -1).permute(1, 2, 0).contiguous().numpy()
    )


def _class(label: Any, data: Any, where: str) -> str:
    """Return the name of a class: that of the data set (`classes`), or the label itself."""
    if (
        isinstance(label, torch.Tensor | np.ndarray)
        and np.ndim(label) == 0
        or isinstance(label, np.generic)
    ):
        label = label.item()
    if isinstance(label, str) and label.strip():
        return label.strip()
    if isinstance(label, bool) or not isinstance(label, int) or label < 0:
        raise ValueError(
            f"{where} has the label {str(label)[:100]!r}; a label is a number from 0, or a word."
        )
    class_names = getattr(data, "classes", None)
    if isinstance(class_names, list | tuple) and label < len(class_names):
        return str(class_names[label])
    return str(label)
