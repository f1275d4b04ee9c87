"""The rows of the table of runs, and the forms for notes, tags and groups."""

from collections.abc import Iterable, Sequence
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
class RunsScene:
    """What the Runs page shows: all runs, their rows by name, and the split of the scores."""

    library: RunLibrary
    rows: dict[str, Row]
    split: str


def row(run: Run, split: str) -> Row:
    """Return a run's row. Its files are read again only after they have changed; the state is always current."""
    files = ("config.yaml", "status.json", "remarks.json", "meta.json", f"scores/{split}.json")
    written = tuple(settings.written(run.path / name) for name in files)
    stored = dict(_stored(run.path, split, written))
    if stored["state"] in (RUNNING, QUEUED):
        stored["state"] = run.state
    return stored


@lru_cache(maxsize=5_000)
def _stored(path: Path, split: str, written: tuple[int, ...]) -> Row:
    run = Run(path)
    config = config_of(run)
    names = {section: chosen_name(config, section) for section in ("loss", "encoder", "data")}
    return tables.row(run, config, names, split)


def tags_of(rows: Iterable[Row]) -> list[str]:
    """Return all tags of some rows, sorted."""
    tags: set[str] = set()
    for row in rows:
        tags.update(row["tags"])
    return sorted(tags)


def annotate_one(run: Run, all_tags: Sequence[str]) -> None:
    """Draw the form for a run's note, tags and group. all_tags: tags to choose from."""
    current = management.notes(run)
    with st.form(f"remarks of {run.name}", border=False):
        note = st.text_area("Note", current["note"], height=96, max_chars=management.MAX_NOTE)
        options = list(dict.fromkeys([*current["tags"], *all_tags]))
        tags = st.multiselect(
            "Tags", options, current["tags"], accept_new_options=True, placeholder="none"
        )
        group = st.text_input(
            "Group", current["group"], max_chars=management.MAX_GROUP, placeholder="none"
        )
        if st.form_submit_button("Save note, tags and group"):
            with page_frame.refusals():
                management.annotate(run, note=note, tags=tags, group=group)
                st.rerun()


def annotate_several(runs: Sequence[Run], rows: Sequence[Row], all_tags: Sequence[str]) -> None:
    """Draw the form for tags and group of several runs. Empty fields change nothing. rows: the runs' rows."""
    label = f"Tag or group these {len(runs)} runs"
    key = "remarks of " + "/".join(run.name for run in runs)  # other runs have an empty form
    with (
        page_frame.expander(label, link="together"),
        st.form(key, clear_on_submit=True, border=False),
    ):
        added = st.multiselect("Add tags", all_tags, accept_new_options=True, placeholder="none")
        removed = st.multiselect("Remove tags", tags_of(rows), placeholder="none")
        group = st.text_input(
            "Put into group", max_chars=management.MAX_GROUP, placeholder="leave as it is"
        )
        remove_group = st.checkbox(
            "Remove from their groups", disabled=not any(row["group"] for row in rows)
        )
        if st.form_submit_button("Save tags and group"):
            new_group = group.strip() or None
            if remove_group:
                new_group = ""
            with page_frame.refusals():
                for run, row in zip(runs, rows, strict=True):
                    kept = [tag for tag in row["tags"] if tag not in removed]
                    management.annotate(run, tags=[*kept, *added], group=new_group)
                st.rerun()
