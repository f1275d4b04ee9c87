"""What `lab losses`, `lab metrics` and `lab data` share: a list of entries, or one entry with its knobs."""

from __future__ import annotations

import argparse
import inspect
import zlib
from pathlib import Path
from types import ModuleType

from lab.cli._kept import installed, kept
from lab.cli._output import add_flags, show


def add_arguments(parser: argparse.ArgumentParser, kind: str) -> None:
    """Flags of a listing command."""
    parser.add_argument("name", nargs="?", help=f"explain this {kind} instead of listing all")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace, package: ModuleType) -> None:
    """List the entries of a catalogued package, or explain the one that was named."""
    if arguments.name is None:
        name = package.__name__.rpartition(".")[2]
        show(kept(f"catalogue-{name}", _state(package), lambda: listed(package)), as_json=arguments.json)
        return
    entry = package.get(arguments.name)
    if not arguments.json:
        print(f"{arguments.name}: {inspect.getdoc(entry)}\n")
    from lab.core.knobs import describe

    rows = [
        {"knob": knob.name, "default": "required" if knob.required else str(knob.default)}
        | {fact: getattr(knob, fact) for fact in ("range", "scale", "unit", "source", "help")}
        for knob in describe(entry.Knobs)
    ]
    show(rows, as_json=arguments.json, empty="It has no knobs.")


def _state(package: ModuleType) -> str:
    """What a listing is made from: the files of the package and of what all share, and what is installed."""
    folders = [Path(folder) for folder in package.__path__]
    files = [path for folder in folders for path in (*folder.rglob("*.py"), *(folder.parent / "core").glob("*.py"))]
    facts = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return f"{installed()} {zlib.crc32(repr(facts).encode()):08x}"


def listed(package: ModuleType) -> list[dict]:
    """Name, purpose and knobs, of a loss its family, too, of every entry of a catalogued package."""
    from lab.core.knobs import describe

    rows = []
    for name, entry in package.entries().items():
        purpose = " ".join((inspect.getdoc(entry) or "").split("\n\n")[0].split())
        family = {"family": entry.family} if hasattr(entry, "family") else {}
        knobs = " ".join(knob.name for knob in describe(entry.Knobs))
        rows.append({"name": name, **family, "purpose": purpose, "knobs": knobs})
    blank = dict.fromkeys(rows[0], "")
    return rows + [{**blank, "name": name, "purpose": sentence} for name, sentence in package.broken().items()]
