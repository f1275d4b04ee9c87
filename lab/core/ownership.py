"""Which files this account wrote: it signs them with a key that nobody else has.

A run folder travels. What its files name (paths, addresses, downloads) are the words of the person at this keyboard
only where this account wrote them. `owner.json` holds for each signed file an HMAC of its content. A file that was
edited, or came from another account or machine, has no valid one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from lab.core.files import checked, read_json, settings_file, write_json

FILE = "owner.json"
"""The file of a folder that holds the signatures."""

_SIZE, _PIECE = 32, 1 << 20
"""Bytes of the key, and of a piece of a file."""


def sign(folder: Path, name: str) -> None:
    """Write that this account wrote the file `name` of a folder, as it is now.

    Raises:
        OSError: the file is not there, or the folder cannot be written.
    """
    write_json(folder / FILE, {**_signatures(folder), name: _signature(folder, name)})


def is_own(folder: Path, name: str, content: bytes | None = None) -> bool:
    """Return whether this account wrote the file `name` of a folder as it is now; False without such a file.

    Args:
        content: what the file held or will hold, instead of what it holds now.
    """
    signature = _signatures(folder).get(name)
    if not isinstance(signature, str) or not signature.isascii():
        return False
    try:
        return hmac.compare_digest(signature, _signature(folder, name, content))
    except (OSError, ValueError):  # it is gone, or is a pipe or a device
        return False


def mark_of(words: str) -> str:
    """Return what this account alone can write behind some words of a file, so that it knows them again.

    Example:
        >>> mark_of("process 7") == mark_of("process 7") != mark_of("process 8")
        True
    """
    return hmac.new(_key(), b"words\0" + words.encode(), hashlib.sha256).hexdigest()


def is_mark_of(mark: object, words: str) -> bool:
    """Return whether this account wrote these words: whether `mark` is what `mark_of` returns."""
    return isinstance(mark, str) and mark.isascii() and hmac.compare_digest(mark, mark_of(words))


def _signatures(folder: Path) -> dict[str, object]:
    try:
        return read_json(folder / FILE)
    except (OSError, ValueError):  # nobody signed anything, or the file is damaged
        return {}


def _signature(folder: Path, name: str, content: bytes | None = None) -> str:
    signature = hmac.new(_key(), name.encode() + b"\0", hashlib.sha256)
    if content is not None:
        signature.update(content)
        return signature.hexdigest()
    with open(checked(folder / name), "rb") as file:
        while piece := file.read(_PIECE):
            signature.update(piece)
    return signature.hexdigest()


def _key() -> bytes:
    """Return the key of this account, made when it is first needed.

    Where neither the folder of settings nor the temporary folder can be written, the key lasts as long as the process.
    """
    return _key_below(tuple(_places()))


@cache
def _key_below(places: tuple[Path, ...]) -> bytes:
    for folder in places:
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (key := _kept(folder)) is not None:
                return key
    return secrets.token_bytes(_SIZE)


def _places() -> Iterator[Path]:
    yield settings_file().parent
    yield Path(tempfile.gettempdir(), f"rankscope-{os.getuid()}")


def _kept(folder: Path) -> bytes | None:
    """Return the key that a folder keeps, made if there is none; None where another account could read or set it."""
    path = folder / "owner.key"
    if not path.exists():
        temporary = folder / f".owner.key.{secrets.token_hex(4)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SIZE))
        try:
            os.link(temporary, path)
        except FileExistsError:  # another process was quicker
            pass
        except OSError:  # a file system without links
            temporary.rename(path)
        temporary.unlink(missing_ok=True)
    # A link or a file of another account could hold a key that somebody else knows.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        facts, key = os.fstat(file.fileno()), file.read(_SIZE + 1)
    mine = facts.st_uid == os.getuid() and not facts.st_mode & 0o077
    return key if mine and len(key) == _SIZE else None
