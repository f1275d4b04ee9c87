"""What a configuration changes in another, as few words: `loss=contrastive`, `loss.margin=0.3`, values as in YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from lab.core.knobs import describe
from lab.runs.config import SECTIONS, Choice, RunConfig, Section, parse_yaml, read_yaml


@cache
def base(name: str | None) -> RunConfig:
    """A preset or recipe, else the defaults; the paths that everybody has to give are empty."""
    sections = read_yaml(name) if name else {}
    return RunConfig.of({n: _complete(SECTIONS[n], chosen) for n, chosen in sections.items()})


def words(wanted: Mapping[str, Any], begun: RunConfig) -> list[str]:
    """What is asked for beyond a configuration; what is illegal in it is left out.

    Args:
        wanted: every section as YAML would hold it, with all its knobs.
    """
    all_words = []
    for name, section in SECTIONS.items():
        if section.package and not section.many and wanted[name]["name"] != getattr(begun, name).name:
            begun = _changed(begun, name, wanted[name]["name"])
            all_words.append(_word(name, wanted[name]["name"]))
    for name, section in SECTIONS.items():
        if section.many:
            all_words += _of_many(section, wanted[name], getattr(begun, name))
        else:
            now = getattr(begun, name)
            moved = {k: v for k, v in wanted[name].items() if k != "name" and v != now.values[k]}
            all_words += [_word(f"{name}.{k}", v) for k, v in moved.items() if _legal(section, now.as_dict() | {k: v})]
    return all_words


def applied(all_words: Sequence[str], begun: RunConfig) -> RunConfig:
    """A configuration with the changes that `words` tells; those that are illegal are ignored."""
    for word in all_words:
        path, _, text = word.partition("=")
        try:
            begun = _changed(begun, path, parse_yaml(f"value: {text}", word).get("value"))
        except (ValueError, ImportError):
            continue
    return begun


def _changed(config: RunConfig, path: str, value: Any) -> RunConfig:
    return config.changed(path, _complete(SECTIONS[path], value) if path in SECTIONS else value)


def _complete(section: Section, value: Any) -> Any:
    """A section with empty texts where there is no default: somebody still has to type them."""
    if section.many or not section.package or not isinstance(value, str | dict):
        return value
    entry = {"name": value} if isinstance(value, str) else value
    knobs = describe(section.knobs_of(entry.get("name", section.default)))
    return {knob.name: "" for knob in knobs if knob.required and knob.kind is str} | entry


def _of_many(section: Section, wanted: Any, now: tuple[Choice, ...]) -> list[str]:
    """The whole list, where it differs: each by its name, or with the knobs that are not at their defaults."""
    try:
        chosen = tuple(Choice.of(section, one) for one in wanted)
    except (ValueError, ImportError):
        return []
    return [] if chosen == now else [_word(section.name, [_short(one) for one in chosen])]


def _short(choice: Choice) -> Any:
    fields = type(choice.knobs).model_fields
    moved = {k: v for k, v in choice.as_dict().items() if k != "name" and choice.values[k] != fields[k].default}
    return {"name": choice.name, **moved} if moved else choice.name


def _legal(section: Section, value: Any) -> bool:
    try:
        Choice.of(section, value)
    except (ValueError, ImportError):
        return False
    return True


def _word(path: str, value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9).strip()
    return f"{path}={text.removesuffix('...').strip()}"
