"""Download a published archive: an interrupted download is resumed, and a file is accepted only by its checksum."""

from __future__ import annotations

import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core.files import check_allowed
from lab.data._base import ImageSet
from lab.data._lists import md5_of
from lab.data._published import Archive, Published

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Progress:
    """Progress of a download or a check.

    what: the file or the images being worked on. done, total: in `unit`; total is None when it is not known.
    """

    what: str
    done: int
    total: int | None
    unit: str


def download(name: str, entry: type[ImageSet], path: str) -> Iterator[Progress]:
    """Fetch a set whose licence and publisher allow it, into the folder `path`, and unpack it there.

    An interrupted download goes on where it stopped; a file that is there already is only checked.

    Raises:
        ValueError: the set cannot be fetched (the sentence says how to get it), the server does not answer, or what
            came is not the published file.
    """
    archives = entry.archives() if issubclass(entry, Published) else ()
    if not archives:
        words = entry.get if issubclass(entry, Published) else "It is no published set."
        raise ValueError(f"{name} cannot be downloaded. {words}")
    check_allowed()
    folder = Path(path).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        yield from _fetch(archive, folder)
        if archive.unpack:
            with tarfile.open(folder / archive.file) as opened:
                # The checksum vouches for the members; early 3.11 has no filter yet.
                safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                opened.extractall(folder, **safely)


def _fetch(archive: Archive, folder: Path) -> Iterator[Progress]:
    target = folder / archive.file
    part = folder / f"{archive.file}.part"
    if target.exists() and md5_of(target) == archive.md5:
        yield Progress(archive.file, target.stat().st_size, target.stat().st_size, "bytes")
        return
    # Continue a part that an earlier call left.
    done = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    request = urllib.request.Request(archive.url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            if answer.status != 206:  # the server sends the whole file
                done = 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with part.open("ab" if done else "wb") as file:
                while chunk := answer.read(_CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    yield Progress(archive.file, done, total, "bytes")
        if total is not None and done < total:
            raise ConnectionError(f"it broke off at {done:,} of {total:,} bytes")
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to send, the part is whole
            raise ValueError(
                f"{archive.url} answers {error.code} {error.reason}; try again later."
            ) from None
    except OSError as error:
        # The cause of a failed connection may be wrapped twice.
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or cause
        raise ValueError(
            f"{archive.url} cannot be fetched: {reason}. {done:,} bytes are kept in {part}; the same command continues."
        ) from None
    # Keep it only if it is the published file.
    digest = md5_of(part)
    if digest != archive.md5:
        part.unlink()
        raise ValueError(
            f"{archive.file} is not the published file and is removed: its MD5 is {digest}, not {archive.md5}."
        )
    part.replace(target)
