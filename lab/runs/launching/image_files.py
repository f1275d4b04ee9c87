"""What a look before the training finds among image files: those that are left out, by reason, and damaged ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lab.core.explain import explain
from lab.data.images.reading import ImageError, check_whole

if TYPE_CHECKING:
    from lab.data import ImageSet

PATIENCE = 10.0
"""Seconds for which files are looked at."""
AT_ONCE = 64
REASONS = {
    "is missing": ("missing file", "missing files"),
    "not an image of a known format": ("file of no known format", "files of no known format"),
    "cannot be read": ("file that cannot be read", "files that cannot be read"),
    "is damaged": ("damaged file", "damaged files"),
    "pixels": ("too large image", "too large images"),
    "Class ": ("class without a readable image", "classes without a readable image"),
    "files that are no images": ("group of files that are no images", "groups of files that are no images"),
}
"""Part of a problem's sentence to what it is called, one and several; the first that fits counts."""


def by_reason(problems: Sequence[str]) -> str:
    """How many problems there are of each kind.

    Example:
        >>> from lab.runs.launching import image_files
        >>> image_files.by_reason(["a.png is missing.", "b.png is missing.", "Class 'x' has no image and is left out."])
        '2 missing files, 1 class without a readable image'
    """
    counts = Counter(next((kind for kind in REASONS if kind in one), "") for one in problems)
    named = {kind: REASONS.get(kind, ("other", "others")) for kind in counts}
    return ", ".join(f"{count:,} {named[kind][count > 1]}" for kind, count in counts.most_common())


def damaged(dataset: ImageSet) -> tuple[int, list[str]]:
    """How many image files were looked at whole, in `PATIENCE` seconds, and a sentence for each that is damaged; none
    where the images are no files of a folder."""
    if dataset.root is None or dataset.pixels is not None:
        return 0, []
    sentences: list[str] = []
    ends, looked = time.monotonic() + PATIENCE, 0
    with ThreadPoolExecutor(8) as pool:
        for start in range(0, len(dataset), AT_ONCE):
            several = range(start, min(start + AT_ONCE, len(dataset)))
            sentences += [one for one in pool.map(lambda at: _damage(dataset, at), several) if one]
            looked = several.stop
            if time.monotonic() > ends:
                break
    return looked, sentences


def _damage(dataset: ImageSet, at: int) -> str:
    try:
        check_whole(dataset.path(at))
    except (ImageError, OSError) as error:
        return explain(error)
    except MemoryError:  # it may be a good one
        return ""
    return ""
