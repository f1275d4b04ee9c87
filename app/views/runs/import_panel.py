"""Import vectors, or open a folder: what another model made, or pictures alone, becomes a run behind the page."""

import os
import re
from pathlib import Path
from typing import Any

import streamlit as st

import lab.runs
from app.forms import folder_picker
from app.results.run_choice import RunLibrary
from app.shared import background, page_frame, settings
from lab.core import files
from lab.core.records import Note, Record
from lab.core.streams import result_of
from lab.core.words import NAME, kind_of
from lab.integrations.importing import reading

OPEN, LAST = "bring", "what is brought"
"""In the session's state: whether the panel is open; the last import, and its number."""
KINDS = ("A folder of pictures", "A file of vectors")
LENGTHS = {
    "They have unit length": None,
    "Scale them to unit length": True,
    "Keep them, and compare by distance": False,
}
"""What is done with the lengths of vectors: label to the argument `normalise`."""
OURS = "efficientnet_lite0"
"""The pretrained encoder that needs no download."""
MODEL = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?")
"""A model of timm by its name; functions and files are programs, which a page does not run."""
MOST = 5_000
"""Files that are listed of a folder."""


def panel(known: RunLibrary) -> None:
    """Draw the panel. known: the runs, whose encoders can embed pictures."""
    page_frame.keep(OPEN, False, link=OPEN)
    with st.expander("Import vectors or pictures", key=OPEN, on_change="rerun", icon=":material/input:"):
        if not st.session_state[OPEN]:
            return
        if files.guest():
            st.caption(f":material/visibility: {folder_picker.OWNER_ONLY}")
            return
        st.markdown("Nothing is trained, and labels are not needed. Your files stay where they are.")
        kind = page_frame.choice("What to import", KINDS, key="kind brought", link="kind")
        folder = folder_picker.pick("Folder", key="folder brought", link="folder")
        if folder is None:
            return
        request = _pictures(folder, known) if kind == KINDS[0] else _vectors(folder)
        words, state = "optional; default: name of the folder or file", st.session_state
        name = st.text_input("Name of the run", key="name brought", placeholder=words)
        if request is not None:
            again = {LAST: ((*request, name.strip(), str(settings.runs_root())), state.get(LAST, (None, 0))[1] + 1)}
            look: dict[str, Any] = {"type": "primary", "icon": ":material/input:"}
            st.button("Import as a run", on_click=lambda: state.update(again), **look)
        if LAST in state:
            _show(*state[LAST])


def _pictures(folder: Path, known: RunLibrary) -> tuple[Any, ...] | None:
    """Ask what embeds the pictures of a folder; None while that cannot be used."""
    trained = [run.name for run in known.runs if run.used_checkpoint() and not run.config.outside]
    help = "A trained run, our pretrained network, or the name of a model of timm, which is downloaded once."
    word = st.selectbox("Encoder", [OURS, *trained], key="encoder brought", accept_new_options=True, help=help)
    if word not in trained and not is_model(word or ""):
        st.error("Type the name of a model of timm, such as resnet50; for a file or a function use `lab embed`.")
        return None
    return "pictures", str(folder), word, None


def is_model(word: str) -> bool:
    """Whether a word can only be the name of a model: not a file, nor a function, nor an address."""
    return bool(MODEL.fullmatch(word)) and kind_of(word) == NAME


def _vectors(folder: Path) -> tuple[Any, ...] | None:
    """Ask which file of a folder holds the vectors, and which one says more about them; None while there is none."""
    with os.scandir(folder) as entries:
        files = sorted(one.name for one in entries if one.is_file(follow_symlinks=False))[:MOST]
    vectors = [one for one in files if Path(one).suffix.lower() in reading.READERS]
    if not vectors:
        st.info(f"This folder has no file of vectors ({' '.join(sorted(reading.READERS))}).")
        return None
    file = page_frame.select("File of vectors", vectors, key="file brought")
    tables = ["none", *(one for one in files if Path(one).suffix.lower() in reading.TABLES and one != file)]
    help = "Class, picture, split and any further column, one row for each vector, in their order."
    table = page_frame.select("Table with more about each row", tables, key="table brought", help=help)
    lengths = page_frame.select("Lengths of the vectors", list(LENGTHS), key="lengths brought")
    return "vectors", str(folder / file), None if table == "none" else str(folder / table), LENGTHS[lengths]


@background.job("Importing", keep=8)
def _made(request: tuple[Any, ...], times: int) -> tuple[str, list[str]]:
    """The name of the run, and what is to be said of it: what was taken for what, and what was left out."""
    files.check_allowed()
    kind, path, word, normalise, name, root = request
    notes = list[str]()

    def listen(record: Record) -> None:
        if isinstance(record, Note):
            notes.append(record.sentence)

    if kind == "vectors":
        run = lab.runs.from_embeddings(path, metadata=word, normalise=normalise, name=name or None, runs=root)
    else:
        run = result_of(lab.runs.embed_folder(path, word, name=name or None, runs=root), listen)
    return run.name, [str(run.status.get("sentence", "")), *notes, *run.score_warnings()]


def _show(request: tuple[Any, ...], times: int) -> None:
    """The state of what was asked for: seconds while it is made, then the way to it, or why it could not be made."""
    try:
        made = background.if_ready(_made(request, times))
    except (ValueError, OSError, ImportError) as error:
        page_frame.say_error(error)
        return
    if made is not None:
        name, (sentence, *notes) = made
        st.success(page_frame.as_text(f"The run {name} is ready. {sentence}"))
        for note in notes:
            st.caption(page_frame.as_text(note))
        page_frame.link_to("browse", "Browse it", {"run": name})
