"""One form builder: declared knobs in, widgets out, a configuration back. No page knows any knob by name.

The state of every widget lives under `form.SECTION.ENTRY.KNOB`, so a preset, an imported file and a cloned run are
all put into the form by writing that state.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.forms import knob_labels
from app.shared import page_frame
from lab.core.knobs import Knob, describe
from lab.core.knobs.labels import entry_in_words
from lab.runs import SECTIONS, RunConfig
from lab.runs.config import Choice, Section, derived_knobs, word

ROOT = "form"
COLUMNS = 3
TYPING = "400ms"
"""A pause in typing after which what was typed is checked."""
AND_SO_ON = "…"
"""Ends a number that has more decimals than are shown."""


def fill(config: RunConfig) -> None:
    """Put a configuration into the form."""
    st.session_state.pop(f"{ROOT} defaults", None)  # nothing of it is to follow another choice
    for name, chosen in config:
        section = SECTIONS[name]
        if section.many:
            st.session_state[f"{ROOT}.{name}"] = [one.name for one in chosen]
        elif section.package:
            st.session_state[f"{ROOT}.{name}"] = chosen.name
        for one in chosen if section.many else (chosen,):
            for knob in _open_knobs(section, one.name):
                st.session_state[_key(section, one.name, knob)] = widget_value(knob, getattr(one.knobs, knob.name))


def fill_from(sections: Mapping[str, Any]) -> None:
    """Put what a file says into the form. What a person has to give, such as the folder of the images, may be left
    out: it stays as it stands in the form.

    Raises:
        ValueError: an unknown section, name or knob, or a value out of range.
    """
    filled = dict(sections)
    for name, section in SECTIONS.items():
        chosen = filled.get(name)
        if section.package and not section.many and isinstance(chosen, str | dict):
            entry = {"name": chosen} if isinstance(chosen, str) else chosen
            filled[name] = _still_needed(section, str(entry.get("name", section.default))) | entry
    fill(RunConfig.of(filled))


def _still_needed(section: Section, entry: str) -> dict[str, str]:
    """The texts without a default, as they stand in the form."""
    needed = (knob for knob in _open_knobs(section, entry) if knob.required and knob.kind is str)
    return {knob.name: st.session_state.get(_key(section, entry, knob)) or "" for knob in needed}


def settle() -> None:
    """Let a choice in one section move the defaults of another (a loss that wants free lengths, an encoder's).

    Only knobs that still stand at their old default move. Call it before the form is drawn.
    """
    names = _names()
    before: Any = st.session_state.get(f"{ROOT} defaults")
    if before and before[0] == names:
        return
    try:
        now = RunConfig.of(names)
    except (ValueError, ImportError):  # something required has no default; nothing can be said about the others
        return
    for name, chosen in now if before else ():
        old = getattr(before[1], name)
        if isinstance(chosen, tuple) or chosen.name != old.name:
            continue
        for knob in _open_knobs(SECTIONS[name], chosen.name):
            key = _key(SECTIONS[name], chosen.name, knob)
            was, value = (widget_value(knob, getattr(one.knobs, knob.name)) for one in (old, chosen))
            if was != value and st.session_state.get(key) == was:
                st.session_state[key] = value
    st.session_state[f"{ROOT} defaults"] = (names, now)


def _names() -> dict[str, Any]:
    """What is chosen in every section, without its knobs."""
    state = ((name, st.session_state.get(f"{ROOT}.{name}")) for name in SECTIONS)
    return {name: chosen if isinstance(chosen, list) else {"name": chosen} for name, chosen in state if chosen}


def section_form(name: str) -> tuple[Any, str]:
    """Draw a section; returns what it asks for, as YAML would hold it, and the sentence against it ("" when legal)."""
    section = SECTIONS[name]
    values = _many_form(section) if section.many else _single_form(section)
    return values, problem(section, values)


def problem(section: Section, values: Any) -> str:
    """What is wrong with a section, in a sentence."""
    try:
        for one in values if section.many else (values,):
            Choice.of(section, one)
    except (ValueError, ImportError) as error:
        return str(error)
    return ""


def offered(package: str) -> list[str]:
    """The entries of a catalogued package that can be chosen; those that cannot are named, each with why."""
    catalog = importlib.import_module(package)
    broken = catalog.broken()
    for sentence in broken.values():
        st.caption(page_frame.as_text(f"Cannot be chosen: {sentence}"))
    return [name for name in catalog.names() if name not in broken]


def _single_form(section: Section) -> dict[str, Any]:
    if not section.package:
        return _knob_grid(section, None)
    names = offered(str(section.package))
    title, sentence = _title(section)
    look: dict[str, Any] = {"help": sentence, "format_func": entry_in_words}
    chosen = page_frame.select(title, names, key=f"{ROOT}.{section.name}", initial=section.default, **look)
    return {"name": chosen, **_knob_grid(section, chosen)}


def _many_form(section: Section) -> list[dict[str, Any]]:
    names = offered(str(section.package))
    key = f"{ROOT}.{section.name}"
    st.session_state[key] = [name for name in st.session_state.get(key, section.default) if name in names]
    title, sentence = _title(section)
    chosen = page_frame.several(title, names, key=key, help=sentence, format_func=entry_in_words)
    entries = []
    for name in chosen:
        if _open_knobs(section, name):
            st.caption(entry_in_words(name))
        entries.append({"name": name, **_knob_grid(section, name)})
    return entries


def _title(section: Section) -> tuple[str, str]:
    return knob_labels.TITLES.get(section.name, (entry_in_words(section.name), section.help))


def heading(name: str) -> None:
    """What a section is called, and what it decides; a section that chooses an entry has that as its label already."""
    title, sentence = _title(SECTIONS[name])
    if SECTIONS[name].package is None:
        st.markdown(f"**{title}**")
    st.caption(sentence)


def _knob_grid(section: Section, entry: str | None) -> dict[str, Any]:
    """The knobs of one entry, three a row; those that few people need behind a fold that counts what was changed."""
    first, rest = knob_labels.first_and_rest(section.name, _open_knobs(section, entry))
    values = _grid(section, entry, first)
    if rest:
        moved = sum(_moved(knob, _key(section, entry, knob)) for knob in rest)
        changed = f", {moved} changed" if moved else ""
        link = "-".join(filter(None, ("more", section.name, entry if section.many else None)))
        with page_frame.fold(f"More settings ({len(rest)}{changed})", link=link):
            values |= _grid(section, entry, rest)
    return {name: value for name, value in values.items() if value is not MISSING}


def _grid(section: Section, entry: str | None, knobs: Sequence[Knob]) -> dict[str, Any]:
    values = {}
    for row in (knobs[at : at + COLUMNS] for at in range(0, len(knobs), COLUMNS)):
        for column, knob in zip(st.columns(COLUMNS, vertical_alignment="bottom"), row, strict=False):
            with column:
                values[knob.name] = knob_widget(knob, _key(section, entry, knob), section.name)
    return values


def _moved(knob: Knob, key: str) -> bool:
    """Whether a knob stands elsewhere than at its default."""
    initial = widget_value(knob, None if knob.required else knob.default)
    return st.session_state.get(key, initial) != initial


def _open_knobs(section: Section, entry: str | None) -> list[Knob]:
    """The knobs that a person decides; those that follow from data and encoder are left out."""
    declared = section.knobs_of(entry)
    derived = derived_knobs(section, declared)
    return [knob for knob in describe(declared) if knob.name not in derived]


def _key(section: Section, entry: str | None, knob: Knob) -> str:
    return ".".join(filter(None, (ROOT, section.name, entry, knob.name)))


MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
"""What an empty field gives: the knob is left out and takes its default, or is said to be needed if it has none."""


def knob_widget(knob: Knob, key: str, section: str = "") -> Any:
    """Draw one knob of a section and return its value; `MISSING` when it is empty and cannot be None."""
    page_frame.keep(key, widget_value(knob, None if knob.required else knob.default))
    common: dict[str, Any] = {"key": key, "help": help_text(knob), "persist_state": "session"}
    title, name = knob_labels.label(section, knob)
    label = f"{title} :gray[{page_frame.as_text(name)}]" if name else title
    options = _options(knob)
    if options:
        none = knob.none_in_words
        named = lambda value: none if value is None else word(value)  # noqa: E731
        return st.selectbox(label, options, format_func=named, placeholder=none, **common)
    if knob.kind is bool and not knob.many:
        return st.toggle(label, **common)
    # Numbers are typed, too: 3e-5 reads better than a field of decimals, and only text is checked while it is typed.
    return _parsed(knob, st.text_input(label, placeholder=_when_empty(knob), live=TYPING, **common))


def _options(knob: Knob) -> list[Any]:
    """What a knob can be, when that is a short list."""
    if knob.many or not (knob.choices or (knob.kind is bool and knob.optional)):
        return []
    return [*([None] if knob.optional else []), *(map(knob.kind, knob.choices) if knob.choices else (True, False))]


def widget_value(knob: Knob, value: Any) -> Any:
    """A knob's value as its widget's state."""
    if _options(knob):
        return value
    if knob.kind is bool and not knob.many:
        return None if value is None else bool(value)
    if value is None:
        return ""
    write = _begun if value == knob.default else _number
    return ", ".join(map(write, value)) if knob.many else write(value)


def _parsed(knob: Knob, text: str) -> Any:
    """The value in a text field; text that is no number is handed on, so that the declaration's sentence names it."""
    text = text.strip()
    if not text:
        return None if knob.optional else MISSING
    if AND_SO_ON in text and text == widget_value(knob, knob.default):
        return knob.default
    if not knob.many:
        return _as(knob.kind, text)
    return tuple(_as(knob.kind, word) for word in re.split(r"[,\s]+", text.strip("()[] ")) if word)


def _when_empty(knob: Knob) -> str:
    """What an empty field stands for."""
    if knob.optional:
        return knob.none_in_words
    return "needed" if knob.required else f"default {widget_value(knob, knob.default)}"


def _as(kind: type, word: str) -> Any:
    try:
        return word.lower() in ("true", "yes", "1") if kind is bool else kind(word)
    except ValueError:
        return word


def _number(value: Any) -> str:
    """As short as it can be without being another number: 1.0 is written 1."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)


def _begun(value: Any) -> str:
    """A default with many decimals by its first ones; left as it is, it still stands for the whole number."""
    words = _number(value)
    long = isinstance(value, float) and len(words) > 8 and 0.1 <= abs(value) < 100
    return words[: words.index(".") + 5] + AND_SO_ON if long else words


def help_text(knob: Knob) -> str:
    """What a knob does, what it may be, and where it comes from."""
    unit = f"Unit: {knob.unit}" if knob.unit else ""
    legal = f"Range: {knob.range}" if "any " not in knob.range else ""
    return ". ".join(part.rstrip(".") for part in (knob.help, unit, legal, knob.source) if part) + "."
