"""Watch: a run during or after its training: curves, similarities, pinned queries and problems."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.components import displays
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, findings
from app.results.cache import RunView
from app.results.run_choice import (
    VALIDATION,
    config_of,
    library,
    need_run,
    show_first_steps,
    state_of,
    summary,
    view,
    warn,
)
from app.shared import address, autoplay, changes, charts, page_frame, queueing
from app.views.watch import curves
from app.views.watch.curves import WatchScene
from lab.core import machine
from lab.core.formats import time_of_day, zone_of
from lab.core.results import SAME, UNKNOWN, compared
from lab.data import ImageSet
from lab.launchers.background.detached import kill
from lab.report.curves import gaps, journal
from lab.runs import Run
from lab.runs.execute import check_at_hand
from lab.runs.folder import ENDED, FAILED, FINISHED, QUEUED, RUNNING, is_run, working

NONE_STORED = "This run does not store them. For the next one, set “Validations stored to look at” on the Train page."
# Evaluations whose results of the pinned query are shown.
STRIPS = 4
PARTS = ("Progress", "Similarities", "Decomposability", "Log")


@page_frame.page(
    "Watch",
    "Follow a run while it trains. Nothing here slows it down, and closing the tab does not stop it.",
)
def watch() -> None:
    changes.follow(_ordered, key="runs to watch")
    runs = library()
    if not need_run("watched", runs):
        show_first_steps(broken=len(runs.broken))
        return
    ordered = _ordered()
    with st.sidebar:
        name = page_frame.select("Run", ordered, key="watched")
        part = page_frame.radio("Show", PARTS, key="watched part", link="part")
        warn(runs)
        displays.notifications_button()
    address.store("watched", name)
    names = tuple(runs.names)
    address.load(
        "also", address.reader([]), lambda chosen: set(chosen) <= set(names), many=True, default=[]
    )
    address.refuse_missing("also", names)
    st.fragment(page_frame.guarded(_run))(runs[name].path, part, names)


def _ordered() -> tuple[str, ...]:
    """Return the names of all runs: running ones first, then waiting ones, then the others, newest first."""
    runs = library()
    running = [run.name for run in runs.runs if state_of(run) == RUNNING]
    waiting = [run.name for run in queueing.elsewhere()] + list(queueing.queue().names)
    waiting = [name for name in waiting if name in runs.names]
    return tuple(dict.fromkeys([*running, *waiting, *runs.names]))


def _is_active(run: Run) -> bool:
    """Return whether a run is running or waiting."""
    return working(run) or run.snapshot().under_way or run.name in queueing.queue().names


def _run(path: Path, part: str, names: tuple[str, ...]) -> None:
    if not is_run(path):
        st.rerun()  # it was moved away, and the page says so
    run = Run(path)
    other_runs = curves.others(run, names) if part == PARTS[0] else []
    changes.follow(
        queueing.runs_now, path, *(other.path for other in other_runs), key="watched run"
    )
    _draw_state(run, run.status)
    findings.draw(run)
    draw_part: tuple[Callable[[WatchScene], None], ...] = (
        _draw_progress,
        _draw_similarities,
        _draw_gap,
        _draw_log,
    )
    draw_part[PARTS.index(part)](WatchScene(run, journal(run.path), part, names))
    address.write()  # a click in this fragment draws only the fragment


def _draw_state(run: Run, status: dict) -> None:
    """Draw a run's progress, error and machine, and the buttons that stop or resume it."""
    page_frame.say(" · ".join((summary(config_of(run)), *_evaluated(run))))
    words = queueing.progress_words(status)
    words = words[:1].upper() + words[1:]
    eta = status.get("eta_seconds")
    if eta and status["state"] == RUNNING:
        now = datetime.now(zone_of(st.context.timezone))  # in the time zone of the browser
        words += f", until about {time_of_day(now, eta)}"
    st.progress(queueing.progress(status), text=page_frame.as_text(words))
    if status["state"] in (FAILED, "damaged", "interrupted") and not run.snapshot().under_way:
        page_frame.say_error(status.get("sentence", ""))
    elif status.get("sentence"):
        page_frame.say(status["sentence"])
    if status["state"] == FAILED:
        with page_frame.expander("The last lines of its log", link="last-lines", opened=True):
            st.code(run.log_tail(3_000), language=None, height=200, wrap_lines=True)
    with st.container(horizontal=True):
        _draw_buttons(run, status["state"])
    if status["state"] == RUNNING:
        _draw_load(run)


def _draw_load(run: Run) -> None:
    """Draw the load of the machine of a running run."""
    worker = run.snapshot().worker
    if worker is None or not worker.here:
        st.caption("The run is on another machine, whose load cannot be shown here.")
        return
    with st.container(horizontal=True, gap="medium"):
        for name, value, help in machine.facts():
            st.metric(name, value, help=help, width="content")


def _evaluated(run: Run) -> list[str]:
    """Describe the checkpoints of the scores, one sentence for all splits of the same checkpoint."""
    splits: dict[str, list[str]] = {}
    for split in run.splits:
        splits.setdefault(run.origin(split).words, []).append(split)
    return [f"{' and '.join(names)} scores: {words}" for words, names in splits.items()]


def _draw_buttons(run: Run, state: str) -> None:
    """Draw the buttons that fit the state of a run."""
    waiting = queueing.queue().names
    if working(run) or run.snapshot().under_way:
        _draw_stop(run)
    elif run.name in waiting:
        st.caption(f"Waits in the queue, place {waiting.index(run.name) + 1} of {len(waiting)}.")
        queueing.show_queue_problem()
    elif state != FINISHED:
        _draw_resume(run)
    if run.splits:
        page_frame.link_to("browse", "Browse", {"run": run.name})


def _draw_stop(run: Run) -> None:
    """Draw where a run is, and the buttons that stop it."""
    where = queueing.where(run)
    if where:
        page_frame.say(where)
    is_stopping = queueing.is_stopping(run.name)
    help = "Finishes the current step, saves a checkpoint and ends the run"
    if run.written_state == QUEUED:
        help = "Withdraws the run before it begins"
    st.button(
        "Stop",
        on_click=page_frame.refusing(queueing.stop_once),
        args=(run.name,),
        icon=":material/stop_circle:",
        disabled=is_stopping,
        help=help,
    )
    if is_stopping and not run.snapshot().under_way:
        help = "Ends the process at once; the run can be resumed from its last checkpoint"
        if st.button("Kill now", icon=":material/dangerous:", help=help):
            with page_frame.refusals():
                kill(run)
                st.rerun()


def _draw_resume(run: Run) -> None:
    """Draw the button that resumes a run, or why it cannot be resumed."""
    try:
        check_at_hand(run)
    except ValueError as error:
        st.caption(str(error))
        return
    backend = run.snapshot().place
    if backend:
        command = f"lab train --resume {run.name} --on {backend.launcher}"
        page_frame.say(f"This run was sent to {backend.words}. To resume it there: `{command}`.")
    help = "Adds the run to the queue of this machine; it continues from its last checkpoint"
    if st.button("Resume", icon=":material/play_arrow:", help=help):
        queueing.resume(run)
        st.rerun()


def _draw_similarities(scene: WatchScene) -> None:
    """Draw the similarities of pairs after a step, and their mean and overlap over time."""
    by_step = {}
    for record in scene.journal.validated:
        if record.get("similarities"):
            by_step[int(record["step"])] = record["similarities"]
    if not by_step:
        words = "Similarities of matching and other pairs appear then."
        st.info(f"Not validated yet. {words} {_when_validated(scene.run)}")
        return

    # The slider follows the latest step while the run trains.
    steps = list(by_step)
    autoplay.follow("after", steps)
    step = steps[0]
    if len(steps) > 1:
        step = st.select_slider("After step", steps, key="after")
    words = f"Shares of positive and negative pairs by cosine, after step {step}"
    st.plotly_chart(charts.cosines(by_step[step]), key="similarities", alt=words)
    columns = st.columns(2)
    for column, (name, lines) in zip(columns, _over_time(by_step).items(), strict=True):
        column.plotly_chart(
            charts.curves(lines, name, height=240),
            key=f"over time {name}",
            alt=f"{name} over steps",
        )


def _over_time(by_step: dict[int, dict[str, list[int]]]) -> dict[str, dict]:
    """Return curves of the mean cosine of positive and negative pairs, and of the overlap of their histograms."""
    means: dict[str, list[float | None]] = {"positive": [], "negative": []}
    overlap = []
    for counts in by_step.values():
        shares = {
            kind: np.asarray(counts[kind], float) / max(1, sum(counts[kind])) for kind in means
        }
        for kind, share in shares.items():
            centres = (np.arange(len(share)) + 0.5) / len(share) * 2 - 1
            means[kind].append(float(share @ centres) if share.any() else None)
        overlap.append(float(np.minimum(shares["positive"], shares["negative"]).sum()))
    steps = list(by_step)
    return {
        "mean cosine": {f"{kind} pairs": (steps, values) for kind, values in means.items()},
        "overlap of the two": {"overlap": (steps, overlap)},
    }


def _draw_progress(scene: WatchScene) -> None:
    """Draw the pinned queries, unless runs are compared, and the curves."""
    validations = [record for record in scene.journal.validated if record.get("pinned")]
    if validations and not curves.others(scene.run, scene.names):
        _draw_pinned(scene, validations)
    elif not validations and _is_active(scene.run):
        words = "Eight queries with their nearest images appear here at each validation."
        st.info(f"Not validated yet. {words} {_when_validated(scene.run)}")
    curves.draw(scene)


def _draw_pinned(scene: WatchScene, validations: list[dict[str, Any]]) -> None:
    """Draw the results of a pinned query after the first, the last and some steps between."""

    def pin(section: str, item: int) -> None:
        if section == "pinned":
            st.session_state["pinned"] = item

    run = view(scene.run)
    images = cache.images(run.name, run.stamp)
    queries = [result["query"] for result in validations[-1]["pinned"]]
    page_frame.keep("pinned", queries[0], queries, link="pinned")
    item = st.session_state["pinned"]
    choices = [cards.of_image(run, images, query) for query in queries]
    note = "click a query to follow it"
    sections = [CardSection("pinned", "Pinned queries", choices, note, size="small", current=item)]

    # The first, the last and some steps between.
    count = min(STRIPS, len(validations))
    for index in np.unique(np.linspace(0, len(validations) - 1, count).round().astype(int)):
        validation = validations[index]
        for result in validation["pinned"]:
            if result["query"] == item:
                sections.append(_results(run, images, validation["step"], result))
    gallery(sections, key="film", on_pick=pin)
    if run.moments:
        step, _ = run.moments[0]
        query = {"run": run.name, "split": VALIDATION, "query": str(item), "step": str(step)}
        page_frame.link_to("browse", "Follow every validation image from step to step", query)


def _results(run: RunView, images: ImageSet, step: int, result: dict[str, Any]) -> CardSection:
    """Return the section of a pinned query's neighbours after a step."""
    verdicts = compared(images.labels[result["neighbours"]], images.labels[result["query"]])
    near = []
    for index, right in enumerate(cards.right(images, verdicts)):
        score = f"{result['scores'][index]:.3f}"
        near.append(
            cards.of_image(
                run, images, result["neighbours"][index], rank=index + 1, right=right, value=score
            )
        )
    known = int((verdicts != UNKNOWN).sum())
    note = f"{(verdicts == SAME).sum()} of the first {known} right"
    if known < len(verdicts):
        note += f"; the class of {len(verdicts) - known} is not known"
    return CardSection(f"after {step}", f"After step {step:,}", near, note, size="small")


def _when_validated(run: Run) -> str:
    """Return a sentence that says when the next validation is."""
    training = run.config.training.knobs
    if not _is_active(run):
        return "This run is not running."
    return f"This run of {training.steps:,} steps is validated every {training.validate_every:,} steps and at its end."


def _draw_gap(scene: WatchScene) -> None:
    """Draw the decomposability gap over time."""
    measured = gaps(scene.run)
    if not measured:
        reason = NONE_STORED
        if scene.run.config.training.knobs.keep_frames:
            reason = _when_validated(scene.run)
        st.info(
            f"Nothing to compare yet: the gap is measured on the embeddings of each validation. {reason}"
        )
        return
    st.caption(
        "How much higher the average precision of small random batches is than that of the whole validation set, with "
        "the two upper bounds of the ROADMAP paper. A small gap means that batches represent the whole set."
    )
    figure = charts.curves(measured, "gap", height=360)
    st.plotly_chart(figure, key="gap", alt="Decomposability gap and its bounds over steps")


def _draw_log(scene: WatchScene) -> None:
    """Draw the notes and the end of the log."""
    for note in scene.journal.notes:
        st.text(note)
    empty = "Nothing was logged." if scene.run.state in ENDED else "Nothing logged yet."
    st.code(scene.run.log_tail() or empty, language=None, height=520, wrap_lines=True)


watch()
