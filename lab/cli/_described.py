"""Knobs as they were described before: describing them imports what declares them, and torch with it, for seconds.

They are kept among the user's caches, each under a digest of the files that it is made from and of what is installed:
after a change of the source only the choices that it touches are described anew.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import lab
from lab.core.catalog import ENTRY_POINTS
from lab.core.files import cache_folder, checked, write_json
from lab.core.knobs import Knob, describe
from lab.install import sources
from lab.runs.config import Section, derived_knobs

KINDS: dict[str, type] = {kind.__name__: kind for kind in (int, float, bool, str)}

HERE = ("lab.core.knobs", "lab.core.catalog", "lab.runs.config", __name__)
"""Modules that decide how a knob is described, whatever it belongs to; what they name does not."""


def knobs_of(section: Section, choice: str | None) -> list[Knob]:
    """The knobs of a choice that a person may give, for flags and their help: `default` is a text.

    Raises:
        ValueError: there is no such choice.
    """
    key = f"{section.name}.{choice or ''}"
    lasting = section.package is None or choice in section.names()  # a class that was added is this process's only
    place, of = cache_folder() / "flags.json", _state(section, choice)
    known = _read(place) if lasting else {}
    if known.get(key, {}).get("of") == of:
        with suppress(TypeError, KeyError):
            return [_knob(one) for one in known[key]["knobs"]]
    declared = section.knobs_of(choice)
    left_out = derived_knobs(section, declared)
    knobs = [replace(one, default=str(one.default)) for one in describe(declared) if one.name not in left_out]
    if lasting and all(one.kind.__name__ in KINDS for one in knobs):
        kept = [{**asdict(one), "kind": one.kind.__name__} for one in knobs]
        with suppress(OSError):  # where nothing can be written they are described each time
            write_json(place, {**known, key: {"of": of, "knobs": kept}})
    return knobs


def _knob(fields: dict[str, Any]) -> Knob:
    return Knob(**{**fields, "kind": KINDS[fields["kind"]], "options": tuple(fields["options"])})


def _read(place: Path) -> dict[str, dict[str, Any]]:
    try:
        held = json.loads(checked(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) and all(isinstance(one, dict) for one in held.values()) else {}


def _state(section: Section, choice: str | None) -> str:
    """Changes with the files that declare the knobs of a choice, and with what is installed."""
    module = f"{section.package}.{choice}" if section.package else str(section.knobs).partition(":")[0]
    return f"{sources.digest(module)} {_common()}"


@cache
def _common() -> str:
    groups = [group for group in importlib.metadata.entry_points().groups if group.startswith(ENTRY_POINTS)]
    points = sorted(
        (group, point.name, point.value, point.dist.version if point.dist else "")
        for group in groups
        for point in importlib.metadata.entry_points(group=group)
    )
    return f"{sources.contents(*HERE)} {lab.__version__} {sys.version_info[:3]} {points}"
