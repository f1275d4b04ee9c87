"""JSON and YAML files that people read, with a checksum at their end: a flipped bit is found when the file is read.

    {"step": 8, "crc32": "44763b9e"}

The checksum is the CRC-32 of every byte before it. Files without one (version 0.1, or written by others) are read as
they are; one that was edited by hand is taken as it stands by `lab runs check RUN --accept`. Imports no torch.
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from lab.core.files import checked, set_aside, write_bytes

KEY = "crc32"
JSON_END = re.compile(rb',?\s*"crc32": "([0-9a-f]{8})"\s*\}\s*\Z')
MISNAMED = re.compile(rb'"([^"]{5})": "[0-9a-f]{8}"\s*\}\s*\Z')
YAML_END = re.compile(rb"^# crc32: ([0-9a-f]{8})\b[^\n]*\n*\Z", re.MULTILINE)
CHANGED = "is not what was written: its checksum differs."
"""The damage of a file that can be read all the same."""
LONGEST_END = 200
"""Bytes at the end of a file that its checksum may take."""


def dumps(value: dict[str, Any], indent: int | None = 1) -> bytes:
    """A JSON object as a file or, with `indent=None`, as one line without its end. NaN and infinity are refused.

    Example:
        >>> dumps({"step": 8}, indent=None)
        b'{"step": 8, "crc32": "44763b9e"}'
        >>> loads(b'{"step": 8, "crc32": "44763b9e"}'), loads(b'{"step": 9, "crc32": "44763b9e"}')
        (({'step': 8}, True), ({'step': 9}, False))
    """
    body = json.dumps(value, indent=indent, allow_nan=False)[:-1].rstrip()
    comma, gap, end = ("," if value else ""), (" " if indent is None else "\n "), ("" if indent is None else "\n")
    return f'{body}{comma}{gap}"{KEY}": "{zlib.crc32(body.encode()):08x}"{end}}}{end}'.encode()


def loads(content: bytes) -> tuple[dict[str, Any], bool]:
    """The object that a text holds, without its checksum, and whether it is what was written; a text without a
    checksum is believed.

    Raises:
        ValueError: it is no JSON object, or holds NaN or infinity, which JSON has not and `dumps` does not write.
    """
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value, _intact(content, JSON_END) if value.pop(KEY, None) is not None else not _misnamed(content)


def _refuse(constant: str) -> None:
    raise ValueError(f"it holds {constant}, which JSON has not")


def write(path: Path, value: dict[str, Any], indent: int | None = 1) -> Path | None:
    """Replace a JSON file atomically. A damaged one is set aside first: returns where it lies then, else None."""
    aside = set_aside(path) if path.is_file() and damage(path) else None
    write_bytes(path, dumps(value, indent))
    return aside


def read(path: Path) -> tuple[dict[str, Any], bool]:
    """What `loads` makes of a file.

    Raises:
        ValueError: it is no JSON object, or no file.
        OSError: it is not there or cannot be read.
    """
    return loads(checked(path).read_bytes())


def damage(path: Path) -> str:
    """What is wrong with a JSON file, or YAML file by its ending; empty if it is what was written, or is not there."""
    try:
        content = checked(path).read_bytes()
        intact = intact_yaml(content) if path.suffix == ".yaml" else loads(content)[1]
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}."
    except ValueError:
        return "is no JSON."
    return "" if intact else CHANGED


def sealed_yaml(text: str) -> str:
    """A YAML text with its checksum, in a comment at its end.

    Example:
        >>> sealed_yaml("loss: roadmap\\n")
        'loss: roadmap\\n# crc32: e40626be (of the lines above; after a change by hand: lab runs check RUN --accept)\\n'
        >>> sealed = sealed_yaml("seed: 1\\n").encode()
        >>> intact_yaml(sealed), intact_yaml(sealed.replace(b"1", b"2", 1))
        (True, False)
    """
    sum_of = zlib.crc32(text.encode())
    return f"{text}# {KEY}: {sum_of:08x} (of the lines above; after a change by hand: lab runs check RUN --accept)\n"


def intact_yaml(content: bytes) -> bool:
    """Whether a YAML text is what was written; a text without a checksum is believed."""
    return YAML_END.search(content, max(0, len(content) - LONGEST_END)) is None or _intact(content, YAML_END)


def accept(path: Path) -> None:
    """Give a file that was edited by hand the checksum of what it holds now.

    Raises:
        ValueError: it is no JSON object, or no text.
    """
    content = checked(path).read_bytes()
    if path.suffix == ".yaml":
        write_bytes(path, sealed_yaml(YAML_END.sub(b"", content).decode("utf-8")).encode())
    else:
        write_bytes(path, dumps(loads(content)[0], indent=1 if b"\n" in content.strip() else None))


def _misnamed(content: bytes) -> bool:
    """Whether a text ends with a checksum whose name has one wrong letter: nothing would be compared with it."""
    match = MISNAMED.search(content, max(0, len(content) - LONGEST_END))
    return match is not None and sum(a != b for a, b in zip(match[1], KEY.encode(), strict=True)) == 1


def _intact(content: bytes, end: re.Pattern[bytes]) -> bool:
    match = end.search(content, max(0, len(content) - LONGEST_END))
    return match is not None and int(match[1], 16) == zlib.crc32(content[: match.start()])
