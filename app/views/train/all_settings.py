"""The form with all settings, a search, sweeps and devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

import lab.runs
from app.forms import knob_forms
from app.shared import address, page_frame, queueing, settings
from lab.core import machine
from lab.runs import RunConfig
from lab.runs.building import overrides

TABS = {
    "Data": ("data", "augmentation", "testing"),
    "Encoder": ("encoder",),
    "Loss": ("loss", "wrappers"),
    "Batches": ("sampler",),
    "Optimiser": ("optimiser", "schedule"),
    "Training": ("training",),
    "Evaluation": ("metrics", "evaluation"),
}
"""Tab to its sections."""

APPLIED = "form filled from"
"""Session key of the configuration of the answers when the form was last filled."""

SET = "form set"
"""Session key of the changes of the form to that configuration, as words."""


@dataclass(frozen=True)
class FormResult:
    """The result of the form.

    config: None while a setting is illegal. swept, values: the parameter of a sweep, if any, and its values.
    devices: of this machine, which share the runs.
    """

    config: RunConfig | None
    swept: str | None = None
    values: str = ""
    devices: Sequence[str] = ()


def take() -> None:
    """Read the configuration that another page has put into the form, as changes of the default configuration."""
    filled = st.session_state.pop(knob_forms.FILLED, None)
    if filled is not None:
        st.session_state["images"] = "filled"
        st.session_state[APPLIED] = RunConfig.of()
        st.session_state[SET] = overrides.words(overrides.sections(filled), RunConfig.of())


def draw(base: RunConfig) -> FormResult:
    """Draw the form in an expander. base: configuration of the answers to the questions."""
    _fill(base)
    knob_forms.update_defaults()

    # Read the form without drawing it, because it may be closed.
    sections = {}
    errors = {}
    for name in lab.runs.SECTIONS:
        sections[name], error = knob_forms.section_form(name, None)
        if error:
            errors[name] = error
    changes = overrides.words(sections, base)
    st.session_state[SET] = changes
    label = f"All settings ({len(changes)} changed)" if changes else "All settings"
    with page_frame.expander(label, link="settings"):
        if page_frame.is_open("settings"):
            _draw_form()
        if not address.store("set", changes, []):
            st.caption("There are too many changes for a link; export the YAML to share them.")
        config = _checked(sections, errors)
        if config is None:
            return FormResult(None)
        swept, values = _sweep(config)
        devices = page_frame.multiselect(
            "Devices",
            {device.name: device.words for device in machine.devices()},
            key="devices",
            link="device",
            placeholder=f"as set in the form: {config.training.knobs.device}",
            help="Several devices share the runs, one run per device at a time.",
        )
        return FormResult(config, swept, values, devices)


def _fill(base: RunConfig) -> None:
    """Fill the form if the answers or the URL have changed.

    Changes by the user are kept, unless new answers set the same setting.
    """
    before = st.session_state.get(APPLIED)
    is_new_url = address.load("set", list, key=SET, many=True, default=[])
    if before == base and not is_new_url:
        return
    set_by_answers = set()
    if before and not is_new_url:
        set_by_answers = set(lab.runs.difference(before, base))
    kept = []
    for change in st.session_state.get(SET, []):
        path, _, _ = change.partition("=")
        if path not in set_by_answers and f"{path}.name" not in set_by_answers:
            kept.append(change)
    knob_forms.fill(overrides.applied(kept, base))
    del st.session_state[knob_forms.FILLED]
    st.session_state[APPLIED] = base


def _draw_form() -> None:
    """Draw all fields in tabs, or the fields that match a search."""
    words = page_frame.text(
        "Search the settings", key="search", most=100, placeholder="a name, or what it does"
    ).strip()
    if words:
        for name in lab.runs.SECTIONS:
            knob_forms.section_form(name, words)
        return
    page_frame.keep("tab", next(iter(TABS)), list(TABS), link="tab")
    for tab, sections in zip(
        st.tabs(list(TABS), key="tab", on_change="rerun"), TABS.values(), strict=True
    ):
        with tab:
            if not tab.open:
                continue
            for index, name in enumerate(sections):
                if index > 0:
                    st.divider()
                knob_forms.heading(name)
                knob_forms.section_form(name)


def _checked(sections: dict[str, Any], errors: dict[str, str]) -> RunConfig | None:
    """Return the configuration, or draw the errors and return None."""
    if not errors:
        try:
            return settings.confine(RunConfig.of(sections))
        except ValueError as error:
            errors = {"": str(error)}
    st.subheader("Not yet complete", anchor=False)
    for name, sentence in errors.items():
        words = page_frame.as_text(sentence)
        for tab, names in TABS.items():
            if name in names:
                words = f"**{tab}** {words}"
        st.warning(words)
    return None


def _sweep(config: RunConfig) -> tuple[str | None, str]:
    """Choose the setting of a sweep and its values. Each value is a run."""
    paths = queueing.single_knobs(config)
    page_frame.keep("grid knob", None, paths, link="grid")
    path = st.selectbox(
        "Sweep over a setting",
        paths,
        key="grid knob",
        help="A run for each of several values.",
        index=None,
        placeholder="none",
        persist_state="session",
    )
    placeholder = "0.01, 0.05, 0.1"
    values = page_frame.text(
        "Values", key="grid values", link="values", placeholder=placeholder, disabled=path is None
    )
    return path, values
