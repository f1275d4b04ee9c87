"""Is a data set complete where it was put? What is missing, what is wrong, what is corrupt."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import lab.data
from lab.data._base import ImageSet
from lab.data._images import ImageError, check_whole
from lab.data._published import PublishedSet
from lab.knobs import describe

_NAMED = 20
"""Broken images of one kind that are named; the others are counted."""


def check(name: str, path: str) -> list[str]:
    """Read a data set's lists, compare its counts with the published ones, and look at every image file.

    A file is decoded only if its end looks wrong; 100,000 images take a minute or two.

    Args:
        name: of the entry.
        path: the folder (or manifest) where it lies.

    Returns:
        one sentence for each thing that is missing, wrong or corrupt; empty when all is well.

    Raises:
        ValueError: there is no such data set.
    """
    entry = lab.data.get(name)
    required = [knob.name for knob in describe(entry.Knobs) if knob.required]
    problems: list[str] = []
    for variant in getattr(entry, "variants", ({},)):
        try:
            found = entry(**dict.fromkeys(required, path), **variant)
        except ValueError as error:
            problems.append(str(error))
            continue
        published = _wrong_counts(found) + _wrong_files(found) if isinstance(found, PublishedSet) else []
        problems += found.problems + published + _broken(found)
    return list(dict.fromkeys(problems))


def _wrong_counts(found: PublishedSet) -> list[str]:
    problems = []
    parts = found.parts()
    for part, legal in found.counts.items():
        items = parts.get(part, [])
        classes, images = len(set(found.labels[items].tolist())) if len(items) else 0, len(items)
        if not any(n == images and c in (None, classes) for c, n in legal):
            expected = " or ".join(f"{n:,} images" + (f" of {c:,} classes" if c else "") for c, n in legal)
            problems.append(f"{part} has {images:,} images of {classes:,} classes; published are {expected}.")
    return problems


def _wrong_files(found: PublishedSet) -> list[str]:
    problems = []
    for file, expected in found.checksums().items():
        digest = hashlib.md5((found.root / file).read_bytes(), usedforsecurity=False).hexdigest()
        if digest != expected:
            problems.append(f"{found.root / file} is not the published file: its MD5 is {digest}, not {expected}.")
    return problems


def _broken(found: ImageSet) -> list[str]:
    """Sentences on the image files that are missing or corrupt."""
    if found.pixels is not None or found.root is None:
        return []

    def problem(i: int) -> tuple[str, str] | None:
        path = found.path(i)
        try:
            check_whole(path)
        except ImageError as error:
            return ("missing" if not path.exists() else "corrupt", str(error))
        return None

    with ThreadPoolExecutor(8) as pool:
        broken = [one for one in pool.map(problem, range(len(found))) if one]
    problems = []
    for kind in ("missing", "corrupt"):
        said = [sentence for what, sentence in broken if what == kind]
        problems += said[:_NAMED]
        if len(said) > _NAMED:
            problems.append(f"{len(said) - _NAMED:,} more of {len(found):,} images are {kind}.")
    return problems
