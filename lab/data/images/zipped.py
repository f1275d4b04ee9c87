"""A ZIP of class folders, as a browser brings it, unpacked where it can do no harm."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lab.core.files import check_allowed
from lab.core.formats import GB, size
from lab.data.images.folders import HIDDEN, NO_IMAGE, PHOTO, LeftOut, is_hidden, sentences
from lab.data.images.reading import EXTENSIONS, HEAD, has_signature, is_heic

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
            files = [one for one in archive.infolist() if not one.is_dir()]
            left_out: LeftOut = defaultdict(list)
            images = [one for one in files if _is_image(archive, one, left_out)]
            total = sum(one.file_size for one in images)  # no more than this is read of any
            if not images:
                raise ValueError(f"This ZIP holds no image. {' '.join(sentences(left_out))}".strip())
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
    return folder, " ".join(sentences(left_out))


def _is_image(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left_out: LeftOut) -> bool:
    """Whether a member is an image by its first bytes or its name, and leads nowhere else; says why it is not."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or any(is_hidden(part) for part in path.parts):
        left_out[HIDDEN].append(member.filename)
        return False
    with archive.open(member) as opened:
        head = opened.read(HEAD)
    if has_signature(head) or path.suffix.lower() in EXTENSIONS:  # a broken one is named when the folder is read
        return True
    left_out[PHOTO if is_heic(head) else NO_IMAGE].append(member.filename)
    return False
