"""The table of runs: its rows; and what people write of runs: notes, tags and groups."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.results.run_choice import RunLibrary, chosen_name, config_of
from app.shared import page_frame, settings
from lab.report import rows as tables
from lab.runs import Run, management
from lab.runs.folder import QUEUED, RUNNING

Row = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """What the Runs page shows: all runs, their rows by name, and the split whose scores they have."""

    known: RunLibrary
    rows: dict[str, Row]
    split: str


def row(run: Run, split: str) -> Row:
    """A run's row, made once as long as its files stay; whether a process still works on it is looked up each time."""
    files = ("config.yaml", "status.json", "remarks.json", "meta.json", f"scores/{split}.json")
    stored = _stored(run.path, split, tuple(settings.written(run.path / name) for name in files))
    return {**stored, "state": run.state if stored["state"] in (RUNNING, QUEUED) else stored["state"]}


@lru_cache(maxsize=5_000)
def _stored(path: Path, split: str, written: tuple[int, ...]) -> Row:
    run = Run(path)
    config = config_of(run)
    return tables.row(run, config, {s: chosen_name(config, s) for s in ("loss", "encoder", "data")}, split)


def tags_of(rows: Iterable[Row]) -> list[str]:
    """Every tag of these rows of the table, from a to z."""
    return sorted({tag for row in rows for tag in row["tags"]})


def remarks_of_one(run: Run, known: Sequence[str]) -> None:
    """The form for one run. known: tags to choose from."""
    written = management.notes(run)
    with st.form(f"remarks of {run.name}", border=False):
        note = st.text_area("Note", written["note"], height=96, max_chars=management.MAX_NOTE)
        options = list(dict.fromkeys([*written["tags"], *known]))
        tags = st.multiselect("Tags", options, written["tags"], accept_new_options=True, placeholder="none")
        group = st.text_input("Group", written["group"], max_chars=management.MAX_GROUP, placeholder="none")
        if st.form_submit_button("Save note, tags and group"):
            _annotated([run], lambda _: {"note": note, "tags": tags, "group": group})


def remarks_of_several(runs: Sequence[Run], rows: Sequence[Row], known: Sequence[str]) -> None:
    """The form for several runs; what is left empty stays as it is. rows: theirs in the table."""
    words = f"Tag or group these {len(runs)} runs"
    key = "remarks of " + "/".join(run.name for run in runs)  # what was written for some is not meant for others
    with page_frame.expander(words, link="together"), st.form(key, clear_on_submit=True, border=False):
        added = st.multiselect("Add tags", known, accept_new_options=True, placeholder="none")
        removed = st.multiselect("Remove tags", tags_of(rows), placeholder="none")
        group = st.text_input("Put into group", max_chars=management.MAX_GROUP, placeholder="leave as it is")
        out = st.checkbox("Take out of their groups", disabled=not any(row["group"] for row in rows))
        if st.form_submit_button("Save tags and group"):
            tags = {row["run"]: [*(tag for tag in row["tags"] if tag not in removed), *added] for row in rows}
            put = "" if out else group.strip() or None
            _annotated(runs, lambda run: {"tags": tags[run.name], "group": put})


def _annotated(runs: Sequence[Run], words: Callable[[Run], dict[str, Any]]) -> None:
    """Write, then draw the page anew; a refusal is a sentence."""
    with page_frame.refusals():
        for run in runs:
            management.annotate(run, **words(run))
        st.rerun()
