"""Home: an introduction. It shows a query with a wrong result, and the result of another training."""

from html import escape

import numpy as np
import streamlit as st

from app.results import cache, cards, run_choice
from app.shared import changes, page_frame, queueing
from app.views.home import scene as scenes
from app.views.home.scene import Answer, HomeScene
from lab.runs.folder import RUNNING

# Neighbours of each run.
ROW = 6
# Running trainings with a progress bar.
MOST_BARS = 2
# Session key: names of the runs that were active when the page was last drawn.
_ACTIVE = "home at work"


@page_frame.page(
    "Find pictures of the same kind", "Two trained networks search for the same picture"
)
def home() -> None:
    runs = run_choice.library()
    st.markdown(
        "A network receives one picture and finds the pictures that look most alike to it. Its training decides how "
        "well."
    )
    comparison = scenes.find(runs)
    if comparison:
        _draw(comparison)
    elif not runs.runs:
        st.markdown(
            "The demo shows two such networks, trained differently, while this machine trains the same two."
        )
        run_choice.offer_demo()
    else:
        st.info(
            "When two runs on the same pictures with different settings have finished, this page compares them."
        )
    run_choice.show_starting_points()
    st.fragment(page_frame.guarded(_training))()


def _draw(comparison: HomeScene) -> None:
    """Draw the query and the nearest neighbours of both runs."""
    low, high = comparison.answers
    item = None
    if all(cache.searchable(answer.view) for answer in comparison.answers):
        item = comparison.item
    rows = _section(low, "", item) + _section(high, comparison.verdict, item)
    if item is None:
        st.html(f'<div class="told"><div>{rows}</div></div>')
        return
    picture = low.view.run.picture(item, side=cards.LARGE)
    name = escape(cards.image_title(low.view.images, item))
    query = (
        f'<img src="{picture}" alt="{name}"><figcaption>Which pictures show the same?</figcaption>'
    )
    st.html(f'<div class="told"><figure>{query}</figure><div>{rows}</div></div>')
    high.view.link("Look closer at this search", query=str(item), rival=f"run:{low.view.run.name}")


def _section(answer: Answer, verdict: str, item: int | None) -> str:
    """Return the HTML of a run's heading, score and neighbours."""
    heading = f"<h3>{escape(answer.training)}</h3>"
    score = (
        f"The first result is right for {100 * answer.share:.0f} of 100 pictures{escape(verdict)}."
    )
    neighbours = "" if item is None else _row(answer, item)
    return f"<section>{heading}<p>{score}</p>{neighbours}</section>"


MARKS = {
    True: ("✓", "right", "right"),
    False: ("✗", "wrong", "wrong"),
    "unknown": ("?", "unknown", "class not known"),
    None: ("?", "unknown", "class not known"),
}


def _row(answer: Answer, item: int) -> str:
    evidence = answer.view.collection.ask(item)
    count = min(ROW, evidence.ranking.neighbours.shape[1])
    cells = []
    for card in cards.neighbours(answer.view, evidence, np.arange(count)):
        sign, css_class, words = MARKS[card.right]
        alt = escape(f"{card.title}, {words}")
        cells.append(
            f'<li class="{css_class}"><img src="{card.src}" alt="{alt}"><b aria-hidden="true">{sign}</b></li>'
        )
    return f"<ol>{''.join(cells)}</ol>"


def _training() -> None:
    """Draw the active runs. When one has ended, the page is drawn again, because it may show that run."""
    changes.follow(queueing.all_at_work_now, key="training now")
    waiting = queueing.queue().names
    active = []
    for run in run_choice.library().runs:
        if run_choice.state_of(run) == RUNNING or run.name in waiting:
            active.append(run)
    before = st.session_state.get(_ACTIVE, set())
    names = {run.name for run in active}
    st.session_state[_ACTIVE] = names
    if before - names:
        st.rerun()

    for run in active[:MOST_BARS]:
        queueing.draw_progress(run)
    if waiting:
        queueing.show_queue_problem()
    if active:
        label = "Watch them learn"
        if len(active) > MOST_BARS:
            label += f" (and {len(active) - MOST_BARS} more)"
        page_frame.link_to("watch", label, {"watched": active[0].name})


home()
