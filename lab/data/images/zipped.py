"""Unpack a ZIP of class folders that a browser sends, safely."""

from __future__ import annotations

import errno
import posixpath
import tempfile
import zipfile
import zlib
from collections import defaultdict
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lab.core.files import check_allowed
from lab.core.formats import GB, counted, size
from lab.data.images.folders import HIDDEN, NO_IMAGE, PHOTO, LeftOut, is_hidden, sentences
from lab.data.images.reading import EXTENSIONS, HEAD, has_signature, is_heic

MOST_BYTES = 4 * GB
MOST_IMAGES = 200_000
"""Limits of what is unpacked of one file."""

OUTSIDE = "file whose path leads out of the ZIP", "files whose paths lead out of the ZIP"
REPEATED = (
    "file that a later one of the same name replaces",
    "files that later ones of the same name replace",
)
UNWRITTEN = "file whose name cannot be written here", "files whose names cannot be written here"

NAME_ERRORS = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EILSEQ)
"""Errors for a name that cannot be written, or that is a file and a folder at once."""


def unpack(file: BinaryIO, folder: Path) -> tuple[Path, str]:
    """Unpack the images of a ZIP into a new folder; return the folder of the classes, and a sentence on what was left
    out. After an error no folder is left behind.

    Raises:
        ValueError: it is damaged, locked by a password or too large, or there is no image in it.
        OSError: the folder is there, or the disk is full.
    """
    check_allowed()
    try:
        with zipfile.ZipFile(file) as archive:
            left_out: LeftOut = defaultdict(list)
            _extract(archive, _images(archive, left_out), folder, left_out)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"This file cannot be unpacked as a ZIP ({error}).") from None
    inside = list(folder.iterdir())
    while (
        len(inside) == 1
        and inside[0].is_dir()
        and any(path.is_dir() for path in inside[0].iterdir())
    ):
        folder = inside[0]  # the folder of the classes was packed with them
        inside = list(folder.iterdir())
    return folder, " ".join(sentences(left_out))


def _images(archive: zipfile.ZipFile, left_out: LeftOut) -> list[zipfile.ZipInfo]:
    """Return the members that are images; put the others into `left_out`.

    Raises:
        ValueError: there is none, or more than may be unpacked.
    """
    files = [member for member in archive.infolist() if not member.is_dir()]
    if files and not any("/" in member.filename for member in files):
        for member in files:  # some programs of Windows separate folders so
            member.filename = member.filename.replace("\\", "/")
    # Of several members of one name the last counts.
    latest = {_plain(member): member for member in files}
    left_out[REPEATED] += [
        member.filename for member in files if latest[_plain(member)] is not member
    ]
    files = list(latest.values())
    images = [member for member in files if _is_image(archive, member, left_out)]
    # images by name only
    if images and not any(has_signature(_head(archive, member)) for member in images):
        left_out[NO_IMAGE] += [member.filename for member in images]
        images = []
    if not images:
        packed = [member.filename for member in files if member.filename.lower().endswith(".zip")]
        if packed:
            named = f"{counted(len(packed), 'other ZIP')}, such as {packed[0][-100:]}"
            raise ValueError(f"This ZIP holds no image but {named}; unpack it, and bring that one.")
        raise ValueError(f"This ZIP holds no image. {' '.join(sentences(left_out))}".strip())
    total = sum(member.file_size for member in images)  # no more than this is read of any
    if total > MOST_BYTES or len(images) > MOST_IMAGES:
        raise ValueError(
            f"This ZIP holds {counted(len(images), 'image')} of {size(total)}; at most {MOST_IMAGES:,} images of "
            f"{size(MOST_BYTES)} are unpacked. Unpack it yourself, and choose the folder."
        )
    return images


def _plain(member: zipfile.ZipInfo) -> str:
    """Return the path of a member without parts such as `./`."""
    return posixpath.normpath(member.filename)


def _extract(
    archive: zipfile.ZipFile, images: list[zipfile.ZipInfo], folder: Path, left_out: LeftOut
) -> None:
    """Write images of a ZIP into a new folder, which appears only once all of them are written.

    Raises:
        ValueError: no name can be written here.
    """
    made_parent = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as part:
            whole = Path(part) / "images"
            whole.mkdir()
            for member in images:
                try:
                    archive.extract(member, whole)
                except OSError as error:
                    if error.errno not in NAME_ERRORS:
                        raise
                    left_out[UNWRITTEN].append(member.filename[-100:])
            if not any(path.is_file() for path in whole.rglob("*")):
                raise ValueError(
                    f"No image of this ZIP can be unpacked. {' '.join(sentences(left_out))}"
                )
            whole.rename(folder)
    except BaseException:
        if made_parent:
            with suppress(OSError):  # somebody else may have unpacked beside it meanwhile
                folder.parent.rmdir()
        raise


def _is_image(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left_out: LeftOut) -> bool:
    """Return whether a member is an image by its first bytes or its name, with a path below the folder; else note why
    it is not."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        left_out[OUTSIDE].append(member.filename)
        return False
    if any(is_hidden(part) for part in path.parts):
        left_out[HIDDEN].append(member.filename)
        return False
    head = _head(archive, member)
    # a broken one is named when the folder is read
    if has_signature(head) or path.suffix.lower() in EXTENSIONS:
        return True
    left_out[PHOTO if is_heic(head) else NO_IMAGE].append(member.filename)
    return False


def _head(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the first bytes of a member, which say what it is."""
    with archive.open(member) as opened:
        return opened.read(HEAD)
