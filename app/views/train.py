"""Train: a configuration from a form, checked while it is filled in, looked at before it is queued."""

from __future__ import annotations

import shlex
from typing import Any

import streamlit as st
import yaml

from app import devices, flights, forms, frame, queueing, settings
from lab.runs import SECTIONS, RunConfig
from lab.runs.config import presets, read_yaml

# Where each section stands in the form.
TABS = {
    "Data": ("data", "augmentation", "testing"),
    "Encoder": ("encoder",),
    "Loss": ("loss", "wrappers"),
    "Batches": ("sampler",),
    "Optimiser": ("optimiser", "schedule"),
    "Training": ("training",),
    "Evaluation": ("metrics", "evaluation"),
}

MAX_FILE = 1  # megabytes of an imported configuration
MARKS = {"good": ":material/check_circle:", "careful": ":material/info:", "bad": ":material/cancel:"}


@frame.page("Train", "Choose what to train, look before you start, and put it into the queue.")
def train() -> None:
    with st.sidebar:
        _presets()
        _import()
    form, plan = st.columns([3, 2], gap="large")
    with form:
        asked, wrong = _form()
    with plan:
        config = _checked(asked, wrong)
        if config:
            _plan(config)
        else:
            queueing.panel()


def _presets() -> None:
    names = list(presets())
    st.selectbox(
        "Start from a preset",
        names,
        index=None,
        key="preset",
        placeholder="keep what is there",
        format_func=lambda name: name.replace("_", " "),
        on_change=lambda: _fill_from(st.session_state["preset"]),
        help="From the papers, and for small machines. It replaces the whole form.",
    )
    if st.session_state.get("preset"):
        st.caption(frame.as_text(_purpose(st.session_state["preset"])))


def _purpose(name: str) -> str:
    """The words at the head of a preset's file."""
    lines = presets()[name].read_text("utf-8").splitlines()
    return " ".join(line.lstrip("# ") for line in lines[:4] if line.startswith("#"))


def _fill_from(source: str | None) -> None:
    if source:
        forms.fill(RunConfig.of(read_yaml(source)))


def _import() -> None:
    given = st.file_uploader(
        "Import a configuration", type=["yaml", "yml"], max_upload_size=MAX_FILE, key="imported", help="A YAML file."
    )
    if given is None or st.session_state.get("import done") == given.file_id:
        return
    st.session_state["import done"] = given.file_id
    try:
        read = yaml.safe_load(given.getvalue().decode("utf-8"))
        forms.fill(RunConfig.of(read if isinstance(read, dict) else {"a file": read}))
    except (yaml.YAMLError, UnicodeDecodeError):
        st.error("The file is no valid YAML; export one from here to see what it should look like.")
    except ValueError as error:
        frame.say_error(error)


def _form() -> tuple[dict[str, Any], dict[str, str]]:
    """Draw the form; returns what it asks for and, by section, what is wrong with it."""
    forms.settle()
    asked, wrong = {}, {}
    for tab, sections in zip(st.tabs(list(TABS)), TABS.values(), strict=True):
        with tab:
            for at, name in enumerate(sections):
                if at:
                    st.divider()
                if SECTIONS[name].package is None:
                    st.caption(f"{name}: {SECTIONS[name].help}")
                asked[name], sentence = forms.section_form(name)
                if sentence:
                    wrong[name] = sentence
                    frame.say_error(sentence)
    return asked, wrong


def _checked(asked: dict[str, Any], wrong: dict[str, str]) -> RunConfig | None:
    """The configuration, or None with the sentences that say why there is none."""
    if not wrong:
        try:
            return RunConfig.of(asked)
        except ValueError as error:
            wrong = {"": str(error)}
    st.subheader("Not yet complete", anchor=False)
    for name, sentence in wrong.items():
        tab = next((t for t, sections in TABS.items() if name in sections), "")
        st.warning(f"**{tab}** {frame.as_text(sentence)}" if tab else frame.as_text(sentence))
    return None


def _plan(config: RunConfig) -> None:
    name = st.text_input("Name of the run", key="name", placeholder="by default: time, loss and data", max_chars=100)
    words = ["lab", "train", *(["--name", name] if name else []), *config.flags()]
    st.caption("The same from a terminal")
    st.code(shlex.join([*words, "--runs", str(settings.runs_root())]), language="bash", wrap_lines=True)
    with st.expander("As YAML"):
        st.code(config.as_yaml(), language="yaml", height=320)
        st.download_button("Export", config.as_yaml(), "config.yaml", "application/yaml", icon=":material/download:")
    _preflight(config)
    _queue(config, name)


def _queue(config: RunConfig, name: str) -> None:
    with st.expander("A run for each value of a knob"):
        path = st.selectbox("Knob", queueing.single_knobs(config), index=None, key="grid knob", placeholder="none")
        values = st.text_input("Values", key="grid values", placeholder="0.01, 0.05, 0.1", disabled=path is None)
    known = {device.name: device.words for device in devices.devices()}
    chosen = st.multiselect(
        "Devices",
        list(known),
        key="devices",
        format_func=lambda one: known.get(one, one),
        placeholder=f"as configured: {config.training.knobs.device}",
        help="Several: the runs go round them. One run a device at a time.",
    )
    if st.button("Put into the queue", type="primary", icon=":material/playlist_add:", width="stretch"):
        configs = queueing.grid(config, path, values) if path else {"": config}
        made = queueing.enqueue(configs, name, chosen)
        st.toast(f"{len(made)} run{'s wait' if len(made) > 1 else ' waits'}: {frame.as_text(', '.join(made[:3]))}")
    queueing.panel()


def _preflight(config: RunConfig) -> None:
    flight: flights.Flight | None = st.session_state.get("flight")
    busy = flight is not None and not flight.done
    if st.button(
        "Pre-flight", icon=":material/flight_takeoff:", disabled=busy, help="Data, memory, gradients and pace"
    ):
        st.session_state["flight"] = flight = flights.start(config)
    if flight:
        _follow_flight(config.as_yaml())


@st.fragment(run_every=1.0)
@frame.guarded
def _follow_flight(asked: str) -> None:
    flight: flights.Flight = st.session_state["flight"]
    if flight.asked != asked:
        st.caption("The form has changed since this pre-flight; look again before you queue it.")
    for check in flight.checks:
        st.markdown(f"{MARKS.get(check['verdict'], '')} **{check['name']}** {frame.as_text(check['sentence'])}")
    if not flight.done:
        st.caption(":material/progress_activity: looking ...")


train()
