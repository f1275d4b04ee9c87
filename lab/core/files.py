"""Reading regular files only, writing so that a kill leaves the old content or the new, and where a person's own are.

`~/.config/rankscope/config.yaml` (below XDG_CONFIG_HOME, where that is set) may hold `runs`, `cache`, `kernels` and
`webhook`, which stand for LAB_RUNS, LAB_CACHE, LAB_KERNELS and LAB_WEBHOOK. Flags win over variables, variables over
the file. No torch here.
"""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from lab.core.formats import size

thread = threading.local()
"""`guest`: whether a thread behind a page works for a guest, as its page did."""


guest: Callable[[], bool] = bool
"""Whether this thread works for somebody who may only look; the dashboard, which knows its visitors, answers."""


class GuestRefused(PermissionError):
    """A guest asked for what only the owner may do."""


def check_allowed() -> None:
    """Refuse to work on behalf of a guest. Whatever writes, fetches, starts or stops something calls this first, before
    it computes anything.

    Raises:
        GuestRefused: the visitor is a guest.
    """
    if guest():
        raise GuestRefused(
            "Guests may look at everything and change nothing; ask the owner for the other address."
        )


SETTINGS = ("runs", "cache", "kernels", "webhook")
"""What a person's file of settings may hold; each stands for the variable LAB_ and its capitals."""


def setting(key: str) -> str:
    """The value of the variable of this key, else what the file of settings says; empty where neither does.

    Raises:
        ValueError: the file cannot be read, or holds something else.
    """
    return os.environ.get(f"LAB_{key.upper()}") or _in_file(settings_file()).get(key, "")


def settings_file() -> Path:
    """Where a person's file of settings lies, or would."""
    return Path(
        os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"),
        "rankscope",
        "config.yaml",
    )


@cache
def _in_file(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    from lab.core import yaml_reader

    try:
        held = yaml_reader.load(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}.") from None
    entries: list[tuple[Any, Any]] = (
        list(held.items()) if isinstance(held, dict) else [(held, None)]
    )
    for key, value in entries:
        if key not in SETTINGS or not isinstance(value, str):
            wrong = f"{str(key)[:50]!r} is none of them, or has no text"
            raise ValueError(f"{path} may hold {', '.join(SETTINGS)}, each with a text; {wrong}.")
    return {key: os.path.expanduser(value) for key, value in entries}


def cache_folder() -> Path:
    """Where what can be made again is kept: the environment variable LAB_CACHE, or `rankscope` among the caches."""
    chosen = setting("cache")
    return (
        Path(chosen)
        if chosen
        else Path(os.environ.get("XDG_CACHE_HOME") or whole("~/.cache")) / "rankscope"
    )


def whole(path: Path | str) -> Path:
    """A path that a person wrote, from the root of the file system on: `~` is a home folder, and links are followed."""
    return Path(os.path.realpath(os.path.expanduser(path)))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well, its content is on disk and takes `path`'s place.

    Raises:
        OSError: the disk is full or the folder cannot be written; `path` then holds what it held before.
    """
    check_allowed()
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No name that can be guessed: in a folder from elsewhere a link could lie in wait under it.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _naming_a_full_disk(path):
            yield temporary
        to_disk(temporary)
        os.replace(temporary, path)
        to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


FULL = re.compile(r"os error (27|28|122)\b|No space left on device|File too large")
LEAST = 65_536
"""Bytes of free space below which a library that failed has met a full disk, whatever it says of that."""


@contextmanager
def _naming_a_full_disk(path: Path) -> Iterator[None]:
    """Raise an OSError where a library met a full disk: those that write from C++ or Rust raise kinds of their own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        if FULL.search(str(error)) or shutil.disk_usage(path.parent).free < LEAST:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file atomically; its mode follows the umask."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a new folder; it becomes `folder`, which must not be there yet, when the block ends well, else it goes."""
    check_allowed()
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # a killed one may have left its own
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.tmp")
    temporary.mkdir()
    try:
        with _naming_a_full_disk(folder):
            yield temporary
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_left_overs(path: Path) -> None:
    """Remove what a killed `replacing` or `making` of this path left beside it."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a text file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Replace a JSON file atomically. NaN and infinity are refused: they are not JSON."""
    write_text(path, json.dumps(value, indent=indent, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ValueError: it holds something else, is too large, or is no file; names it.
        OSError: it is not there or cannot be read.
    """
    content = read_small(path)
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON object: {error}.") from None


SMALL = 10_000_000
"""Bytes of a text that is read whole: a file with a hole in it can be larger than any memory, and take no room."""


def read_small(path: Path, most: int = SMALL) -> bytes:
    """The content of a file that a person or Rankscope wrote as text.

    Raises:
        ValueError: it is larger than `most` bytes, or is no file; names it.
        OSError: it is not there or cannot be read.
    """
    with checked(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(
            f"{path} is larger than {most // 10**6:,} MB, so it is no text that is read here."
        )
    return content


DEEPEST = 64
"""How deeply objects and lists may be nested in a file: what reads them would run out of Python's own stack."""


def parse_json(content: bytes, infinite: bool = False) -> dict[str, Any]:
    """The JSON object that a text holds, less the checksum that version 0.2 wrote into it.

    Args:
        infinite: take NaN and infinity, too, as the contents of a checkpoint hold them.

    Raises:
        ValueError: it is none; or it holds what `write_json` does not write: NaN, infinity, a name twice in an object,
            half a letter, a number of thousands of digits, more than `DEEPEST` levels.

    Example:
        >>> parse_json(b'{"step": 8, "crc32": "44763b9e"}')
        {'step': 8}
    """
    try:
        text = content.decode("utf-8")
        # else the parser's own, which is quicker
        large = _finite if _LARGE.search(content) else None
        value = json.loads(
            text,
            parse_constant=float if infinite else _refuse,
            parse_float=large,
            object_pairs_hook=_named_once,
        )
        if "\\ud" in text.lower():  # the half of a letter that JSON may write and no text may hold
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise ValueError("it is no UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{error.msg.rstrip('.')} in line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError as error:
        own = isinstance(error, _Refused)
        raise ValueError(
            str(error) if own else "it holds a number of thousands of digits"
        ) from None
    if not isinstance(value, dict):
        raise ValueError(f"it holds {JSON_KINDS[type(value)]}")
    if content.count(b"[") + content.count(b"{") > DEEPEST and _deep(value):
        raise ValueError("it is nested too deeply")
    value.pop("crc32", None)
    return value


JSON_KINDS = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
"""Type of Python to what JSON calls such a value."""


class _Refused(ValueError):
    """Something that is JSON, and that we do not write."""


def _refuse(constant: str) -> None:
    raise _Refused(f"it holds {constant}")


_LARGE = re.compile(rb"[eE]\+?\d{3}")
"""How a number ends that may be beyond the largest float."""


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise _Refused(f"it holds {digits[:20]}, which is infinite here")
    return number


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen = set[str]()
        for name, _ in pairs:
            if name in seen:
                raise _Refused(f"it names {name[:100]!r} twice")
            seen.add(name)
    return fields


def _deep(value: Any) -> bool:
    """Whether a JSON value has more than `DEEPEST` levels of objects and lists."""
    level = [value]
    for _ in range(DEEPEST):
        inside = [outer.values() if isinstance(outer, dict) else outer for outer in level]
        level = [inner for values in inside for inner in values if isinstance(inner, dict | list)]
    return bool(level)


def appending(path: Path) -> BinaryIO:
    """Open a file to add to it, made if need be; never through a link, which leads to somebody's own file.

    Raises:
        OSError: it is a link, or cannot be written.
    """
    check_allowed()
    ordinary = os.O_NOFOLLOW | os.O_NONBLOCK
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags | ordinary, 0o666))


def to_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's names, would outlive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def other_kind(path: Path) -> str:
    """What a path leads to that is no file, in words; "" for a file, or for nothing: who opens it says that."""
    if os.path.isfile(path) or not os.path.exists(path):
        return ""
    return "a folder" if os.path.isdir(path) else "a pipe, socket or device"


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file of a folder that somebody may have sent. A run has rights besides: see `Run.file`.

    Raises:
        ValueError: it is a link that leads out of the folder.
    """
    path = folder / name
    if path.is_symlink() and not whole(path).is_relative_to(whole(folder)):
        raise ValueError(
            f"{path} is a link that leads out of its folder; replace it by the file itself."
        )
    return path


def check_fits(what: object, needed: float) -> None:
    """Refuse to read a file that memory does not hold: a few bytes can stand for many gigabytes.

    Args:
        what: the file.
        needed: bytes that it takes in memory.

    Raises:
        ValueError: they are more than are free.
    """
    try:
        import psutil
    except ModuleNotFoundError:  # without the extra train
        return
    free = psutil.virtual_memory().available
    if needed > free:
        raise ValueError(f"{what} takes {size(needed)} of memory, and {size(free)} are free here.")


def checked(path: Path) -> Path:
    """The path of a file that is about to be opened.

    Raises:
        ValueError: it is a folder, a pipe, a socket or a device.
    """
    if kind := other_kind(path):
        raise ValueError(f"{path} is {kind}, not a file.")
    return path
