"""Watch: a run while it trains, or after: curves, similarities, pinned queries, and what went wrong."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.components import displays
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, findings
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
from app.views.watch.curves import Scene
from lab.core import machine
from lab.core.formats import time_of_day, zone_of
from lab.core.results import SAME, UNKNOWN, compared
from lab.launchers.background.detached import kill
from lab.report.curves import gaps, journal
from lab.runs import Run
from lab.runs.execute import check_at_hand
from lab.runs.folder import ENDED, FAILED, FINISHED, QUEUED, RUNNING, is_run, working

NONE_KEPT = "This run does not store them. For the next one, set “Validations stored to look at” on the Train page."
STRIPS = 4  # evaluations in the film strip
PARTS = ("Progress", "Similarities", "Decomposability", "Log")


@page_frame.page(
    "Watch", "Follow a run while it trains. Nothing here slows it down, and closing the tab does not stop it."
)
def watch() -> None:
    changes.follow(_ordered, key="runs to watch")
    known = library()
    if not need_run("watched", known):
        show_first_steps(broken=len(known.broken))
        return
    ordered = _ordered()
    with st.sidebar:
        name = page_frame.select("Run", ordered, key="watched")
        part = page_frame.radio("Show", PARTS, key="watched part", link="part")
        warn(known)
        displays.notifications_button()
    address.store("watched", name)
    names = tuple(known.names)
    address.load("also", address.reader([]), lambda picked: set(picked) <= set(names), many=True, default=[])
    address.refuse_missing("also", names)
    st.fragment(page_frame.guarded(_run))(known[name].path, part, names)


def _ordered() -> tuple[str, ...]:
    """Return the names of all runs: those at work first, then those that wait, then the others, newest first."""
    known = library()
    active = [run.name for run in known.runs if state_of(run) == RUNNING]
    waiting = [*(run.name for run in queueing.elsewhere()), *queueing.queue().names]
    active += [name for name in waiting if name in known.names and name not in active]
    return *active, *(name for name in known.names if name not in active)


def _goes_on(run: Run) -> bool:
    """Whether a run is at work, or waits for its turn, so that what is shown of it will change."""
    return working(run) or run.snapshot().under_way or run.name in queueing.queue().names


def _run(path: Path, part: str, names: tuple[str, ...]) -> None:
    if not is_run(path):
        st.rerun()  # it was moved away, which the page says
    run = Run(path)
    beside = curves.others(run, names) if part == PARTS[0] else []
    changes.follow(queueing.runs_now, path, *(one.path for one in beside), key="watched run")
    _head(run, run.status)
    findings.draw(run)
    draw: tuple[Callable[[Scene], None], ...] = (_progress, _similarities, _gap, _log)
    draw[PARTS.index(part)](Scene(run, journal(run.path), part, names))
    address.write()  # a click in here draws no more than this


def _head(run: Run, status: dict) -> None:
    done = 1.0 if status["state"] == FINISHED else (status.get("step") or 0) / max(1, status.get("steps") or 1)
    config = config_of(run)
    page_frame.say(" · ".join((summary(config), *_evaluated(run))))
    words = queueing.progress_words(status)
    words = words[:1].upper() + words[1:]
    if status["state"] == RUNNING and (eta := status.get("eta_seconds")):  # by the clock of whoever looks
        words += f", until about {time_of_day(datetime.now(zone_of(st.context.timezone)), eta)}"
    st.progress(min(1.0, done), text=page_frame.as_text(words))
    if status["state"] in (FAILED, "damaged", "interrupted") and not run.snapshot().under_way:
        page_frame.say_error(status.get("sentence", ""))
    elif status.get("sentence"):
        page_frame.say(status["sentence"])
    if status["state"] == FAILED:
        with page_frame.expander("The last lines of its log", link="last-lines", opened=True):
            st.code(run.log_tail(3_000), language=None, height=200, wrap_lines=True)
    with st.container(horizontal=True):
        _buttons(run, status["state"])
    if status["state"] == RUNNING:
        worker = run.snapshot().worker
        if worker is None or not worker.here:
            st.caption("It runs on another machine, whose load cannot be shown here.")
            return
        with st.container(horizontal=True, gap="medium"):
            for name, value, explained in machine.facts():
                st.metric(name, value, help=explained, width="content")


def _evaluated(run: Run) -> list[str]:
    """Which weights the scores are of: said once for all splits that are of the same."""
    splits: dict[str, list[str]] = {}
    for split in run.splits:
        splits.setdefault(run.origin(split).words, []).append(split)
    return [f"{' and '.join(several)} scores: {words}" for words, several in splits.items()]


def _buttons(run: Run, state: str) -> None:
    elsewhere = run.snapshot().under_way
    if working(run) or elsewhere:
        if where := queueing.where(run):
            page_frame.say(where)
        stopping = queueing.is_stopping(run.name)
        help = "Finishes the current step, saves a checkpoint and ends the run"
        help = "Takes the run back before it begins" if run.written_state == QUEUED else help
        look: dict[str, Any] = {"icon": ":material/stop_circle:", "disabled": stopping, "help": help}
        st.button("Stop", on_click=page_frame.refusing(queueing.stop_once), args=(run.name,), **look)
        if stopping and not elsewhere:
            help = "Ends the process at once; the run can be resumed from its last checkpoint"
            if st.button("Kill now", icon=":material/dangerous:", help=help):
                with page_frame.refusals():
                    kill(run)
                    st.rerun()
    elif run.name in (waiting := queueing.queue().names):
        st.caption(f"Waits in the queue, place {waiting.index(run.name) + 1} of {len(waiting)}.")
        queueing.show_queue_problem()
    elif state != FINISHED:
        _resumption(run)
    if run.splits:
        page_frame.link_to("browse", "Browse", {"run": run.name})


def _resumption(run: Run) -> None:
    try:
        check_at_hand(run)
    except ValueError as missing:
        st.caption(str(missing))
        return
    if to := run.snapshot().place:
        page_frame.say(f"It was sent to {to.words}: `lab train --resume {run.name} --on {to.launcher}` goes on there.")
    help = "Adds the run to the queue of this machine; it continues from its last checkpoint"
    if st.button("Resume", icon=":material/play_arrow:", help=help):
        queueing.resume(run)
        st.rerun()


def _similarities(scene: Scene) -> None:
    by_step = {int(r["step"]): r["similarities"] for r in scene.kept.validated if r.get("similarities")}
    if not by_step:
        words = "Similarities of matching and other pairs appear then."
        st.info(f"Not validated yet. {words} {_when_validated(scene.run)}")
        return
    autoplay.follow("after", list(by_step))
    step = st.select_slider("After step", list(by_step), key="after") if len(by_step) > 1 else next(iter(by_step))
    words = f"Shares of positive and negative pairs by cosine, after step {step}"
    st.plotly_chart(charts.cosines(by_step[step]), key="similarities", alt=words)
    columns = st.columns(2)
    for column, (name, lines) in zip(columns, _over_time(by_step).items(), strict=True):
        column.plotly_chart(charts.curves(lines, name, height=240), key=f"over time {name}", alt=f"{name} over steps")


def _over_time(by_step: dict[int, dict[str, list[int]]]) -> dict[str, dict]:
    """Mean cosine of positive and of negative pairs, and the share that their histograms have in common."""
    means: dict[str, list[float | None]] = {"positive": [], "negative": []}
    overlap = []
    for counts in by_step.values():
        shares = {kind: np.asarray(counts[kind], float) / max(1, sum(counts[kind])) for kind in means}
        for kind, share in shares.items():
            middles = (np.arange(len(share)) + 0.5) / len(share) * 2 - 1
            means[kind].append(float(share @ middles) if share.any() else None)
        overlap.append(float(np.minimum(*shares.values()).sum()))
    steps = list(by_step)
    return {
        "mean cosine": {f"{kind} pairs": (steps, values) for kind, values in means.items()},
        "overlap of the two": {"overlap": (steps, overlap)},
    }


def _progress(scene: Scene) -> None:
    """The pinned queries of a run that stands alone, then the curves."""
    moments = [r for r in scene.kept.validated if r.get("pinned")]
    if moments and not curves.others(scene.run, scene.names):
        _pinned(scene, moments)
    elif not moments and _goes_on(scene.run):
        words = "Eight queries with their nearest images appear here at each validation."
        st.info(f"Not validated yet. {words} {_when_validated(scene.run)}")
    curves.draw(scene)


def _pinned(scene: Scene, moments: list[dict[str, Any]]) -> None:
    about = view(scene.run)
    images = cache.images(scene.run.name, about.stamp)
    queries = [strip["query"] for strip in moments[-1]["pinned"]]
    page_frame.keep("pinned", queries[0], queries, link="pinned")
    item = st.session_state["pinned"]
    choose = [cards.of_image(about, images, one) for one in queries]
    note = "click one to follow it"
    rows = [CardSection("pinned", "Pinned queries", choose, note, size="small", current=item)]
    steps = min(STRIPS, len(moments))  # first, last, and some between
    for at in sorted({round(at * (len(moments) - 1) / max(1, steps - 1)) for at in range(steps)}):
        strip = next((s for s in moments[at]["pinned"] if s["query"] == item), None)
        if strip:
            verdicts = compared(images.labels[strip["neighbours"]], images.labels[item])
            said = zip(strip["neighbours"], strip["scores"], cards.right(images, verdicts), strict=True)
            listed = [
                cards.of_image(about, images, one, rank=rank, right=right, value=f"{score:.3f}")
                for rank, (one, score, right) in enumerate(said, 1)
            ]
            known = int((verdicts != UNKNOWN).sum())
            unknown = f"; the class of {len(verdicts) - known} is not known" if known < len(verdicts) else ""
            note, step = f"{(verdicts == SAME).sum()} of the first {known} right{unknown}", moments[at]["step"]
            rows.append(CardSection(f"after {step}", f"After step {step:,}", listed, note, size="small"))
    pin = lambda section, one: st.session_state.update(pinned=one) if section == "pinned" else None  # noqa: E731
    gallery(rows, key="film", on_pick=pin)
    if about.moments:
        moment = {"run": about.name, "split": VALIDATION, "query": str(item), "step": str(about.moments[0][0])}
        page_frame.link_to("browse", "Follow every validation image from step to step", moment)


def _when_validated(run: Run) -> str:
    """When a page that waits for a validation will have something to show."""
    training = run.config.training.knobs
    if not _goes_on(run):
        return "This run is not running."
    return f"This run of {training.steps:,} steps is validated every {training.validate_every:,} steps and at its end."


def _gap(scene: Scene) -> None:
    measured = gaps(scene.run)
    if not measured:
        st.info(
            "Nothing to compare yet: the gap is measured on the embeddings of each validation. "
            + (_when_validated(scene.run) if scene.run.config.training.knobs.keep_frames else NONE_KEPT)
        )
        return
    st.caption(
        "How much better the average precision of small random batches looks than that of the whole validation set, "
        "with the two upper bounds of the ROADMAP paper. A small gap means that batches stand for the whole set."
    )
    figure = charts.curves(measured, "gap", height=360)
    st.plotly_chart(figure, key="gap", alt="Decomposability gap and its bounds over steps")


def _log(scene: Scene) -> None:
    for note in scene.kept.notes:
        st.text(note)
    nothing = "Nothing was logged." if scene.run.state in ENDED else "Nothing logged yet."
    st.code(scene.run.log_tail() or nothing, language=None, height=520, wrap_lines=True)


watch()
