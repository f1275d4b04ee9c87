"""Train: three questions, all settings, a check before the training, and the queue."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

import lab.runs
from app.forms import knob_forms
from app.shared import changes, page_frame, queueing, settings
from app.views.train import all_settings, questions
from app.views.train.all_settings import FormResult
from app.views.train.questions import Answers
from lab import adaptation
from lab.launchers.background import preflight_process
from lab.launchers.background.queue import Queue
from lab.runs import Run, RunConfig

MAX_NAME = 100
MARKS = {
    "good": ":material/check_circle:",
    "careful": ":material/info:",
    "bad": ":material/cancel:",
}


@dataclass(frozen=True)
class TrainScene:
    """What the Train page will train.

    text: the configuration as YAML. is_refused: the name is not available.
    """

    config: RunConfig
    text: str
    name: str
    is_refused: bool


@page_frame.page("Train", "Choose what to train, and start it.")
def train() -> None:
    all_settings.take()
    left, right = st.columns([3, 2], gap="large")
    with left, st.container(key="asking"):
        if not lab.runs.list(settings.runs_root()):
            st.info(
                "No runs yet. Press Start for a first look at a built-in set, or choose your own images."
            )
        answers = questions.ask()
        start = st.container()
        form = all_settings.draw(answers.config) if answers.config else FormResult(None)
        with start:
            _draw_start(answers, form)
    with right:
        _queue()


def _draw_start(answers: Answers, form: FormResult) -> None:
    """Draw the name of the run, the Start button and the check."""
    placeholder = answers.name or "date, loss and images"
    name = page_frame.text(
        "Name of the run", key="name", most=MAX_NAME, link="name", placeholder=placeholder
    )
    if answers.explanation:
        st.info(page_frame.as_text(answers.explanation), icon=":material/tune:")
    if form.config is None:
        st.button("Start", key="add to queue", disabled=True, icon=":material/play_arrow:")
        if answers.config:
            st.caption("Settings are missing or wrong; they are named below.")
        else:
            st.caption("Choose the images first.")
        return

    root = settings.runs_root()
    is_refused = False
    if name:
        try:
            lab.runs.check_available(root, name)
        except ValueError as error:
            is_refused = True
            page_frame.say_error(error)
    elif answers.name:
        name = lab.runs.free_name(root, answers.name)

    # Draw the buttons, the check and the command.
    scene = TrainScene(form.config, form.config.as_yaml(), name, is_refused)
    if _draw_buttons(scene, form):
        with page_frame.refusals():
            _start(scene, form, answers)
    preflight = st.session_state.get("preflight")
    if preflight:
        is_running = not preflight.done
        st.fragment(page_frame.guarded(_follow_preflight))(scene.text, is_running)
    _draw_command(scene)


def _draw_buttons(scene: TrainScene, form: FormResult) -> bool:
    """Draw the buttons that start the training or the check, and return whether Start was pressed."""
    preflight: preflight_process.Preflight | None = st.session_state.get("preflight")
    label = "Start"
    button_type: Literal["primary", "secondary"] = "primary"
    if preflight and preflight.config == scene.text and preflight.bad:
        st.warning(
            "The check found a problem that will stop this run; its sentence below says what to change."
        )
        label = "Start anyway"
        button_type = "secondary"
    if form.swept:
        page_frame.say(f"A run for each value of {form.swept}: {form.values}")
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = ":material/play_arrow:"
        is_pressed = st.button(
            label, key="add to queue", type=button_type, icon=icon, disabled=scene.is_refused
        )
        is_running = preflight is not None and not preflight.done
        help = "Checks the data, the memory, the gradients and the speed before the training: some seconds."
        if st.button(
            "Check first", icon=":material/flight_takeoff:", disabled=is_running, help=help
        ):
            st.session_state["preflight"] = preflight_process.start(settings.confine(scene.config))
            st.rerun()
        if preflight and is_running:
            st.button("Stop the check", on_click=page_frame.refusing(preflight.stop))
    return is_pressed


def _start(scene: TrainScene, form: FormResult, answers: Answers) -> None:
    """Add the runs to the queue. If nothing else is running, open the new run on Watch."""
    is_idle = not (queueing.queue().names or queueing.here())
    configs = {"": scene.config}
    if form.swept:
        configs = queueing.grid(scene.config, form.swept, form.values)
    elif answers.baseline:  # first, so that the head can be compared with it
        configs = {adaptation.BASELINE: answers.baseline, "": scene.config}
    names = queueing.enqueue(configs, scene.name, form.devices)
    if is_idle and not form.swept:
        st.switch_page("views/watch/page.py", query_params={"watched": names[-1]})
    st.toast(f"{len(names)} added to the queue: {page_frame.as_text(', '.join(names[:3]))}")


def _draw_command(scene: TrainScene) -> None:
    """Draw the configuration as a command and as a file."""
    with page_frame.expander("As a command, as a file", link="yaml"):
        command = ["lab", "train"]
        if scene.name and not scene.is_refused:
            command += ["--name", scene.name]
        command += [*scene.config.flags(), "--runs", str(settings.runs_root())]
        st.code(shlex.join(command), language="bash", wrap_lines=True)
        st.code(scene.text, language="yaml", height=320)
        page_frame.download("Export", scene.text, "config.yaml", "application/yaml")


def _stage(preflight: preflight_process.Preflight) -> tuple[int, bool]:
    return len(preflight.checks), preflight.done


def _follow_preflight(text: str, was_running: bool) -> None:
    """Draw the results of the check. text: the current configuration. was_running: when the page was drawn."""
    preflight: preflight_process.Preflight = st.session_state["preflight"]
    if was_running:
        changes.follow(_stage, preflight, key="check of the settings")
    if was_running and preflight.done:
        st.rerun()
    if preflight.config != text:
        st.caption("The settings have changed since this check.")
    for check in preflight.checks:
        st.markdown(
            f"{MARKS.get(check['verdict'], '')} **{check['name']}** {page_frame.as_text(check['sentence'])}"
        )
        problems = (check.get("values") or {}).get("problems")
        if problems:
            label = f"The first {len(problems)} problems" if len(problems) > 1 else "The problem"
            with st.expander(label):
                st.text("\n".join(problems))
    if not preflight.done:
        st.caption(":material/progress_activity: checking ...")


# --- the queue --------------------------------------------------------------------------------------------------------


@st.fragment
@page_frame.guarded
def _queue() -> None:
    """Draw the running and the waiting runs, with their buttons."""
    changes.follow(queueing.all_at_work_now, key="queue")
    if knob_forms.FILLED in st.session_state:
        st.rerun()  # a button of this fragment has filled the form, which is outside the fragment
    queue = queueing.queue()
    names = queue.names
    active = {run.name: run for run in (*queueing.here(), *queueing.elsewhere())}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("Queue", anchor=False)
        if not queue.paused:
            _button("Pause", "pause queue", queue.pause, disabled=not names)
    if not active and not names:
        st.caption("The queue is empty.")
    for run in active.values():
        _draw_active(run)
    queueing.show_queue_problem()
    for index, name in enumerate(names):
        _draw_waiting(queue, index, name, is_last=index == len(names) - 1)


def _draw_active(run: Run) -> None:
    """Draw the progress of a run, with a button that stops it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        queueing.draw_progress(run)
        is_stopping = queueing.is_stopping(run.name)
        _button("Stop", f"stop {run.name}", queueing.stop_once, run.name, disabled=is_stopping)
    where = queueing.where(run)
    if where:
        page_frame.say(where)


def _draw_waiting(queue: Queue, index: int, name: str, *, is_last: bool) -> None:
    """Draw a run of the queue, with buttons that move, copy or remove it."""
    up = ":material/arrow_upward:"
    down = ":material/arrow_downward:"
    copy = ":material/content_copy:"
    remove = ":material/close:"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text(f"{index + 1}. {name}", width="stretch")
        _button(up, f"up {name}", queue.move, name, index - 1, help="Move up", disabled=index == 0)
        _button(
            down, f"down {name}", queue.move, name, index + 1, help="Move down", disabled=is_last
        )
        _button(copy, f"copy {name}", _copy, queue, name, help="Put its settings into the form")
        _button(
            remove,
            f"remove {name}",
            queue.remove,
            name,
            help="Remove from the queue; the run itself stays",
        )


def _button(label: str, key: str, change: Callable, *arguments: Any, **kwargs: Any) -> None:
    """Draw a button that changes the queue. If another tab has changed it already, a short message says so."""
    st.button(label, key=key, on_click=page_frame.refusing(change), args=arguments, **kwargs)


def _copy(queue: Queue, name: str) -> None:
    """Put the settings of a waiting run into the form."""
    knob_forms.fill(lab.runs.open(queue.root / name).config)
    st.session_state["name"] = ""


train()
