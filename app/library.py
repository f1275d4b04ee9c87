"""The folder of runs: what is in it, what cannot be read, and which run a page is about."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import lab.runs
from app import address, frame, settings
from app.cache import SPLITS, RunView


def entries() -> tuple[list[RunView], dict[str, str]]:
    """All runs, newest first, and a sentence for each folder that cannot be read."""
    root = settings.runs_root()
    folders = [p for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")] if root.is_dir() else []
    views, broken = [], {}
    for folder in sorted(folders, key=lambda p: p.stat().st_mtime, reverse=True):
        try:
            views.append(_view(folder))
        except (ValueError, OSError) as error:
            broken[folder.name] = str(error)
    return views, broken


def choose_run() -> RunView:
    """The run picker of the sidebar. Without a run that can be browsed it says what to do next and ends the page."""
    views, broken = entries()
    ready = {view.name: view for view in views if view.splits}
    with st.sidebar:
        if ready:
            address.adopt("run", str, ready)
            name = frame.select("Run", list(ready), key="run", format=lambda n: n)
        _warn(broken)
    if ready:
        return ready[name]
    _say_what_next(len(views))
    st.stop()


def _view(folder: Path) -> RunView:
    run = lab.runs.open(folder)
    stored = {p.stem: p.stat().st_mtime for p in (folder / "embeddings").glob("*.safetensors")}
    splits = tuple(s for s in SPLITS if s in stored)
    config = run.config
    summary = f"{config.loss.name} · {config.encoder.name} · {config.data.name}"
    return RunView(folder.name, max(stored.values(), default=0.0), splits, summary)


def _warn(broken: dict[str, str]) -> None:
    if broken:
        with st.expander(f"{len(broken)} folder{'s' if len(broken) > 1 else ''} could not be read"):
            for name, sentence in broken.items():
                st.text(f"{name}: {sentence}")


def _say_what_next(unfinished: int) -> None:
    root = settings.runs_root()
    if unfinished:
        st.info(
            f"{unfinished} run{'s' if unfinished > 1 else ''} in this folder, none with embeddings yet. A run can be "
            "browsed once its first evaluation is done; or embed one now:"
        )
        st.code(f"lab embed {root.name}/RUN", language="bash")
    else:
        st.info(f"No runs yet in {root}. Train one on the images that come with Ranklab; it takes a few minutes:")
        st.code(f"lab train --data emoji7 --loss recall_at_k --runs {root.name}", language="bash")
