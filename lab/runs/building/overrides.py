"""What a configuration changes in another, as few words: `loss=contrastive`, `loss.margin=0.3`, values as in YAML."""

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
    """A preset or recipe, else the defaults; the paths that everybody has to give are empty."""
    sections = read_yaml(name) if name else {}
    return RunConfig.of({n: _complete(SECTIONS[n], chosen) for n, chosen in sections.items()})


def sections(config: RunConfig) -> dict[str, Any]:
    """A configuration as `words` takes it: every section with all its knobs."""
    return {
        name: [one.as_dict() for one in chosen] if isinstance(chosen, tuple) else {"name": chosen.name, **chosen.values}
        for name, chosen in config
    }


def words(sections: Mapping[str, Any], begun: RunConfig) -> list[str]:
    """What is asked for beyond a configuration; what is illegal in it is left out.

    Args:
        sections: every one as YAML would hold it, with all its knobs.
    """
    changes: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        if section.package and not section.many and sections[name]["name"] != getattr(begun, name).name:
            changes[name] = sections[name]["name"]
            begun = begun.changed(name, _complete(section, changes[name]))
    for section in SECTIONS.values():
        changes |= _many(section, sections, begun) if section.many else dict(_moved(section, sections, begun))
    return [_word(path, value) for path, value in changes.items()]


def applied(all_words: Sequence[str], begun: RunConfig) -> RunConfig:
    """A configuration with the changes that `words` tells; those that are illegal are ignored."""
    for word in all_words:
        path, _, text = word.partition("=")
        with suppress(ValueError, ImportError):
            value = parse_yaml(f"value: {text}", word).get("value")
            begun = begun.changed(path, _complete(SECTIONS[path], value) if path in SECTIONS else value)
    return begun


def _complete(section: Section, value: Any) -> Any:
    """A section with empty texts where there is no default: somebody still has to type them."""
    if section.many or not section.package or not isinstance(value, str | dict):
        return value
    entry = {"name": value} if isinstance(value, str) else value
    knobs = describe(section.knobs_of(entry.get("name", section.default)))
    return {knob.name: "" for knob in knobs if knob.required and knob.kind is str} | entry


def _moved(section: Section, sections: Mapping[str, Any], begun: RunConfig) -> Iterator[tuple[str, Any]]:
    """The legal knobs of a section that differ."""
    now: Choice = getattr(begun, section.name)
    for knob, value in sections[section.name].items():
        if knob != "name" and value != now.values[knob]:
            with suppress(ValueError, ImportError):
                Choice.of(section, now.as_dict() | {knob: value})
                yield f"{section.name}.{knob}", value


def _many(section: Section, sections: Mapping[str, Any], begun: RunConfig) -> dict[str, Any]:
    """The whole list, where it differs: each by its name, or with the knobs that are not at their defaults."""
    entries: list[Any] = []
    try:
        chosen = tuple(Choice.of(section, one) for one in sections[section.name])
    except (ValueError, ImportError):
        return {}
    for one in chosen:
        usual = type(one.knobs).model_fields
        moved = {k: v for k, v in one.as_dict().items() if k != "name" and one.values[k] != usual[k].default}
        entries.append({"name": one.name, **moved} if moved else one.name)
    return {} if chosen == getattr(begun, section.name) else {section.name: entries}


def _word(path: str, value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml_reader.dump(value, default_flow_style=True, width=10**9).strip()
    return f"{path}={text.removesuffix('...').strip()}"
