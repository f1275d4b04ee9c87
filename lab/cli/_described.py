"""Knobs as they were described before: describing them imports what declares them, and torch with it, for seconds.

They are kept among the user's caches, under a number that any change of a file of Rankscope or of an installed plug-in
changes; what is asked for the first time is described and added.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import zlib
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import lab
from lab.core.catalog import ENTRY_POINTS
from lab.core.files import cache_folder, checked, write_json
from lab.core.knobs import Knob, describe
from lab.runs.config import Section, derived_knobs

KINDS: dict[str, type] = {kind.__name__: kind for kind in (int, float, bool, str)}


def knobs_of(section: Section, choice: str | None) -> list[Knob]:
    """The knobs of a choice that a person may give, for flags and their help: `default` is a text.

    Raises:
        ValueError: there is no such choice.
    """
    key = f"{section.name}.{choice or ''}"
    lasting = section.package is None or choice in section.names()  # a class that was added is this process's only
    place = cache_folder() / f"flags-{_state():08x}.json"
    known = _read(place) if lasting else {}
    if key in known:
        with suppress(TypeError, KeyError):
            return [Knob(**{**one, "kind": KINDS[one["kind"]], "choices": tuple(one["choices"])}) for one in known[key]]
    declared = section.knobs_of(choice)
    left_out = derived_knobs(section, declared)
    knobs = [replace(one, default=str(one.default)) for one in describe(declared) if one.name not in left_out]
    if lasting and all(one.kind.__name__ in KINDS for one in knobs):
        _write(place, {**known, key: [{**asdict(one), "kind": one.kind.__name__} for one in knobs]})
    return knobs


def _read(place: Path) -> dict[str, Any]:
    try:
        held = json.loads(checked(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _write(place: Path, known: dict[str, Any]) -> None:
    with suppress(OSError):  # where nothing can be written they are described each time
        for old in place.parent.glob("flags-*.json"):
            if old != place:
                old.unlink()
        write_json(place, known)


def _state() -> int:
    """A number of what knobs are declared in: the files of Rankscope, and what is installed beside it."""
    files = [path for folder in lab.__path__ for path in Path(folder).rglob("*.py")]
    facts = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    groups = [group for group in importlib.metadata.entry_points().groups if group.startswith(ENTRY_POINTS)]
    points = sorted(
        (group, point.name, point.value, point.dist.version if point.dist else "")
        for group in groups
        for point in importlib.metadata.entry_points(group=group)
    )
    return zlib.crc32(repr((lab.__version__, sys.version_info, facts, points)).encode())
