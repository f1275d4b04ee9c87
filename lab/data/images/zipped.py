"""A ZIP of class folders, as a browser brings it, unpacked where it can do no harm."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lab.core.files import check_allowed
from lab.core.formats import GB, size
from lab.data.images.reading import EXTENSIONS

MOST_BYTES, MOST_IMAGES = 4 * GB, 200_000
"""What may be unpacked of one file."""


def unpack(file: BinaryIO, folder: Path) -> tuple[Path, str]:
    """Unpack the images of a ZIP into a new folder; which folder holds the classes, and what was left out, in words.

    Raises:
        ValueError: it is damaged, locked by a password or too large, or there is no image in it.
        OSError: the folder is there, or the disk is full.
    """
    check_allowed()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(file) as archive, tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as part:
            files = [one for one in archive.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
            images = [one for one in files if _is_image(PurePosixPath(one.filename))]
            total = sum(one.file_size for one in images)  # no more than this is read of any
            if not images:
                raise ValueError(f"This ZIP holds no image that ends in {' '.join(sorted(EXTENSIONS))}.")
            if total > MOST_BYTES or len(images) > MOST_IMAGES:
                raise ValueError(
                    f"This ZIP holds {len(images):,} images of {size(total)}; at most {MOST_IMAGES:,} images of "
                    f"{size(MOST_BYTES)} are unpacked. Unpack it yourself, and choose the folder."
                )
            for one in images:
                archive.extract(one, part)
            Path(part).rename(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"This file cannot be unpacked as a ZIP ({error}).") from None
    while len(inside := list(folder.iterdir())) == 1 and any(one.is_dir() for one in inside[0].iterdir()):
        folder = inside[0]  # the folder of the classes was packed with them
    left = len(files) - len(images)
    return folder, f"{left:,} of {len(files):,} files in the ZIP are no images and were left out." if left else ""


def _is_image(path: PurePosixPath) -> bool:
    """Whether a member has an image's name, and one that leads nowhere else."""
    hidden = path.is_absolute() or any(part.startswith(".") for part in path.parts)
    return not hidden and path.suffix.lower() in EXTENSIONS
