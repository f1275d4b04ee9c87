"""What `lab losses`, `lab metrics` and `lab data` share: a list of entries, or one entry with its knobs."""

from __future__ import annotations

import argparse
import inspect

from lab.cli._output import add_json, show


def add_arguments(parser: argparse.ArgumentParser, kind: str) -> None:
    """Flags of a listing command."""
    parser.add_argument("name", nargs="?", help=f"explain this {kind} instead of listing all")
    add_json(parser)


def run(arguments: argparse.Namespace, package) -> None:
    """List the entries of a catalogued package, or explain the one that was named."""
    from lab.core.knobs import describe

    if arguments.name is None:
        show(listed(package), as_json=arguments.json)
        return
    entry = package.get(arguments.name)
    rows = [
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
    if not arguments.json:
        print(f"{arguments.name}: {inspect.getdoc(entry)}\n")
    show(rows, as_json=arguments.json, empty="It has no knobs.")


def listed(package) -> list[dict]:
    """Name, purpose and knobs, of a loss its family, too, of every entry of a catalogued package."""
    rows = [_summary(package, name) for name in package.entries()]
    blank = dict.fromkeys(rows[0], "")
    return rows + [{**blank, "name": name, "purpose": sentence} for name, sentence in package.broken().items()]


def _summary(package, name: str) -> dict:
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
