"""Train again without the marked images: what is left out goes into a table, and the form is filled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.forms import knob_forms
from app.shared import page_frame, settings
from lab.core.files import write_text
from lab.data._base import listed_images
from lab.runs import Run, marks


def offer(run: Run, known: dict[str, str], counts: Sequence[tuple[str, int]]) -> None:
    """The button, where the run's data set can leave images out.

    Args:
        known: image to mark. counts: split to how many of its images are marked.
    """
    data = run.config.data
    if data.outside or "leave_out" not in data.values:
        return
    by_split = ", ".join(f"{count:,} in {split}" for split, count in counts if count)
    if st.button(
        "Train again without them", icon=":material/replay:", type="primary",
        help="Fills the form of the Train page with this run's settings. The marked images are then neither trained on "
        f"nor tested on ({by_split or 'none of them is in a split'}), so its scores are of fewer images.",
    ):  # fmt: skip
        try:
            table = written(settings.runs_root(), known, data.values["leave_out"])
            knob_forms.fill(run.config.changed("data.leave_out", str(table)))
        except (ValueError, OSError) as error:
            page_frame.say_error(error)
            return
        st.session_state["preset"] = st.session_state["recipe"] = None
        st.switch_page("views/train/page.py")


def written(root: Path, known: dict[str, str], before: str | None) -> Path:
    """The table of the marked images and of those that the run left out already."""
    left = {} if before is None else dict.fromkeys(listed_images(Path(before).expanduser()), "left out before")
    text = marks.as_csv(left | known, {})
    path = root / settings.LEFT_OUT / f"{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}.csv"
    if not path.is_file():
        write_text(path, text)
    return path
