"""The changes between two configurations as few words: `loss=contrastive`, `loss.margin=0.3`, values as in YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from lab.core import yaml_reader
from lab.core.knobs import describe
from lab.runs.config import SECTIONS, Choice, RunConfig, Section, parse_yaml, read_yaml


@cache
def base(name: str | None) -> RunConfig:
    """Return a preset or recipe, else the defaults; paths without a default are empty."""
    stored = read_yaml(name) if name else {}
    return RunConfig.of(
        {section: _complete(SECTIONS[section], chosen) for section, chosen in stored.items()}
    )


def sections(config: RunConfig) -> dict[str, Any]:
    """Return a configuration as `words` takes it: every section with all its knobs."""
    complete: dict[str, Any] = {}
    for name, chosen in config:
        if isinstance(chosen, tuple):
            complete[name] = [choice.as_dict() for choice in chosen]
        else:
            complete[name] = {"name": chosen.name, **chosen.values}
    return complete


def words(sections: Mapping[str, Any], begun: RunConfig) -> list[str]:
    """Return the words for the differences to a configuration; illegal values are left out.

    Args:
        sections: every section as YAML would hold it, with all its knobs.
    """
    changes: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        if (
            section.package
            and not section.many
            and sections[name]["name"] != getattr(begun, name).name
        ):
            changes[name] = sections[name]["name"]
            begun = begun.changed(name, _complete(section, changes[name]))
    for section in SECTIONS.values():
        if section.many:
            changes |= _list_change(section, sections, begun)
        else:
            changes |= dict(_knob_changes(section, sections, begun))
    return [_word(path, value) for path, value in changes.items()]


def applied(all_words: Sequence[str], begun: RunConfig) -> RunConfig:
    """Return a configuration with the changes that `words` gave; illegal ones are ignored."""
    for word in all_words:
        path, _, text = word.partition("=")
        with suppress(ValueError, ImportError):
            value = parse_yaml(f"value: {text}", word).get("value")
            if path in SECTIONS:
                value = _complete(SECTIONS[path], value)
            begun = begun.changed(path, value)
    return begun


def _complete(section: Section, value: Any) -> Any:
    """Return a section with empty texts for knobs without a default, which a person has yet to type."""
    if section.many or not section.package or not isinstance(value, str | dict):
        return value
    entry = {"name": value} if isinstance(value, str) else value
    texts = {}
    for knob in describe(section.knobs_of(entry.get("name", section.default))):
        if knob.required and knob.kind is str:
            texts[knob.name] = ""
    return texts | entry


def _knob_changes(
    section: Section, sections: Mapping[str, Any], begun: RunConfig
) -> Iterator[tuple[str, Any]]:
    """Yield the knobs of a section that differ and are legal."""
    now: Choice = getattr(begun, section.name)
    for knob, value in sections[section.name].items():
        if knob != "name" and value != now.values[knob]:
            with suppress(ValueError, ImportError):
                Choice.of(section, {**now.as_dict(), knob: value})
                yield f"{section.name}.{knob}", value


def _list_change(section: Section, sections: Mapping[str, Any], begun: RunConfig) -> dict[str, Any]:
    """Return the whole list if it differs: each entry by its name, or with the knobs that are not at their defaults."""
    try:
        chosen = tuple(Choice.of(section, entry) for entry in sections[section.name])
    except (ValueError, ImportError):
        return {}
    if chosen == getattr(begun, section.name):
        return {}
    entries: list[Any] = []
    for choice in chosen:
        defaults = type(choice.knobs).model_fields
        changed = {}
        for knob, value in choice.as_dict().items():
            if knob != "name" and choice.values[knob] != defaults[knob].default:
                changed[knob] = value
        entries.append({"name": choice.name, **changed} if changed else choice.name)
    return {section.name: entries}


def _word(path: str, value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml_reader.dump(value, default_flow_style=True, width=10**9).strip()
    return f"{path}={text.removesuffix('...').strip()}"
