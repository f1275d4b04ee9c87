"""What `lab losses`, `lab metrics` and `lab data` share: a list of entries, or one entry with its knobs."""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import json
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import lab
from lab.cli._output import add_json, show
from lab.core.catalog import ENTRY_POINTS
from lab.core.files import cache_folder, checked, write_json


def add_arguments(parser: argparse.ArgumentParser, kind: str) -> None:
    """Flags of a listing command."""
    parser.add_argument("name", nargs="?", help=f"explain this {kind} instead of listing all")
    add_json(parser)


def run(arguments: argparse.Namespace, package: ModuleType) -> None:
    """List the entries of a catalogued package, or explain the one that was named."""
    if arguments.name is None:
        show(remembered(package, listed), as_json=arguments.json)
        return
    entry = package.get(arguments.name)
    if not arguments.json:
        print(f"{arguments.name}: {inspect.getdoc(entry)}\n")
    show(_explained(entry), as_json=arguments.json, empty="It has no knobs.")


def _explained(entry: Any) -> list[dict]:
    from lab.core.knobs import describe

    return [
        {
            "knob": k.name,
            "default": "required" if k.required else str(k.default),
            "range": k.range,
            "scale": k.scale,
            "unit": k.unit,
            "source": k.source,
            "help": k.help,
        }
        for k in describe(entry.Knobs)
    ]


def remembered(package: ModuleType, rows_of: Callable[[Any], list[dict]]) -> list[dict]:
    """The rows of a package as they were last made: making them loads torch, which takes seconds.

    They are kept among the user's caches, under a number that any change of a file or of an installed package changes.
    Where nothing can be written they are made each time.
    """
    name = package.__name__.rpartition(".")[2]
    place = cache_folder() / f"catalogue-{name}-{_state(package):08x}.json"
    try:
        return json.loads(checked(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        rows = rows_of(package)
    with suppress(OSError):
        for old in place.parent.glob(f"catalogue-{name}-*.json"):
            old.unlink()
        write_json(place, rows)
    return rows


def _state(package: ModuleType) -> int:
    """A number of what a listing is made from: the files of the package and of its bases, and what is installed."""
    folders = [Path(folder) for folder in package.__path__]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    files += [path for folder in folders for path in (folder.parent / "core").glob("*.py")]
    facts = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    group = importlib.metadata.entry_points(group=ENTRY_POINTS + package.__name__.rpartition(".")[2])
    points = sorted((point.name, point.value, point.dist.version if point.dist else "") for point in group)
    return zlib.crc32(repr((lab.__version__, sys.version_info, facts, points)).encode())


def listed(package: ModuleType) -> list[dict]:
    """Name, purpose and knobs, of a loss its family, too, of every entry of a catalogued package."""
    rows = [_summary(package, name) for name in package.entries()]
    blank = dict.fromkeys(rows[0], "")
    return rows + [{**blank, "name": name, "purpose": sentence} for name, sentence in package.broken().items()]


def _summary(package: ModuleType, name: str) -> dict:
    from lab.core.knobs import describe

    entry = package.get(name)
    purpose = (inspect.getdoc(entry) or "").split("\n\n")[0]
    family = {"family": entry.family} if hasattr(entry, "family") else {}
    return {
        "name": name,
        **family,
        "purpose": " ".join(purpose.split()),
        "knobs": " ".join(k.name for k in describe(entry.Knobs)),
    }
