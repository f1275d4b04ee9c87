"""One form builder: declared knobs in, widgets out, a configuration back. No page knows any knob by name.

The state of every widget lives under `form.SECTION.ENTRY.KNOB`, so a preset and a cloned run are put into the form by
writing that state.
"""

import importlib
import re
from typing import Any

import streamlit as st

from app.forms import knob_labels
from app.shared import page_frame
from lab.core.knobs import Knob, describe
from lab.core.knobs.labels import entry_in_words
from lab.runs import SECTIONS, RunConfig
from lab.runs.config import Choice, Section, derived_knobs, word

ROOT = "form"
FILLED = "form filled"
"""In the session's state: the configuration that somebody put into the form, until the Train page has taken it."""
COLUMNS = 3
TYPING = "400ms"
"""A pause in typing after which what was typed is checked."""


def fill(config: RunConfig) -> None:
    """Put a configuration into the form."""
    st.session_state[FILLED] = config
    st.session_state.pop(f"{ROOT} defaults", None)  # nothing of it is to follow another choice
    for name, chosen in config:
        section = SECTIONS[name]
        if section.many:
            st.session_state[f"{ROOT}.{name}"] = [one.name for one in chosen]
        elif section.package:
            st.session_state[f"{ROOT}.{name}"] = chosen.name
        for one in chosen if section.many else (chosen,):
            for knob in open_knobs(section, one.name):
                st.session_state[_key(section, one.name, knob)] = widget_value(knob, getattr(one.knobs, knob.name))


def settle() -> None:
    """Let a choice in one section move the defaults of another (a loss that wants free lengths, an encoder's).

    Only knobs that still stand at their old default move. Call it before the form is drawn.
    """
    state = {name: st.session_state.get(f"{ROOT}.{name}") for name in SECTIONS}
    names = {name: one if isinstance(one, list) else {"name": one} for name, one in state.items() if one}
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
        for knob in open_knobs(SECTIONS[name], chosen.name):
            key = _key(SECTIONS[name], chosen.name, knob)
            was, value = (widget_value(knob, getattr(one.knobs, knob.name)) for one in (old, chosen))
            if was != value and st.session_state.get(key) == was:
                st.session_state[key] = value
    st.session_state[f"{ROOT} defaults"] = (names, now)


def section_form(name: str, words: str | None = "") -> tuple[Any, str]:
    """Draw a section; returns what it asks for, as YAML would hold it, and the sentence against it ("" when legal).

    words: of a search, which draws what it finds; None draws nothing, and reads what stands in the form.
    """
    section = SECTIONS[name]
    values: Any = _many_form(section, words) if section.many else _single_form(section, words)
    try:
        for one in values if section.many else (values,):
            Choice.of(section, one)
    except (ValueError, ImportError) as error:
        return values, str(error)
    return values, ""


def found(words: str, *texts: str) -> bool:
    """Whether every word of a search stands somewhere in some texts."""
    return all(word in " ".join(texts).lower() for word in words.lower().replace("_", " ").split())


def offered(package: str) -> list[str]:
    """The entries of a catalogued package that can be chosen; those that cannot are named, each with why."""
    catalog = importlib.import_module(package)
    broken = catalog.broken()
    for sentence in broken.values():
        st.caption(page_frame.as_text(f"Cannot be chosen: {sentence}"))
    return [name for name in catalog.names() if name not in broken]


def _single_form(section: Section, words: str | None) -> dict[str, Any]:
    if not section.package:
        return _knob_grid(section, None, words)
    key = f"{ROOT}.{section.name}"
    chosen = st.session_state.get(key, section.default)
    title, sentence = _title(section)
    if words is not None and found(words, title, sentence, section.name):
        look: dict[str, Any] = {"help": sentence, "format_func": entry_in_words}
        chosen = page_frame.select(title, offered(str(section.package)), key=key, initial=section.default, **look)
    return {"name": chosen, **_knob_grid(section, chosen, words)}


def _many_form(section: Section, words: str | None) -> list[dict[str, Any]]:
    names, key = importlib.import_module(str(section.package)).names(), f"{ROOT}.{section.name}"
    st.session_state[key] = [name for name in st.session_state.get(key, section.default) if name in names]
    title, sentence = _title(section)
    chosen = st.session_state[key]
    if words is not None and found(words, title, sentence, section.name):
        names = offered(str(section.package))
        chosen = page_frame.several(title, names, key=key, help=sentence, format_func=entry_in_words)
    entries = []
    for name in chosen:
        if words == "" and open_knobs(section, name):
            st.caption(entry_in_words(name))
        entries.append({"name": name, **_knob_grid(section, name, words)})
    return entries


def _title(section: Section) -> tuple[str, str]:
    return knob_labels.TITLES.get(section.name, (entry_in_words(section.name), section.help))


def heading(name: str) -> None:
    """What a section is called, and what it decides; a section that chooses an entry has that as its label already."""
    title, sentence = _title(SECTIONS[name])
    if SECTIONS[name].package is None:
        st.markdown(f"**{title}**")
    st.caption(sentence)


def _knob_grid(section: Section, entry: str | None, words: str | None) -> dict[str, Any]:
    """The knobs of one entry, three a row, those that matter most first."""
    knobs = knob_labels.ordered(section.name, open_knobs(section, entry))
    drawn, values = [], {}
    for knob in knobs:
        texts = knob_labels.label(section.name, knob), knob.name.replace("_", " "), section.name, knob.help
        if words is not None and found(words, *texts):
            drawn.append(knob)
        state = _state(knob, _key(section, entry, knob))
        as_it_stands = _options(knob) or (knob.kind is bool and not knob.many)
        values[knob.name] = state if as_it_stands else _parsed(knob, state)
    for row in (drawn[at : at + COLUMNS] for at in range(0, len(drawn), COLUMNS)):
        for column, knob in zip(st.columns(COLUMNS, vertical_alignment="bottom"), row, strict=False):
            with column:
                values[knob.name] = knob_widget(knob, _key(section, entry, knob), section.name)
    return {name: value for name, value in values.items() if value is not MISSING}


def _state(knob: Knob, key: str) -> Any:
    """Where a knob's widget stands, or would stand when it is first drawn."""
    return st.session_state.get(key, widget_value(knob, None if knob.required else knob.default))


def open_knobs(section: Section, entry: str | None) -> list[Knob]:
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
    page_frame.keep(key, _state(knob, key))  # not set with each run, which would take back what is being typed
    common: dict[str, Any] = {"key": key, "help": help_text(knob, section), "persist_state": "session"}
    title = knob_labels.label(section, knob)
    options = _options(knob)
    if options:
        none = knob.none_in_words
        named = lambda value: none if value is None else word(value)  # noqa: E731
        return st.selectbox(title, options, format_func=named, placeholder=none, **common)
    if knob.kind is bool and not knob.many:
        return st.toggle(title, **common)
    # Numbers are typed, too: 3e-5 reads better than a field of decimals, and only text is checked while it is typed.
    empty = "needed" if knob.required else f"default {widget_value(knob, knob.default)}"
    empty = knob.none_in_words if knob.optional else empty
    return _parsed(knob, st.text_input(title, placeholder=empty, live=TYPING, **common))


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
    return ", ".join(map(_number, value)) if knob.many else _number(value)


def _parsed(knob: Knob, text: str) -> Any:
    """The value in a text field; text that is no number is handed on, so that the declaration's sentence names it."""
    text = text.strip()
    if not text:
        return None if knob.optional else MISSING
    if not knob.many:
        return _as(knob.kind, text)
    return tuple(_as(knob.kind, word) for word in re.split(r"[,\s]+", text.strip("()[] ")) if word)


def _as(kind: type, word: str) -> Any:
    try:
        return word.lower() in ("true", "yes", "1") if kind is bool else kind(word)
    except ValueError:
        return word


def _number(value: Any) -> str:
    """As short as it can be without being another number: 1.0 is written 1."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)


def help_text(knob: Knob, section: str = "") -> str:
    """What a knob does, what it may be, where it comes from, and what commands and files call it."""
    unit = f"Unit: {knob.unit}" if knob.unit else ""
    legal = f"Range: {knob.range}" if "any " not in knob.range else ""
    name = f"In commands and files: `{section}.{knob.name}`" if section else ""
    return ". ".join(part.rstrip(".") for part in (knob.help, unit, legal, knob.source, name) if part) + "."
