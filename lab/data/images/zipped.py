"""A ZIP of class folders, as a browser brings it, unpacked where it can do no harm."""

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

MOST_BYTES, MOST_IMAGES = 4 * GB, 200_000
"""What may be unpacked of one file."""

OUTSIDE = "file whose path leads out of the ZIP", "files whose paths lead out of the ZIP"
REPEATED = "file that a later one of the same name replaces", "files that later ones of the same name replace"
UNWRITTEN = "file whose name cannot be written here", "files whose names cannot be written here"

NAME_ERRORS = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EILSEQ)
"""What systems say of a name that they cannot write, or that is a file and a folder at once."""


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
            left_out: LeftOut = defaultdict(list)
            _extract(archive, _images(archive, left_out), folder, left_out)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"This file cannot be unpacked as a ZIP ({error}).") from None
    inside = list(folder.iterdir())
    while len(inside) == 1 and inside[0].is_dir() and any(one.is_dir() for one in inside[0].iterdir()):
        folder = inside[0]  # the folder of the classes was packed with them
        inside = list(folder.iterdir())
    return folder, " ".join(sentences(left_out))


def _images(archive: zipfile.ZipFile, left_out: LeftOut) -> list[zipfile.ZipInfo]:
    """The members that are images; the others are put into `left_out`.

    Raises:
        ValueError: there is none, or more than may be unpacked.
    """
    files = [one for one in archive.infolist() if not one.is_dir()]
    if files and not any("/" in one.filename for one in files):
        for one in files:  # some programs of Windows separate folders so
            one.filename = one.filename.replace("\\", "/")
    latest = {_plain(one): one for one in files}
    left_out[REPEATED] += [one.filename for one in files if latest[_plain(one)] is not one]
    files = list(latest.values())
    images = [one for one in files if _is_image(archive, one, left_out)]
    if images and not any(has_signature(_head(archive, one)) for one in images):  # they only have the names of images
        left_out[NO_IMAGE] += [one.filename for one in images]
        images = []
    if not images:
        packed = [one.filename for one in files if one.filename.lower().endswith(".zip")]
        if packed:
            named = f"{counted(len(packed), 'other ZIP')}, such as {packed[0][-100:]}"
            raise ValueError(f"This ZIP holds no image but {named}; unpack it, and bring that one.")
        raise ValueError(f"This ZIP holds no image. {' '.join(sentences(left_out))}".strip())
    total = sum(one.file_size for one in images)  # no more than this is read of any
    if total > MOST_BYTES or len(images) > MOST_IMAGES:
        raise ValueError(
            f"This ZIP holds {counted(len(images), 'image')} of {size(total)}; at most {MOST_IMAGES:,} images of "
            f"{size(MOST_BYTES)} are unpacked. Unpack it yourself, and choose the folder."
        )
    return images


def _plain(member: zipfile.ZipInfo) -> str:
    """The path of a member without what says nothing, such as `./`."""
    return posixpath.normpath(member.filename)


def _extract(archive: zipfile.ZipFile, images: list[zipfile.ZipInfo], folder: Path, left_out: LeftOut) -> None:
    """Write images of a ZIP into a new folder, which is there only once all of them are.

    Raises:
        ValueError: no name can be written here.
    """
    made_parent = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as part:
            whole = Path(part) / "images"
            whole.mkdir()
            for one in images:
                try:
                    archive.extract(one, whole)
                except OSError as error:
                    if error.errno not in NAME_ERRORS:
                        raise
                    left_out[UNWRITTEN].append(one.filename[-100:])
            if not any(path.is_file() for path in whole.rglob("*")):
                raise ValueError(f"No image of this ZIP can be unpacked. {' '.join(sentences(left_out))}")
            whole.rename(folder)
    except BaseException:
        if made_parent:
            with suppress(OSError):  # somebody else may have unpacked beside it meanwhile
                folder.parent.rmdir()
        raise


def _is_image(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left_out: LeftOut) -> bool:
    """Whether a member is an image by its first bytes or its name, and leads nowhere else; says why it is not."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        left_out[OUTSIDE].append(member.filename)
        return False
    if any(is_hidden(part) for part in path.parts):
        left_out[HIDDEN].append(member.filename)
        return False
    head = _head(archive, member)
    if has_signature(head) or path.suffix.lower() in EXTENSIONS:  # a broken one is named when the folder is read
        return True
    left_out[PHOTO if is_heic(head) else NO_IMAGE].append(member.filename)
    return False


def _head(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The first bytes of a member, which say what it is."""
    with archive.open(member) as opened:
        return opened.read(HEAD)
