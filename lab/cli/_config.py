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
from lab.runs.config import SECTIONS, RunConfig, Section, derived_knobs, given_yaml, read_yaml, without_followed_lengths

if TYPE_CHECKING:
    from lab.runs.folder import Run


def add_sections(parser: argparse.ArgumentParser, words: list[str], sections: Sequence[str] = tuple(SECTIONS)) -> None:
    """Declare --config, one flag a section, and one flag for each knob of what `words` choose.

    Raises:
        ValueError: an unknown name was chosen, or the YAML file cannot be read.
    """
    named = [SECTIONS[name] for name in sections if SECTIONS[name].package]
    early = _flags.early(words, config="store", **{s.name: "extend" if s.many else "store" for s in named})
    chosen = merged(early, read=read_yaml)
    help = "YAML file that holds any of the sections below, or the name of a recipe (see `lab list recipes`)"
    parser.add_argument("--config", metavar="FILE", help=help)
    for name in sections:
        section = SECTIONS[name]
        if section.package:
            names, several, default = ", ".join(section.names()), "", section.default
            if section.many:
                several, default = "; several, or none for an empty list", ", ".join(section.default) or "none"
            how: dict[str, Any] = {"action": "extend", "nargs": "+"} if section.many else {}
            help = f"{section.help}{several}: {names} (default {default})"
            parser.add_argument(f"--{name}", metavar="NAME", help=help, **how)
        for prefix, choice in dict.fromkeys(_chosen(section, chosen.get(name))):  # one given twice is refused later
            title = f"{prefix}{f' ({choice})' if choice and not section.many else ''}: {section.help}"
            _flags.add_knobs(parser, prefix, _knobs_of(section, choice), title)


def _knobs_of(section: Section, choice: str | None) -> list[Knob]:
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
    kinds = {kind.__name__: kind for kind in (int, float, bool, str)}
    rows = kept(
        f"flags-{section.name}-{choice or ''}",
        lambda: [{**asdict(one), "kind": one.kind.__name__} for one in described()],
    )  # fmt: skip
    with suppress(TypeError, KeyError):  # what is kept is damaged, or of a kind that JSON has not
        return [Knob(**{**row, "kind": kinds[row["kind"]], "options": tuple(row["options"])}) for row in rows]
    return described()


def config_of(arguments: argparse.Namespace, run: Run | None = None) -> RunConfig:
    """The configuration that the flags ask for: over the YAML file, over that of a run, over the defaults.

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
    """Nested sections from dotted flags; naming another entry of a section drops the knobs of the one before.

    read: reads the file of --config; by default one that may name no program.
    """
    blank = next((name for name in ("config", *SECTIONS) if getattr(arguments, name, None) == ""), None)
    if blank:
        raise ValueError(f"--{blank} is empty; leave it out, or name one.")
    config = dict(base or {})
    if arguments.config:
        config |= read(arguments.config) if read else given_yaml(arguments.config, vars(arguments))
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
    """The flags that say something about the configuration."""
    named = [name for name in ("config", *SECTIONS) if getattr(arguments, name, None)]
    return [f"--{name}" for name in [*named, *(k for k in vars(arguments) if "." in k)]]


def _merged_one(section: Section, current: Any, chosen: str | None, arguments: argparse.Namespace) -> Any:
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


def _merged_many(section: Section, current: Any, chosen: list[str] | None, arguments: argparse.Namespace) -> Any:
    if current is not None and not isinstance(current, list):
        return current
    entries = [
        dict(e) if isinstance(e, dict) else {"name": e} for e in (section.default if current is None else current)
    ]
    if chosen:
        before = {e.get("name"): e for e in entries}
        entries = [before.get(name, {"name": name}) for name in chosen if chosen != ["none"]]
    return [{**e, **_given(section, f"{section.name}.{e.get('name')}", e.get("name"), arguments)} for e in entries]


def _given(section: Section, prefix: str, name: str | None, arguments: argparse.Namespace) -> dict[str, Any]:
    if not any(key.startswith(f"{prefix}.") for key in vars(arguments)):
        return {}
    return _flags.collect(arguments, prefix, section.knobs_of(name))


def _chosen(section: Section, value: Any) -> list[tuple[str, str | None]]:
    """Flag prefix and name of everything a section holds."""
    if section.many:
        entries = value if isinstance(value, list) else section.default
        named = [e.get("name") if isinstance(e, dict) else e for e in entries]
        return [(f"{section.name}.{name}", name) for name in named]
    if not section.package:
        return [(section.name, None)]
    return [(section.name, value.get("name", section.default) if isinstance(value, dict) else section.default)]
