"""Check whether a data set is complete in its folder: what is missing, wrong or corrupt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lab.core.knobs import describe
from lab.data._base import ImageSet
from lab.data._download import Progress
from lab.data._lists import md5_of
from lab.data._published import Published
from lab.data.images.reading import check_whole, problems_of

_CHUNK = 1_000
_NAMED = 20
"""Broken images of one kind that are named; the others are counted."""


@dataclass(frozen=True)
class Problem:
    """One thing that is missing, wrong or corrupt, in a sentence."""

    sentence: str


def checking(entry: type[ImageSet], path: str) -> Iterator[Progress | Problem]:
    """Read a data set's lists, compare its counts with the published ones, and look at every image file.

    A file is decoded only if its end looks wrong; 100,000 images take a minute or two.

    Args:
        path: the folder (or manifest) where it lies.
    """
    required = [knob.name for knob in describe(entry.Knobs) if knob.required]
    variants: Any = getattr(entry, "variants", ({},))
    for variant in variants:
        try:
            dataset = entry(**dict.fromkeys(required, path), **variant)
        except ValueError as error:
            yield Problem(str(error))
            continue
        if isinstance(dataset, Published):
            yield from map(Problem, _wrong_counts(dataset))
            for file, expected in dataset.checksums().items():
                path_of_list = dataset.root / file
                digest = md5_of(path_of_list)
                if digest != expected:
                    yield Problem(
                        f"{path_of_list} is not the published file: its MD5 is {digest}, not {expected}."
                    )
        yield from map(Problem, dataset.problems)
        yield from _broken(dataset)


def check(entry: type[ImageSet], path: str) -> list[str]:
    """Return all sentences of `checking`, each once; empty when the data set is complete."""
    problems = (record.sentence for record in checking(entry, path) if isinstance(record, Problem))
    return list(dict.fromkeys(problems))


def _wrong_counts(dataset: Published) -> list[str]:
    problems = []
    parts = dataset.parts()
    for part, legal in dataset.counts.items():
        items: Any = parts.get(part, [])
        images = len(items)
        classes = len(set(dataset.labels[items].tolist())) if images else 0
        if any(n == images and c in (None, classes) for c, n in legal):
            continue
        expected = []
        for legal_classes, legal_images in legal:
            of_classes = f" of {legal_classes:,} classes" if legal_classes else ""
            expected.append(f"{legal_images:,} images{of_classes}")
        problems.append(
            f"{part} has {images:,} images of {classes:,} classes; published are {' or '.join(expected)}."
        )
    return problems


def _broken(dataset: ImageSet) -> Iterator[Progress | Problem]:
    """Name the image files that are missing or corrupt, as far as `_NAMED` of a kind, and count the others."""
    if dataset.pixels is not None or dataset.root is None:
        return
    counts = {"missing": 0, "corrupt": 0}
    for start in range(0, len(dataset), _CHUNK):
        files = [dataset.path(i) for i in range(start, min(start + _CHUNK, len(dataset)))]
        for file, sentence in zip(files, problems_of(files, check_whole), strict=True):
            if sentence is not None:
                kind = "corrupt" if file.exists() else "missing"
                counts[kind] += 1
                if counts[kind] <= _NAMED:
                    yield Problem(sentence)
        yield Progress(dataset.name, start + len(files), len(dataset), "images")
    for kind, count in counts.items():
        if count > _NAMED:
            yield Problem(f"{count - _NAMED:,} more of {len(dataset):,} images are {kind}.")
