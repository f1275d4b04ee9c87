"""What commands keep among the user's caches: listings, and knobs as flags describe them.

Making them imports torch, for seconds. Each is kept with the state of what it is made from.
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
    """What `make` gives, or gave before with what is `installed`, as JSON."""
    place = cache_folder() / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        held = json.loads(checked(place).read_text(encoding="utf-8"))
        if held["of"] == installed():
            return held["value"]
    value = make()
    with suppress(OSError):
        write_json(place, {"of": installed(), "value": value})
    return value


@cache
def installed() -> str:
    """Changes with Python, this package's files, and what other packages bring."""
    groups = [group for group in importlib.metadata.entry_points().groups if group.startswith(ENTRY_POINTS)]
    points = sorted(
        (group, point.name, point.value, point.dist.version if point.dist else "")
        for group in groups
        for point in importlib.metadata.entry_points(group=group)
    )
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in PACKAGE.rglob("*.py")]
    return f"{lab.__version__} {sys.version_info[:3]} {points} {zlib.crc32(repr(sorted(files)).encode()):08x}"
