"""A cache of slow answers in the user's cache folder: catalogue listings, and knobs as flags describe them.

Computing them imports torch, which takes seconds. Each is stored with the state of the files it was computed from.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import lab
from lab.core.catalog import ENTRY_POINTS
from lab.core.files import cache_folder, checked, write_json
from lab.core.installed.shipped import PACKAGE


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Return what `make` returns, as JSON; read from the cache if it was computed with the same `installed` state."""
    place = cache_folder() / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        cached = json.loads(checked(place).read_text(encoding="utf-8"))
        if cached["of"] == installed():
            return cached["value"]
    value = make()
    with suppress(OSError):
        write_json(place, {"of": installed(), "value": value})
    return value


@cache
def installed() -> str:
    """Return a text that changes with Python, this package's files, and the plug-ins of other packages."""
    points = []
    for group in importlib.metadata.entry_points().groups:
        if group.startswith(ENTRY_POINTS):
            for point in importlib.metadata.entry_points(group=group):
                version = point.dist.version if point.dist else ""
                points.append((group, point.name, point.value, version))
    files = []
    for path in PACKAGE.rglob("*.py"):
        facts = path.stat()
        files.append((str(path), facts.st_size, facts.st_mtime_ns))
    checksum = zlib.crc32(repr(sorted(files)).encode())
    return f"{lab.__version__} {sys.version_info[:3]} {sorted(points)} {checksum:08x}"
