"""Build a form from declared parameters and read a configuration from it. No page names a parameter.

The session key of every widget is `form.SECTION.ENTRY.PARAMETER`. A preset or a run is put into the form by writing
these keys.
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
"""Session key of a configuration that was put into the form, until the Train page has read it."""

COLUMNS = 3

TYPING = "400ms"
"""Pause in typing after which a field is checked."""


def fill(config: RunConfig) -> None:
    """Put a configuration into the form."""
    st.session_state[FILLED] = config
    # its values do not follow the defaults of other choices
    st.session_state.pop(f"{ROOT} defaults", None)
    for name, chosen in config:
        section = SECTIONS[name]
        choices = chosen if section.many else (chosen,)
        if section.many:
            st.session_state[f"{ROOT}.{name}"] = [choice.name for choice in choices]
        elif section.package:
            st.session_state[f"{ROOT}.{name}"] = chosen.name
        for choice in choices:
            for knob in open_knobs(section, choice.name):
                value = getattr(choice.knobs, knob.name)
                st.session_state[_key(section, choice.name, knob)] = widget_value(knob, value)


def update_defaults() -> None:
    """Update defaults that depend on the choice in another section. For example, some losses need no normalisation.

    Only parameters that still have their old default change. Call this before the form is drawn.
    """
    names: dict[str, Any] = {}
    for name in SECTIONS:
        chosen = st.session_state.get(f"{ROOT}.{name}")
        if chosen:
            names[name] = chosen if isinstance(chosen, list) else {"name": chosen}
    before: Any = st.session_state.get(f"{ROOT} defaults")
    if before and before[0] == names:
        return
    try:
        config = RunConfig.of(names)
    except (ValueError, ImportError):  # a required parameter has no default yet
        return
    if before:
        _move_defaults(before[1], config)
    st.session_state[f"{ROOT} defaults"] = (names, config)


def _move_defaults(before: RunConfig, after: RunConfig) -> None:
    """Replace each value in the form that is a default of `before` by the default of `after`."""
    for name, choice in after:
        if isinstance(choice, tuple) or choice.name != getattr(before, name).name:
            continue
        for knob in open_knobs(SECTIONS[name], choice.name):
            key = _key(SECTIONS[name], choice.name, knob)
            old = widget_value(knob, getattr(getattr(before, name).knobs, knob.name))
            new = widget_value(knob, getattr(choice.knobs, knob.name))
            if old != new and st.session_state.get(key) == old:
                st.session_state[key] = new


def section_form(name: str, words: str | None = "") -> tuple[Any, str]:
    """Draw a section and return its values, as in a YAML file, and an error message, which is "" for legal values.

    words: words of a search, which limits what is drawn. None draws nothing and only reads the values.
    """
    section = SECTIONS[name]
    values: Any
    if section.many:
        values = _many_form(section, words)
        entries = values
    else:
        values = _single_form(section, words)
        entries = [values]
    try:
        for entry in entries:
            Choice.of(section, entry)
    except (ValueError, ImportError) as error:
        return values, str(error)
    return values, ""


def matches(words: str, *texts: str) -> bool:
    """Return whether some text contains each word of a search."""
    text = " ".join(texts).lower()
    return all(word in text for word in words.lower().replace("_", " ").split())


def available(package: str) -> list[str]:
    """Return the entries of a catalogued package that can be chosen. For the others, draw the reason."""
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
    if words is not None and matches(words, title, sentence, section.name):
        entries = available(str(section.package))
        kwargs: dict[str, Any] = {"help": sentence, "format_func": entry_in_words}
        chosen = page_frame.select(title, entries, key=key, initial=section.default, **kwargs)
    return {"name": chosen, **_knob_grid(section, chosen, words)}


def _many_form(section: Section, words: str | None) -> list[dict[str, Any]]:
    names = importlib.import_module(str(section.package)).names()
    key = f"{ROOT}.{section.name}"
    st.session_state[key] = [
        name for name in st.session_state.get(key, section.default) if name in names
    ]
    title, sentence = _title(section)
    chosen = st.session_state[key]
    if words is not None and matches(words, title, sentence, section.name):
        names = available(str(section.package))
        chosen = page_frame.multiselect(
            title, names, key=key, help=sentence, format_func=entry_in_words
        )
    entries = []
    for name in chosen:
        if words == "" and open_knobs(section, name):
            st.caption(entry_in_words(name))
        entries.append({"name": name, **_knob_grid(section, name, words)})
    return entries


def _title(section: Section) -> tuple[str, str]:
    return knob_labels.TITLES.get(section.name, (entry_in_words(section.name), section.help))


def heading(name: str) -> None:
    """Draw the title and description of a section. If the section chooses an entry, the title is already its label."""
    title, sentence = _title(SECTIONS[name])
    if SECTIONS[name].package is None:
        st.markdown(f"**{title}**")
    st.caption(sentence)


def _knob_grid(section: Section, entry: str | None, words: str | None) -> dict[str, Any]:
    """Draw the parameters of an entry that match a search, the most important first, and return all values."""
    drawn = []
    values = {}
    for knob in knob_labels.ordered(section.name, open_knobs(section, entry)):
        label = knob_labels.label(section.name, knob)
        if words is not None and matches(
            words, label, knob.name.replace("_", " "), section.name, knob.help
        ):
            drawn.append(knob)
        state = _state(knob, _key(section, entry, knob))
        is_text = not _options(knob) and (knob.kind is not bool or knob.many)
        values[knob.name] = _parsed(knob, state) if is_text else state

    for start in range(0, len(drawn), COLUMNS):
        columns = st.columns(COLUMNS, vertical_alignment="bottom")
        for column, knob in zip(columns, drawn[start : start + COLUMNS], strict=False):
            with column:
                values[knob.name] = knob_widget(knob, _key(section, entry, knob), section.name)
    return {name: value for name, value in values.items() if value is not MISSING}


def _state(knob: Knob, key: str) -> Any:
    """Return the state of a parameter's widget, also before it is drawn."""
    default = None if knob.required else knob.default
    return st.session_state.get(key, widget_value(knob, default))


def open_knobs(section: Section, entry: str | None) -> list[Knob]:
    """Return the parameters that the user sets, without those that follow from data and encoder."""
    declared = section.knobs_of(entry)
    derived = derived_knobs(section, declared)
    return [knob for knob in describe(declared) if knob.name not in derived]


def _key(section: Section, entry: str | None, knob: Knob) -> str:
    return ".".join(filter(None, (ROOT, section.name, entry, knob.name)))


MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
"""The value of an empty field. The parameter gets its default, or an error message if it has none."""


def knob_widget(knob: Knob, key: str, section: str = "") -> Any:
    """Draw a parameter and return its value, or `MISSING` if the field is empty and the value cannot be None."""
    # setting it in each run would undo what the user is typing
    page_frame.keep(key, _state(knob, key))

    # A list of options, a switch, or a field of text.
    common: dict[str, Any] = {
        "key": key,
        "help": help_text(knob, section),
        "persist_state": "session",
    }
    title = knob_labels.label(section, knob)
    options = _options(knob)
    if options:
        none = knob.none_in_words

        def option_label(value: Any) -> str:
            return none if value is None else word(value)

        return st.selectbox(title, options, format_func=option_label, placeholder=none, **common)
    if knob.kind is bool and not knob.many:
        return st.toggle(title, **common)
    # Numbers are text fields, too: 3e-5 is readable there, and Streamlit checks only text while it is typed.
    if knob.optional:
        placeholder = knob.none_in_words
    elif knob.required:
        placeholder = "required"
    else:
        placeholder = f"default {widget_value(knob, knob.default)}"
    return _parsed(knob, st.text_input(title, placeholder=placeholder, live=TYPING, **common))


def _options(knob: Knob) -> list[Any]:
    """Return the legal values of a parameter if they are a short list, else none."""
    if knob.many:
        return []
    options: list[Any] = []
    if knob.choices:
        options = [knob.kind(choice) for choice in knob.choices]
    elif knob.kind is bool and knob.optional:
        options = [True, False]
    if options and knob.optional:
        options.insert(0, None)
    return options


def widget_value(knob: Knob, value: Any) -> Any:
    """Convert a parameter's value to the state of its widget."""
    if _options(knob):
        return value
    if knob.kind is bool and not knob.many:
        return None if value is None else bool(value)
    if value is None:
        return ""
    if knob.many:
        return ", ".join(map(_number, value))
    return _number(value)


def _parsed(knob: Knob, text: str) -> Any:
    """Return the value of a text field. Text that is not a number is returned as it is, for the later error message."""
    text = text.strip()
    if not text:
        return None if knob.optional else MISSING
    if not knob.many:
        return _convert(knob.kind, text)
    words = re.split(r"[,\s]+", text.strip("()[] "))
    return tuple(_convert(knob.kind, word) for word in words if word)


def _convert(kind: type, word: str) -> Any:
    if kind is bool:
        return word.lower() in ("true", "yes", "1")
    try:
        return kind(word)
    except ValueError:
        return word


def _number(value: Any) -> str:
    """Format a number briefly: 1.0 is written 1."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
        return f"{value:.0f}"
    return str(value)


def help_text(knob: Knob, section: str = "") -> str:
    """Return a parameter's description, unit, range, source, and name in commands and files."""
    parts = [knob.help]
    if knob.unit:
        parts.append(f"Unit: {knob.unit}")
    if "any " not in knob.range:
        parts.append(f"Range: {knob.range}")
    parts.append(knob.source)
    if section:
        parts.append(f"In commands and files: `{section}.{knob.name}`")
    return ". ".join(part.rstrip(".") for part in parts if part) + "."
