"""Import embeddings of another model, or embed a folder of pictures, as a run."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

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

OPEN = "bring"
"""Session key and URL parameter: whether the panel is open."""

LAST = "what is brought"
"""Session key of the last request and its number."""

KINDS = ("A folder of pictures", "A file of vectors")
LENGTHS = {
    "They have unit length": None,
    "Scale them to unit length": True,
    "Keep them, and compare by distance": False,
}
"""Label to the argument `normalise`."""

BUNDLED = "efficientnet_lite0"
"""The pretrained encoder that needs no download."""

MODEL = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?")
"""Name of a model of timm. Functions and files are programs, which a page does not run."""

MOST = 5_000
"""Most files of a folder to list."""


@dataclass(frozen=True)
class ImportRequest:
    """A request to create a run.

    kind: "pictures" or "vectors". path: folder or file. extra: the encoder, or the table of metadata.
    """

    kind: str
    path: str
    extra: str | None
    normalise: bool | None = None
    name: str = ""
    root: str = ""


def panel(runs: RunLibrary) -> None:
    """Draw the panel. runs: their encoders can embed pictures."""
    page_frame.keep(OPEN, False, link=OPEN)
    with st.expander(
        "Import vectors or pictures", key=OPEN, on_change="rerun", icon=":material/input:"
    ):
        if not st.session_state[OPEN]:
            return
        if files.guest():
            st.caption(f":material/visibility: {folder_picker.OWNER_ONLY}")
            return
        st.markdown(
            "Nothing is trained, and labels are not needed. Your files stay where they are."
        )
        kind = page_frame.choice("What to import", KINDS, key="kind brought", link="kind")
        folder = folder_picker.pick("Folder", key="folder brought", link="folder")
        if folder is None:
            return
        if kind == KINDS[0]:
            request = _choose_pictures(folder, runs)
        else:
            request = _choose_vectors(folder)
        placeholder = "optional; default: name of the folder or file"
        name = st.text_input("Name of the run", key="name brought", placeholder=placeholder)

        if request is not None:
            named = replace(request, name=name.strip(), root=str(settings.runs_root()))
            st.button(
                "Import as a run",
                on_click=_start,
                args=(named,),
                type="primary",
                icon=":material/input:",
            )
        if LAST in st.session_state:
            _show(*st.session_state[LAST])


def _start(request: ImportRequest) -> None:
    """Remember a request. Its number is new, so that the same request can be repeated."""
    _, number = st.session_state.get(LAST, (None, 0))
    st.session_state[LAST] = (request, number + 1)


def _choose_pictures(folder: Path, runs: RunLibrary) -> ImportRequest | None:
    """Choose the encoder for the pictures of a folder. Return None while it cannot be used."""
    trained = [run.name for run in runs.runs if run.used_checkpoint() and not run.config.outside]
    help = "A trained run, the bundled pretrained network, or the name of a model of timm, which is downloaded once."
    encoder = st.selectbox(
        "Encoder", [BUNDLED, *trained], key="encoder brought", accept_new_options=True, help=help
    )
    if encoder not in trained and not is_model(encoder or ""):
        st.error(
            "Type the name of a model of timm, such as resnet50; for a file or a function use `lab embed`."
        )
        return None
    return ImportRequest("pictures", str(folder), encoder)


def is_model(word: str) -> bool:
    """Return whether a word can only be the name of a model, not a file, a function or a URL."""
    return bool(MODEL.fullmatch(word)) and kind_of(word) == NAME


def _choose_vectors(folder: Path) -> ImportRequest | None:
    """Choose a folder's file of vectors, and a table about its rows. Return None if there is no such file."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))[
            :MOST
        ]
    vectors = [name for name in names if Path(name).suffix.lower() in reading.READERS]
    if not vectors:
        st.info(f"This folder has no file of vectors ({' '.join(sorted(reading.READERS))}).")
        return None
    file = page_frame.select("File of vectors", vectors, key="file brought")
    tables = [
        name for name in names if Path(name).suffix.lower() in reading.TABLES and name != file
    ]
    help = "Class, picture, split and any further column, one row for each vector, in their order."
    table = page_frame.select(
        "Table with more about each row", ["none", *tables], key="table brought", help=help
    )
    lengths = page_frame.select("Lengths of the vectors", list(LENGTHS), key="lengths brought")
    metadata = None if table == "none" else str(folder / table)
    return ImportRequest("vectors", str(folder / file), metadata, LENGTHS[lengths])


@background.job("Importing", keep=8)
def _import(request: ImportRequest, number: int) -> tuple[str, list[str]]:
    """Create the run. Return its name and notes on what was read and left out."""
    files.check_allowed()
    name = request.name or None
    notes = list[str]()

    def listen(record: Record) -> None:
        if isinstance(record, Note):
            notes.append(record.sentence)

    if request.kind == "vectors":
        run = lab.runs.from_embeddings(
            request.path,
            metadata=request.extra,
            normalise=request.normalise,
            name=name,
            runs=request.root,
        )
    else:
        run = result_of(
            lab.runs.embed_folder(request.path, str(request.extra), name=name, runs=request.root),
            listen,
        )
    return run.name, [str(run.status.get("sentence", "")), *notes, *run.score_warnings()]


def _show(request: ImportRequest, number: int) -> None:
    """Draw the progress of an import, then a link to the run, or the reason of a failure."""
    try:
        imported = background.if_ready(_import(request, number))
    except (ValueError, OSError, ImportError) as error:
        page_frame.say_error(error)
        return
    if imported is not None:
        name, (sentence, *notes) = imported
        st.success(page_frame.as_text(f"The run {name} is ready. {sentence}"))
        for note in notes:
            st.caption(page_frame.as_text(note))
        page_frame.link_to("browse", "Browse it", {"run": name})
