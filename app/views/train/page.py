"""Train: three questions and Start; all settings for those who want them, checked before they are queued."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

import lab.runs
from app.forms import knob_forms
from app.shared import changes, page_frame, queueing, settings
from app.views.train import all_settings, questions
from app.views.train.all_settings import Asked
from app.views.train.questions import Begun
from lab import adaptation
from lab.launchers.background import preflight_process
from lab.launchers.background.queue import Queue
from lab.runs import Run, RunConfig

MAX_NAME = 100
MARKS = {"good": ":material/check_circle:", "careful": ":material/info:", "bad": ":material/cancel:"}


@dataclass(frozen=True)
class Scene:
    """What is to be trained. text: as YAML. refused: why it cannot have this name, or nothing."""

    config: RunConfig
    text: str
    name: str
    refused: str


@page_frame.page("Train", "Choose what to train, and start it.")
def train() -> None:
    all_settings.take()
    asking, working = st.columns([3, 2], gap="large")
    with asking, st.container(key="asking"):
        if not lab.runs.list(settings.runs_root()):
            st.info("No runs yet. Press Start for a first look at a built-in set, or choose images of your own.")
        begun = questions.ask()
        plan = st.container()
        asked = all_settings.draw(begun.config) if begun.config else Asked(None)
        with plan:
            _plan(begun, asked)
    with working:
        _queue()


def _plan(begun: Begun, asked: Asked) -> None:
    """What will be done, its name, and Start."""
    words = begun.name or "date, loss and images"
    name = page_frame.text("Name of the run", key="name", most=MAX_NAME, link="name", placeholder=words)
    if begun.why:
        st.info(page_frame.as_text(begun.why), icon=":material/tune:")
    if asked.config is None:
        st.button("Start", key="add to queue", disabled=True, icon=":material/play_arrow:")
        st.caption(
            "Settings are missing or wrong; they are named below." if begun.config else "Choose the images first."
        )
        return
    refused, root = "", settings.runs_root()
    try:
        if name:
            lab.runs.check_available(root, name)
    except ValueError as error:
        refused = str(error)
        page_frame.say_error(refused)
    proposed = lab.runs.free_name(root, begun.name) if begun.name else ""
    scene = Scene(asked.config, asked.config.as_yaml(), name or proposed, refused)
    _start(scene, asked, begun)
    if preflight := st.session_state.get("preflight"):
        busy = not preflight.done
        st.fragment(page_frame.guarded(_follow_preflight))(scene.text, busy)
    _as_text(scene)


def _start(scene: Scene, asked: Asked, begun: Begun) -> None:
    preflight: preflight_process.Preflight | None = st.session_state.get("preflight")
    doomed = bool(preflight and preflight.config == scene.text and preflight.bad)
    if doomed:
        st.warning("The check found what will stop this run; its sentence below says what to change.")
    if asked.swept:
        page_frame.say(f"A run for each value of {asked.swept}: {asked.values}")
    with st.container(horizontal=True, vertical_alignment="center"):
        look: dict[str, Any] = {"icon": ":material/play_arrow:", "disabled": bool(scene.refused)}
        go = st.button(
            "Start anyway" if doomed else "Start", key="add to queue", type="secondary" if doomed else "primary", **look
        )
        busy = preflight is not None and not preflight.done
        help = "Looks at the data, the memory, the gradients and the speed, before anything is trained: some seconds."
        if st.button("Check first", icon=":material/flight_takeoff:", disabled=busy, help=help):
            st.session_state["preflight"] = preflight_process.start(settings.confine(scene.config))
            st.rerun()
        if preflight and busy:
            st.button("Stop the check", on_click=page_frame.refusing(preflight.stop))
    if not go:
        return
    with page_frame.refusals():
        idle = not (queueing.queue().names or queueing.here())
        configs = {"": scene.config}
        if asked.swept:
            configs = queueing.grid(scene.config, asked.swept, asked.values)
        elif begun.baseline:  # first, so that it is there when the head is looked at
            configs = {adaptation.BASELINE: begun.baseline, **configs}
        made = queueing.enqueue(configs, scene.name, asked.devices)
        if idle and not asked.swept:
            st.switch_page("views/watch/page.py", query_params={"watched": made[-1]})
        st.toast(f"{len(made)} added to the queue: {page_frame.as_text(', '.join(made[:3]))}")


def _as_text(scene: Scene) -> None:
    """The same for a terminal, and as a file."""
    with page_frame.expander("As a command, as a file", link="yaml"):
        named = ["--name", scene.name] if scene.name and not scene.refused else []
        command = ["lab", "train", *named, *scene.config.flags(), "--runs", str(settings.runs_root())]
        st.code(shlex.join(command), language="bash", wrap_lines=True)
        st.code(scene.text, language="yaml", height=320)
        page_frame.download("Export", scene.text, "config.yaml", "application/yaml")


def _stage(preflight: preflight_process.Preflight) -> tuple[int, bool]:
    return len(preflight.checks), preflight.done


def _follow_preflight(text: str, was_busy: bool) -> None:
    preflight: preflight_process.Preflight = st.session_state["preflight"]
    if was_busy:
        changes.follow(_stage, preflight, key="check of the settings")
    if was_busy and preflight.done:
        st.rerun()
    if preflight.config != text:
        st.caption("The settings have changed since this check.")
    for check in preflight.checks:
        st.markdown(f"{MARKS.get(check['verdict'], '')} **{check['name']}** {page_frame.as_text(check['sentence'])}")
        if problems := (check.get("values") or {}).get("problems"):
            with st.expander(f"The first {len(problems)} problems" if len(problems) > 1 else "The problem"):
                st.text("\n".join(problems))
    if not preflight.done:
        st.caption(":material/progress_activity: checking ...")


# --- the queue --------------------------------------------------------------------------------------------------------


@st.fragment
@page_frame.guarded
def _queue() -> None:
    """What works and what waits, with its buttons."""
    changes.follow(queueing.all_at_work_now, key="queue")
    if knob_forms.FILLED in st.session_state:
        st.rerun()  # a button here, which draws no more than the queue, has filled the form
    queue = queueing.queue()
    names, paused = queue.names, queue.paused
    at_work = {run.name: run for run in (*queueing.here(), *queueing.elsewhere())}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("Queue", anchor=False)
        if not paused:
            _button("Pause", "pause queue", queue.pause, disabled=not names)
    if not at_work and not names:
        st.caption("The queue is empty.")
    for run in at_work.values():
        _at_work(run)
    queueing.show_queue_problem()
    for place, name in enumerate(names):
        _waiting(queue, place, name, last=place == len(names) - 1)


def _at_work(run: Run) -> None:
    status = run.status
    with st.container(horizontal=True, vertical_alignment="center"):
        done = (status.get("step") or 0) / max(1, status.get("steps") or 1)
        st.progress(min(1.0, done), text=page_frame.as_text(f"{run.name}: {queueing.progress_words(status)}"))
        stopping = queueing.is_stopping(run.name)
        _button("Stop", f"stop {run.name}", queueing.stop_once, run.name, disabled=stopping)
    if where := queueing.where(run):
        page_frame.say(where)


def _waiting(queue: Queue, place: int, name: str, *, last: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text(f"{place + 1}. {name}", width="stretch")
        up, down, out = (f":material/{icon}:" for icon in ("arrow_upward", "arrow_downward", "close"))
        _button(up, f"up {name}", queue.move, name, place - 1, help="Move up", disabled=place == 0)
        _button(down, f"down {name}", queue.move, name, place + 1, help="Move down", disabled=last)
        _button(":material/content_copy:", f"copy {name}", _copy, queue, name, help="Put its settings into the form")
        _button(out, f"remove {name}", queue.remove, name, help="Remove from the queue; the run itself stays")


def _button(label: str, key: str, change: Callable, *arguments: Any, **look: Any) -> None:
    """A button that changes the queue; a change that another tab was quicker with is told and no more."""
    st.button(label, key=key, on_click=page_frame.refusing(change), args=arguments, **look)


def _copy(queue: Queue, name: str) -> None:
    knob_forms.fill(lab.runs.open(queue.root / name).config)
    st.session_state["name"] = ""


train()
