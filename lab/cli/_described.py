"""Knobs as they were described before: only what a change of the source touches is described anew."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace

from lab.cli._kept import installed, kept
from lab.core.knobs import Knob, describe
from lab.install import sources
from lab.runs.config import Section, derived_knobs

HERE = ("lab.core.knobs", "lab.core.catalog", "lab.runs.config", __name__)
"""Modules that decide how a knob is described, whatever it belongs to; what they name does not."""


def knobs_of(section: Section, choice: str | None) -> list[Knob]:
    """The knobs of a choice that a person may give, for flags and their help: `default` is a text.

    Raises:
        ValueError: there is no such choice.
    """

    def described() -> list[Knob]:
        declared = section.knobs_of(choice)
        left_out = derived_knobs(section, declared)
        return [replace(one, default=str(one.default)) for one in describe(declared) if one.name not in left_out]

    if section.package and choice not in section.names():  # a class that was added is this process's only
        return described()
    module = f"{section.package}.{choice}" if section.package else str(section.knobs).partition(":")[0]
    state = f"{sources.digest(module)} {sources.contents(*HERE)} {installed()}"
    kinds = {kind.__name__: kind for kind in (int, float, bool, str)}
    rows = kept(
        f"flags-{section.name}-{choice or ''}", state,
        lambda: [{**asdict(one), "kind": one.kind.__name__} for one in described()],
    )  # fmt: skip
    with suppress(TypeError, KeyError):  # what is kept is damaged, or of a kind that JSON has not
        return [Knob(**{**row, "kind": kinds[row["kind"]], "options": tuple(row["options"])}) for row in rows]
    return described()
