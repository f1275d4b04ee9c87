"""My images: from a folder of one's own to a training, without knowing a single setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

import lab.runs
from app.components.gallery import Card, CardSection, gallery
from app.forms import folder_picker, knob_forms
from app.results.pictures import thumbnail
from app.shared import background, page_frame, queueing, settings
from lab.data.images.reading import EXTENSIONS, ImageError, open_rgb
from lab.runs.building import user_images
from lab.runs.building.user_images import Fitted, Survey

OPEN, LOOKED = "mine", "my images looked at"
"""In the session's state: whether the panel is open; the folder that is looked at, and how often it was asked for."""
SHOWN = 200
"""Problems that are listed."""


def panel() -> None:
    """Draw the panel."""
    page_frame.keep(OPEN, False, link=OPEN)
    with st.expander("My images: train on a folder of your own", key=OPEN, on_change="rerun", icon=":material/folder:"):
        if not st.session_state[OPEN]:
            return
        st.markdown(
            "Choose the folder that holds **one folder of images for each class**, such as `cats/1.jpg` and "
            "`dogs/1.jpg`. Your images stay where they are, and nothing in them is changed."
        )
        folder = folder_picker.pick("Folder of the classes", key="my folder", link="folder")
        if folder is None:
            return
        looked, times = st.session_state.get(LOOKED, ("", 0))
        again = {LOOKED: (str(folder), times + 1)}
        st.button("Look at these images", icon=":material/search:", on_click=st.session_state.update, args=(again,))
        if looked == str(folder):
            _show(looked, times)


@background.job("Looking at the images", keep=4)
def _looked_at(folder: str, times: int) -> tuple[Survey, list[tuple[str, str]]]:
    """What lies in the folder, and the name and picture of some classes."""
    survey = user_images.survey(folder)
    pictures = []
    for name, path in survey.sample.items():
        try:
            settings.confine_folder(Path(path).resolve().parent)  # a file may be a link, too
            pictures.append((name, thumbnail(open_rgb(Path(path)))))
        except (ImageError, ValueError):
            continue
    return survey, pictures


def _show(folder: str, times: int) -> None:
    try:
        ready = background.if_ready(_looked_at(folder, times))
        if ready is None:
            return
        survey, pictures = ready
        chosen = user_images.fitted(survey, user_images.this_machine())
    except (ValueError, OSError) as error:
        page_frame.say_error(error)
        _offer_without_classes(Path(folder))
        return
    cards = [Card(at, picture, name, name) for at, (name, picture) in enumerate(pictures)]
    note = f"one image of {'each class' if len(cards) == len(survey.images) else 'some classes'}"
    count, total = len(survey.images), sum(survey.images.values())
    counted = f"{count:,} class{'es' * (count != 1)}, {total:,} image{'s' * (total != 1)}"
    section = CardSection("sample", counted, cards, note, size="small")
    gallery([section], key="my sample", on_pick=lambda *_: None)
    _tell_counts(survey)
    _tell_problems(survey.problems)
    st.info(page_frame.as_text(chosen.sentence), icon=":material/tune:")
    with st.container(horizontal=True):
        go = st.button("Train on these images", type="primary", icon=":material/play_arrow:")
        look: dict[str, Any] = {"icon": ":material/edit_note:", "help": "Puts them into the form below."}
        st.button("Change the settings first", on_click=lambda: _fill(chosen), **look)
    if go:
        _train(chosen, Path(folder).name)


def _offer_without_classes(folder: Path) -> None:
    """The way for a folder whose pictures lie in it without a class: they can be looked at, but not trained on."""
    count = sum(one.suffix.lower() in EXTENSIONS for one in folder.iterdir()) if folder.is_dir() else 0
    if not count:
        return
    st.markdown(
        f"{count:,} picture{'s lie' if count > 1 else ' lies'} in this folder without a class. To train on them, sort "
        "them into one folder for each class. Without training they can be searched and seen on a map:"
    )
    page_frame.link_to("runs", "Embed these pictures", {"bring": "yes", "folder": str(folder)})


def _tell_counts(survey: Survey) -> None:
    import pandas as pd

    ordered = sorted(survey.images.items(), key=lambda one: one[1])
    (few, least), (many, most) = ordered[0], ordered[-1]
    words = f"From {least:,} image{'s' * (least != 1)} ({few}) to {most:,} ({many}) in a class"
    words = f"{most:,} image{'s' * (most != 1)} in each class" if least == most else words
    with page_frame.fold(page_frame.as_text(words), link="counts"):
        table = pd.DataFrame(ordered, columns=["class", "images"])
        st.dataframe(table, hide_index=True, height=240, alt="Number of images in each class, fewest first")


def _tell_problems(problems: Sequence[str]) -> None:
    if not problems:
        return
    words = f"{len(problems):,} item{'s' * (len(problems) > 1)} left out"
    with page_frame.fold(words, link="left-out", icon=":material/warning:"):
        st.text("\n".join(Counter(problems[:SHOWN])))
        if len(problems) > SHOWN:
            st.caption(f"The first {SHOWN} are listed.")


def _train(chosen: Fitted, folder: str) -> None:
    """Add the training to the queue, and go where it can be watched."""
    name = lab.runs.free_name(settings.runs_root(), queueing.plain_name(folder)[:80] or "my-images")
    with page_frame.refusals():
        made = queueing.enqueue({"": chosen.config}, name)
        st.switch_page("views/watch/page.py", query_params={"watched": made[0]})


def _fill(chosen: Fitted) -> None:
    knob_forms.fill(chosen.config)
    st.session_state["preset"] = st.session_state["recipe"] = None
