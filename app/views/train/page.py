"""Train: a configuration from a form, checked while it is filled in, looked at before it is queued."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

import lab.papers.recipes
from app.forms import knob_forms
from app.results import run_choice
from app.shared import address, location, page_frame, queueing, settings
from app.views.train import my_images, queue_panel
from lab.runs import RunConfig
from lab.runs.building import overrides
from lab.runs.config import parse_yaml, presets, read_yaml
from lab.runs.launching import machine, preflight_process

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

MAX_NAME = 100
MAX_FILE = 1  # megabytes of an imported configuration
APPLIED = "form filled from"
"""In the session's state: the preset and the recipe that the form was last filled from."""
SET = "form set"
"""In the session's state: what the form changes in the configuration that it started from."""
MARKS = {"good": ":material/check_circle:", "careful": ":material/info:", "bad": ":material/cancel:"}


@dataclass(frozen=True)
class Scene:
    """What is to be trained. text: as YAML. refused: why it cannot have this name, or nothing."""

    config: RunConfig
    text: str
    name: str
    refused: str


@page_frame.page("Train", "Choose what to train, check it, and add it to the queue.")
def train() -> None:
    with st.sidebar:
        base = _presets()
        _import()
    if not lab.runs.list(settings.runs_root()):
        st.info("No runs yet. Begin in one of these ways, or with the form below them:")
        run_choice.offer_starts()
    form, plan = st.columns([3, 2], gap="large")
    with form:
        my_images.panel()
        sections, wrong = _form()
    with plan:
        if st.session_state[my_images.OPEN]:
            st.caption("This column belongs to the form with the tabs, not to “My images”.")
        st.session_state[SET] = overrides.words(sections, base)
        if not address.tell("set", st.session_state[SET], []):
            st.caption("There are too many changes for a link; export the YAML to share them.")
        config = _checked(sections, wrong)
        if config:
            _plan(config)
        else:
            queue_panel.panel()


def _presets() -> RunConfig:
    """Ready configurations: for small machines, and one for each row that the papers print; returns the chosen one."""
    offered = (
        ("Preset", "preset", _preset_heads()),
        ("Recipe from a paper", "recipe", _recipe_heads()),
    )
    news = [address.adopt(key, str, heads, default=None) for _, key, heads in offered]
    news.append(address.adopt("set", list, key=SET, many=True, default=[]))
    if any(news):
        base = overrides.base(st.session_state.get("preset") or st.session_state.get("recipe"))
        knob_forms.fill(overrides.applied(st.session_state.get(SET, []), base))
    else:
        _fill_from_chosen()
    st.session_state[APPLIED] = _chosen()
    base = overrides.base(st.session_state.get("preset") or st.session_state.get("recipe"))
    look: dict[str, Any] = {"index": None, "placeholder": "(none)", "format_func": _title}
    look["help"] = "Replaces all settings of the form except the file paths that you entered."
    for label, key, heads in offered:
        address.tell(key, st.session_state.get(key))
        if name := st.selectbox(label, list(heads), key=key, **look):
            page_frame.say(heads[name])
    return base


@cache
def _preset_heads() -> dict[str, str]:
    """Name to the words at the head of a preset's file."""
    return {name: path.read_text("utf-8").splitlines()[0].lstrip("# ") for name, path in presets().items()}


@cache
def _recipe_heads() -> dict[str, str]:
    """Name to what a recipe says of itself: what it trains, what was published, what it costs."""
    return {name: " ".join(lab.papers.recipes.get(name).head.split()) for name in lab.papers.recipes.names()}


def _title(name: str) -> str:
    """How a list names it: a recipe by the first sentence of its head, which several may share, and its name."""
    recipe = _recipe_heads().get(name)
    return f"{recipe.partition('. ')[0].rstrip('.')} ({name})" if recipe else name.replace("_", " ")


def _chosen() -> dict[str, str | None]:
    return {key: st.session_state.get(key) for key in ("preset", "recipe")}


def _fill_from_chosen() -> None:
    """Put what was just chosen into the form. Compared with what the form was filled from, and not done when the choice
    changes: a run of the page that another one cuts short is then made up for by that one."""
    before = st.session_state.get(APPLIED, {})
    for key, name in _chosen().items():
        if name and name != before.get(key):
            knob_forms.fill_from(read_yaml(name))
            st.session_state["recipe" if key == "preset" else "preset"] = None
            return


def _import() -> None:
    look: dict[str, Any] = {"type": ["yaml", "yml"], "max_upload_size": MAX_FILE, "help": "A YAML file."}
    upload = st.file_uploader("Import a configuration", key="imported", **look)
    if upload is None or st.session_state.get("import done") == upload.file_id:
        return
    st.session_state["import done"] = upload.file_id
    try:
        knob_forms.fill_from(parse_yaml(upload.getvalue().decode("utf-8"), "The file"))
    except UnicodeDecodeError:
        st.error("This is not a YAML text file; export one from here to see what it should look like.")
    except ValueError as error:
        page_frame.say_error(error)


def _form() -> tuple[dict[str, Any], dict[str, str]]:
    """Draw the form; returns what it asks for and, by section, what is wrong with it."""
    knob_forms.settle()
    config_values, wrong = {}, {}
    page_frame.keep("tab", next(iter(TABS)), list(TABS), link="tab")
    for tab, sections in zip(st.tabs(list(TABS), key="tab", on_change="rerun"), TABS.values(), strict=True):
        with tab:
            for at, name in enumerate(sections):
                if at:
                    st.divider()
                knob_forms.heading(name)
                config_values[name], sentence = knob_forms.section_form(name)
                if sentence:
                    wrong[name] = sentence
                    page_frame.say_error(sentence)
    return config_values, wrong


def _checked(config_values: dict[str, Any], wrong: dict[str, str]) -> RunConfig | None:
    """The configuration, or None with the sentences that say why there is none."""
    if not wrong:
        try:
            return settings.confine(RunConfig.of(config_values))
        except ValueError as error:
            wrong = {"": str(error)}
    st.subheader("Not yet complete", anchor=False)
    for name, sentence in wrong.items():
        tab = next((t for t, sections in TABS.items() if name in sections), "")
        st.warning(f"**{tab}** {page_frame.as_text(sentence)}" if tab else page_frame.as_text(sentence))
    return None


def _plan(config: RunConfig) -> None:
    words = "optional; default: date-loss-data"
    name = page_frame.text("Name of the run", key="name", most=MAX_NAME, link="name", placeholder=words)
    refused = ""
    try:
        if name:
            lab.runs.check_available(settings.runs_root(), name)
    except ValueError as error:
        refused = str(error)
        page_frame.say_error(refused)
    scene = Scene(config, config.as_yaml(), name, refused)
    command = ["lab", "train", *(["--name", name] if name and not refused else []), *config.flags()]
    st.caption("Command line")
    st.code(shlex.join([*command, "--runs", str(settings.runs_root())]), language="bash", wrap_lines=True)
    with page_frame.fold("As YAML", link="yaml"):
        st.code(scene.text, language="yaml", height=320)
        page_frame.offer("Export", scene.text, "config.yaml", "application/yaml")
    _preflight(scene)
    _queue(scene)
    queue_panel.panel()


def _queue(scene: Scene) -> None:
    knobs = queueing.single_knobs(scene.config)
    page_frame.keep("grid knob", None, knobs, link="grid")
    with page_frame.fold("Sweep over a setting", link="sweep", opened=st.session_state["grid knob"] is not None):
        path = st.selectbox("Setting", knobs, index=None, key="grid knob", placeholder="none")
        look: dict[str, Any] = {"placeholder": "0.01, 0.05, 0.1", "disabled": path is None}
        values = page_frame.text("Values", key="grid values", link="values", **look)
    place = _place()
    chosen = _devices(scene.config) if place == location.HERE else []
    preflight: preflight_process.Preflight | None = st.session_state.get("preflight")
    doomed = bool(preflight and preflight.config == scene.text and preflight.bad)
    if doomed:
        st.warning("The pre-flight found what will stop this run; its sentence above says what to change.")
    words = "Add to queue" if place == location.HERE else "Send to the cluster"
    words += " anyway" if doomed else ""
    look = {"icon": ":material/playlist_add:", "width": "stretch", "disabled": bool(scene.refused)}
    if not st.button(words, key="add to queue", type="secondary" if doomed else "primary", **look):
        return
    with page_frame.refusals():
        configs = queueing.grid(scene.config, path, values) if path else {"": scene.config}
        made = queueing.enqueue(configs, scene.name, chosen, place)
        done = "added to the queue" if place == location.HERE else "sent to the cluster"
        st.toast(f"{len(made)} {done}: {page_frame.as_text(', '.join(made[:3]))}")


def _place() -> str:
    """Where it is to be trained, asked for only where there is a choice."""
    places = location.places()
    if len(places) == 1:
        return location.HERE
    explained = (
        "A Ray cluster trains a run where processors, a GPU and memory are free, and restarts it when a node fails. "
        "Nodes that can write to the folder of runs save there as they train. From other nodes the run is copied back "
        "every ten seconds to a minute, at each checkpoint and at its end."
    )
    help = explained if location.RAY in places else None
    return page_frame.select("Where it runs", places, key="where", help=help, link="where")


def _devices(config: RunConfig) -> list[str]:
    return page_frame.several(
        "Devices",
        {device.name: device.words for device in machine.devices()},
        key="devices",
        link="device",
        placeholder=f"as set in the form: {config.training.knobs.device}",
        help="Several devices share the runs, one run per device at a time.",
    )


def _preflight(scene: Scene) -> None:
    preflight: preflight_process.Preflight | None = st.session_state.get("preflight")
    busy = preflight is not None and not preflight.done
    with st.container(horizontal=True, vertical_alignment="center"):
        help = "Checks data, memory, gradients and speed"
        if st.button("Pre-flight", icon=":material/flight_takeoff:", disabled=busy, help=help):
            st.session_state["preflight"] = preflight_process.start(settings.confine(scene.config))
            st.rerun()
        if preflight and busy:
            st.button("Stop the pre-flight", on_click=preflight.stop)
        if preflight is None:
            st.caption(f"{help} in a few seconds, before you add the run to the queue.")
    if preflight:
        every = 1.0 if busy else None
        st.fragment(page_frame.guarded(_follow_preflight), run_every=every)(scene.text, busy)


def _follow_preflight(text: str, was_busy: bool) -> None:
    preflight: preflight_process.Preflight = st.session_state["preflight"]
    if was_busy and preflight.done:
        st.rerun()
    if preflight.config != text:
        st.caption("The form has changed since this pre-flight; run it again before you add the run to the queue.")
    for check in preflight.checks:
        st.markdown(f"{MARKS.get(check['verdict'], '')} **{check['name']}** {page_frame.as_text(check['sentence'])}")
        if problems := (check.get("values") or {}).get("problems"):
            with st.expander(f"The first {len(problems)} problems" if len(problems) > 1 else "The problem"):
                st.text("\n".join(problems))
    if not preflight.done:
        st.caption(":material/progress_activity: checking ...")


train()
