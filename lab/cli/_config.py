"""A run's configuration from flags: `--loss recall_at_k --loss.tau1 0.5`, on top of a YAML file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lab.cli import _flags
from lab.cli._kept import kept
from lab.core.knobs import Knob, describe
from lab.runs.config import (
    SECTIONS,
    RunConfig,
    Section,
    derived_knobs,
    given_yaml,
    read_yaml,
    without_followed_lengths,
)

if TYPE_CHECKING:
    from lab.runs.folder import Run


def add_sections(
    parser: argparse.ArgumentParser, words: list[str], sections: Sequence[str] = tuple(SECTIONS)
) -> None:
    """Declare --config, one flag a section, and one flag for each knob of what `words` choose.

    Raises:
        ValueError: an unknown name was chosen, or the YAML file cannot be read.
    """
    named = [SECTIONS[name] for name in sections if SECTIONS[name].package]
    actions = {section.name: "extend" if section.many else "store" for section in named}
    early = _flags.early(words, config="store", **actions)
    chosen = merged(early, read=read_yaml)
    help = "YAML file that holds any of the sections below, or the name of a recipe (see `lab list recipes`)"
    parser.add_argument("--config", metavar="FILE", help=help)
    for name in sections:
        section = SECTIONS[name]
        if section.package:
            _add_section_flag(parser, section)
        # one given twice is refused later
        for prefix, choice in dict.fromkeys(_chosen(section, chosen.get(name))):
            title = f"{prefix}: {section.help}"
            if choice and not section.many:
                title = f"{prefix} ({choice}): {section.help}"
            _flags.add_knobs(parser, prefix, _knobs_of(section, choice), title)


def _add_section_flag(parser: argparse.ArgumentParser, section: Section) -> None:
    """Declare the flag that names the entry, or the entries, of a section."""
    names = ", ".join(section.names())
    if section.many:
        default = ", ".join(section.default) or "none"
        help = f"{section.help}; several, or none for an empty list: {names} (default {default})"
        parser.add_argument(
            f"--{section.name}", metavar="NAME", help=help, action="extend", nargs="+"
        )
    else:
        help = f"{section.help}: {names} (default {section.default})"
        parser.add_argument(f"--{section.name}", metavar="NAME", help=help)


def _knobs_of(section: Section, choice: str | None) -> list[Knob]:
    """Return the knobs of a choice for flags and their help; `default` is a text.

    Raises:
        ValueError: there is no such choice.
    """

    def describe_knobs() -> list[Knob]:
        declared = section.knobs_of(choice)
        left_out = derived_knobs(section, declared)
        return [
            replace(knob, default=str(knob.default))
            for knob in describe(declared)
            if knob.name not in left_out
        ]

    def as_rows() -> list[dict[str, Any]]:
        return [{**asdict(knob), "kind": knob.kind.__name__} for knob in describe_knobs()]

    # a class that was added exists in this process only
    if section.package and choice not in section.names():
        return describe_knobs()
    kinds = {kind.__name__: kind for kind in (int, float, bool, str)}
    rows = kept(f"flags-{section.name}-{choice or ''}", as_rows)
    # the cache file is damaged, or a value is of a kind that JSON lacks
    with suppress(TypeError, KeyError):
        return [
            Knob(**{**row, "kind": kinds[row["kind"]], "options": tuple(row["options"])})
            for row in rows
        ]
    return describe_knobs()


def config_of(arguments: argparse.Namespace, run: Run | None = None) -> RunConfig:
    """Return the configuration that the flags ask for: over the YAML file, over that of a run, over the defaults.

    Raises:
        ValueError: an unknown section, name or knob, or a value out of range.
    """
    if run is None:
        return RunConfig.of(merged(arguments))
    return RunConfig.of(merged(arguments, run.config_dict), stored=True, rights=run.rights())


def merged(
    arguments: argparse.Namespace,
    base: dict[str, Any] | None = None,
    read: Callable[[str], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return nested sections from dotted flags; naming another entry of a section drops the knobs of the one before.

    read: reads the file of --config; by default one that may name no program.
    """
    for name in ("config", *SECTIONS):
        if getattr(arguments, name, None) == "":
            raise ValueError(f"--{name} is empty; leave it out, or name one.")
    config = dict(base or {})
    if arguments.config and read:
        config |= read(arguments.config)
    elif arguments.config:
        config |= given_yaml(arguments.config, vars(arguments))
    if getattr(arguments, "loss", None):
        config = without_followed_lengths(config)
    for section in SECTIONS.values():
        chosen = getattr(arguments, section.name, None)
        merge = _merged_many if section.many else _merged_one
        value = merge(section, config.get(section.name), chosen, arguments)
        if value is not None:
            config[section.name] = value
    return config


def given_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that set a part of the configuration."""
    named = [name for name in ("config", *SECTIONS) if getattr(arguments, name, None)]
    named += [name for name in vars(arguments) if "." in name]
    return [f"--{name}" for name in named]


def _merged_one(
    section: Section, current: Any, chosen: str | None, arguments: argparse.Namespace
) -> Any:
    if isinstance(current, str) and section.package:
        current = {"name": current}
    if current is not None and not isinstance(current, dict):
        return current
    entry = dict(current or {})
    if chosen and chosen != entry.get("name"):
        entry = {"name": chosen}
    name = entry.get("name", section.default)
    entry |= _given(section, section.name, name, arguments)
    return entry or None


def _merged_many(
    section: Section, current: Any, chosen: list[str] | None, arguments: argparse.Namespace
) -> Any:
    if current is not None and not isinstance(current, list):
        return current
    entries = []
    for entry in section.default if current is None else current:
        entries.append(dict(entry) if isinstance(entry, dict) else {"name": entry})
    if chosen:  # keep the knobs of the entries that are named again
        before = {entry.get("name"): entry for entry in entries}
        entries = [before.get(name, {"name": name}) for name in chosen if chosen != ["none"]]
    for entry in entries:
        name = entry.get("name")
        entry |= _given(section, f"{section.name}.{name}", name, arguments)
    return entries


def _given(
    section: Section, prefix: str, name: str | None, arguments: argparse.Namespace
) -> dict[str, Any]:
    if not any(key.startswith(f"{prefix}.") for key in vars(arguments)):
        return {}
    return _flags.collect(arguments, prefix, section.knobs_of(name))


def _chosen(section: Section, value: Any) -> list[tuple[str, str | None]]:
    """Return the flag prefix and the name of everything that a section holds."""
    if section.many:
        entries = value if isinstance(value, list) else section.default
        names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
        return [(f"{section.name}.{name}", name) for name in names]
    if not section.package:
        return [(section.name, None)]
    if isinstance(value, dict):
        return [(section.name, value.get("name", section.default))]
    return [(section.name, section.default)]
