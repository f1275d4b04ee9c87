"""What people write of runs: notes, tags and groups, of one run or of several at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from app.shared import page_frame
from lab.runs import Run, shelf


def tags_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Every tag of these rows of the table, from a to z."""
    return sorted({tag for row in rows for tag in row["tags"]})


def groups_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Every group of these rows of the table, from a to z."""
    return sorted({row["group"] for row in rows} - {""})


def of_one(run: Run, known: Sequence[str]) -> None:
    """The form for one run. known: tags to choose from."""
    written = shelf.notes(run)
    with st.form(f"remarks of {run.name}", border=False):
        note = st.text_area("Note", written["note"], height=96, max_chars=shelf.MAX_NOTE)
        options = list(dict.fromkeys([*written["tags"], *known]))
        tags = st.multiselect("Tags", options, written["tags"], accept_new_options=True, placeholder="none")
        group = st.text_input("Group", written["group"], max_chars=shelf.MAX_GROUP, placeholder="none")
        if st.form_submit_button("Save note, tags and group"):
            _annotated([run], lambda _: {"note": note, "tags": tags, "group": group})


def of_several(runs: Sequence[Run], rows: Sequence[dict[str, Any]], known: Sequence[str]) -> None:
    """The form for several runs; what is left empty stays as it is. rows: theirs in the table."""
    words = f"Tag or group these {len(runs)} runs"
    with page_frame.fold(words, link="together"), st.form(_key(runs), clear_on_submit=True, border=False):
        added = st.multiselect("Add tags", known, accept_new_options=True, placeholder="none")
        removed = st.multiselect("Remove tags", tags_of(rows), placeholder="none")
        group = st.text_input("Put into group", max_chars=shelf.MAX_GROUP, placeholder="leave as it is")
        out = st.checkbox("Take out of their groups", disabled=not groups_of(rows))
        if st.form_submit_button("Save tags and group"):
            tags = {row["run"]: [*(tag for tag in row["tags"] if tag not in removed), *added] for row in rows}
            put = "" if out else group.strip() or None
            _annotated(runs, lambda run: {"tags": tags[run.name], "group": put})


def _key(runs: Sequence[Run]) -> str:
    """Another form for other runs: what was written for some is not meant for others."""
    return "remarks of " + "/".join(run.name for run in runs)


def _annotated(runs: Sequence[Run], words: Any) -> None:
    """Write, then draw the page anew; a refusal is a sentence."""
    try:
        for run in runs:
            shelf.annotate(run, **words(run))
    except (ValueError, OSError) as error:
        page_frame.say_error(error)
        return
    st.rerun()
