"""All settings: the whole form with a search, and what trains besides this one run."""

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
"""Where each section stands in the form."""
APPLIED, SET = "form filled from", "form set"
"""In the session's state: the configuration that the answers asked for when the form was last filled, and what the form
changes in it, as words."""


@dataclass(frozen=True)
class Asked:
    """config: None while something is wrong. swept: the knob of a sweep, or None, and its values. devices: of this
    machine, which share the runs."""

    config: RunConfig | None
    swept: str | None = None
    values: str = ""
    devices: Sequence[str] = ()


def take() -> None:
    """Take over what another page has put into the form: all of it is then a change of the defaults."""
    filled = st.session_state.pop(knob_forms.FILLED, None)
    if filled is not None:
        st.session_state["images"], st.session_state[APPLIED] = "filled", RunConfig.of()
        st.session_state[SET] = overrides.words(overrides.sections(filled), RunConfig.of())


def draw(base: RunConfig) -> Asked:
    """Draw the fold; closed it is quick, and what was changed in it stays. base: what the answers ask for."""
    _begin_from(base)
    knob_forms.update_defaults()
    read = {name: knob_forms.section_form(name, None) for name in lab.runs.SECTIONS}
    sections = {name: one for name, (one, _) in read.items()}
    wrong = {name: why for name, (_, why) in read.items() if why}
    st.session_state[SET] = overrides.words(sections, base)
    changes = f" ({len(st.session_state[SET])} changed)" if st.session_state[SET] else ""
    with page_frame.expander(f"All settings{changes}", link="settings"):
        if page_frame.is_open("settings"):
            _form()
        if not address.store("set", st.session_state[SET], []):
            st.caption("There are too many changes for a link; export the YAML to share them.")
        config = _checked(sections, wrong)
        if config is None:
            return Asked(None)
        swept, values = _sweep(config)
        devices = page_frame.multiselect(
            "Devices",
            {device.name: device.words for device in machine.devices()},
            key="devices",
            link="device",
            placeholder=f"as set in the form: {config.training.knobs.device}",
            help="Several devices share the runs, one run per device at a time.",
        )
        return Asked(config, swept, values, devices)


def _begin_from(base: RunConfig) -> None:
    """Fill the form where the answers, or the address, are others: what was changed by hand stays, but for what the
    answers decide anew."""
    before = st.session_state.get(APPLIED)
    news = address.load("set", list, key=SET, many=True, default=[])
    if before == base and not news:
        return
    decided = lab.runs.difference(before, base) if before and not news else {}
    words = [w for w in st.session_state.get(SET, []) if not {p := w.partition("=")[0], f"{p}.name"} & decided.keys()]
    knob_forms.fill(overrides.applied(words, base))
    del st.session_state[knob_forms.FILLED]
    st.session_state[APPLIED] = base


def _form() -> None:
    """Draw all fields: by tabs, or those that a search finds."""
    words = page_frame.text(
        "Search the settings", key="search", most=100, placeholder="a name, or what it does"
    ).strip()
    if words:
        for name in lab.runs.SECTIONS:
            knob_forms.section_form(name, words)
        return
    page_frame.keep("tab", next(iter(TABS)), list(TABS), link="tab")
    for tab, sections in zip(st.tabs(list(TABS), key="tab", on_change="rerun"), TABS.values(), strict=True):
        with tab:
            for at, name in enumerate(sections if tab.open else ()):
                if at:
                    st.divider()
                knob_forms.heading(name)
                knob_forms.section_form(name)


def _checked(sections: dict[str, Any], wrong: dict[str, str]) -> RunConfig | None:
    """The configuration, or None with the sentences that say why there is none."""
    if not wrong:
        try:
            return settings.confine(RunConfig.of(sections))
        except ValueError as error:
            wrong = {"": str(error)}
    st.subheader("Not yet complete", anchor=False)
    for name, sentence in wrong.items():
        tab = next((t for t, names in TABS.items() if name in names), "")
        st.warning(f"**{tab}** {page_frame.as_text(sentence)}" if tab else page_frame.as_text(sentence))
    return None


def _sweep(config: RunConfig) -> tuple[str | None, str]:
    """A setting and the values that it takes in turn, each in a run of its own."""
    knobs = queueing.single_knobs(config)
    page_frame.keep("grid knob", None, knobs, link="grid")
    look: dict[str, Any] = {"index": None, "placeholder": "none", "persist_state": "session"}
    path = st.selectbox(
        "Sweep over a setting", knobs, key="grid knob", help="A run for each of several values.", **look
    )
    look = {"placeholder": "0.01, 0.05, 0.1", "disabled": path is None}
    return path, page_frame.text("Values", key="grid values", link="values", **look)
