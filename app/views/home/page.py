"""Home: for somebody who knows nothing yet. One search that goes wrong, and what another training makes of it."""

from html import escape

import numpy as np
import streamlit as st

from app.results import cache, cards, run_choice
from app.shared import changes, page_frame, queueing
from app.views.home import scene as scenes
from app.views.home.scene import Answer, Scene
from lab.runs.folder import RUNNING

ROW = 6
"""Neighbours that are shown of each answer."""
AT_ONCE = 2
"""Trainings that have a line of their own."""

_SEEN = "home at work"
"""In the session's state: names of the runs that were training when the page last looked."""


@page_frame.page("Find pictures of the same kind", "Two trained networks, asked the same question")
def home() -> None:
    known = run_choice.library()
    st.markdown(
        "A network is shown one picture and answers with those it finds most alike. Its training decides how well."
    )
    found = scenes.find(known)
    if found:
        _tell(found)
    elif not known.runs:
        st.markdown("The demo shows two such networks, trained differently, while this machine trains the same two.")
        run_choice.offer_demo()
    else:
        st.info("Two runs on the same pictures that were trained differently are compared here once both have ended.")
    run_choice.show_starting_points()
    st.fragment(page_frame.guarded(_training))()


def _tell(found: Scene) -> None:
    """The query, and the first row of both answers."""
    low, high = found.answers
    item = found.item if all(cache.searchable(one.view) for one in found.answers) else None
    rows = "".join(
        f"<section><h3>{escape(one.taught)}</h3><p>The first answer is right for {100 * one.share:.0f} of 100 "
        f"pictures{escape(words)}.</p>{'' if item is None else _row(one, item)}</section>"
        for one, words in ((low, ""), (high, found.verdict))
    )
    if item is None:
        st.html(f'<div class="told"><div>{rows}</div></div>')
        return
    picture, name = low.view.run.picture(item, side=cards.LARGE), escape(cards.image_title(low.view.images, item))
    asked = f'<img src="{picture}" alt="{name}"><figcaption>Which pictures show the same?</figcaption>'
    st.html(f'<div class="told"><figure>{asked}</figure><div>{rows}</div></div>')
    high.view.link("Look closer at this search", query=str(item), rival=f"run:{low.view.run.name}")


MARKS = {
    True: ("✓", "right", "right"),
    False: ("✗", "wrong", "wrong"),
    "unknown": ("?", "unknown", "class not known"),
    None: ("?", "unknown", "class not known"),
}


def _row(answer: Answer, item: int) -> str:
    evidence = answer.view.collection.ask(item)
    cells = []
    for card in cards.neighbours(answer.view, evidence, np.arange(min(ROW, evidence.ranking.neighbours.shape[1]))):
        sign, look, words = MARKS[card.right]
        alt = escape(f"{card.title}, {words}")
        cells.append(f'<li class="{look}"><img src="{card.src}" alt="{alt}"><b aria-hidden="true">{sign}</b></li>')
    return f"<ol>{''.join(cells)}</ol>"


def _training() -> None:
    """What is training now; when one has ended, the page is drawn anew with it."""
    changes.follow(queueing.all_at_work_now, key="training now")
    known, waiting = run_choice.library().runs, queueing.queue().names
    runs = [run for run in known if run_choice.state_of(run) == RUNNING or run.name in waiting]
    before, st.session_state[_SEEN] = st.session_state.get(_SEEN, set()), {run.name for run in runs}
    if before - st.session_state[_SEEN]:
        st.rerun()
    for run in runs[:AT_ONCE]:
        status = run.status
        done = (status.get("step") or 0) / max(1, status.get("steps") or 1)
        st.progress(min(1.0, done), text=page_frame.as_text(f"{run.name}: {queueing.progress_words(status)}"))
    if waiting:
        queueing.show_queue_problem()
    if runs:
        more = f" (and {len(runs) - AT_ONCE} more)" if len(runs) > AT_ONCE else ""
        page_frame.link_to("watch", f"Watch them learn{more}", {"watched": runs[0].name})


home()
