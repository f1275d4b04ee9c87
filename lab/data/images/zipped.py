"""A ZIP of class folders, as a browser brings it, unpacked where it can do no harm."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lab.core.files import check_allowed
from lab.core.formats import GB, counted, size
from lab.data.images.reading import EXTENSIONS

MOST_BYTES, MOST_IMAGES = 4 * GB, 200_000
"""What may be unpacked of one file."""


def unpack(file: BinaryIO, folder: Path) -> tuple[Path, str]:
    """Unpack the images of a ZIP into a new folder; which folder holds the classes, and what was left out, in words.

    Whatever goes wrong, no folder is left behind.

    Raises:
        ValueError: it is damaged, locked by a password or too large, or there is no image in it.
        OSError: the folder is there, or the disk is full.
    """
    check_allowed()
    try:
        with zipfile.ZipFile(file) as archive:
            files = [one for one in archive.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
            images = _images(files)
            _extract(archive, images, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"This file cannot be unpacked as a ZIP ({error}).") from None
    inside = list(folder.iterdir())
    while len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]  # the folder of the classes, or of pictures without a class, was packed with them
        inside = list(folder.iterdir())
    left = len(files) - len(images)
    return folder, f"{left:,} of {len(files):,} files in the ZIP are no images and were left out." if left else ""


def _images(files: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The members that are images.

    Raises:
        ValueError: there is none, or more than may be unpacked.
    """
    images = [one for one in files if _is_image(PurePosixPath(one.filename))]
    if not images:
        packed = [one.filename for one in files if one.filename.lower().endswith(".zip")]
        if packed:
            named = f"{counted(len(packed), 'other ZIP')}, such as {packed[0][-100:]}"
            raise ValueError(f"This ZIP holds no image but {named}; unpack it, and bring that one.")
        raise ValueError(f"This ZIP holds no image that ends in {' '.join(sorted(EXTENSIONS))}.")
    total = sum(one.file_size for one in images)  # no more than this is read of any
    if total > MOST_BYTES or len(images) > MOST_IMAGES:
        raise ValueError(
            f"This ZIP holds {len(images):,} images of {size(total)}; at most {MOST_IMAGES:,} images of "
            f"{size(MOST_BYTES)} are unpacked. Unpack it yourself, and choose the folder."
        )
    return images


def _extract(archive: zipfile.ZipFile, images: list[zipfile.ZipInfo], folder: Path) -> None:
    """Write images of a ZIP into a new folder, which is there only once all of them are."""
    made_parent = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as part:
            whole = Path(part) / "images"
            for one in images:
                archive.extract(one, whole)
            whole.rename(folder)
    except BaseException:
        if made_parent:
            with suppress(OSError):  # somebody else may have unpacked beside it meanwhile
                folder.parent.rmdir()
        raise


def _is_image(path: PurePosixPath) -> bool:
    """Whether a member has an image's name, and one that leads nowhere else."""
    hidden = path.is_absolute() or any(part.startswith(".") for part in path.parts)
    return not hidden and path.suffix.lower() in EXTENSIONS
