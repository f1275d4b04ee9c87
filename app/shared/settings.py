"""The folders that the dashboard may read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlit import runtime

import lab.runs
from lab.core import files
from lab.core.files import whole
from lab.core.knobs import Knobs
from lab.core.words import PATH
from lab.data import ImageSet
from lab.runs import RunConfig, boundary
from lab.runs.marks import CORRECTIONS

RUNS = "LAB_RUNS"
"""Environment variable that names the folder of runs, for the dashboard and the processes that it starts."""

DATA = "LAB_DATA"
"""Environment variable with the folders that may hold images and weights, separated as in PATH."""

TABLES = (CORRECTIONS, ".left-out")
"""Subfolders of the folder of runs with tables of corrections; version 0.2 wrote the second."""

UNPACKED = ".unpacked"
"""Subfolder of the folder of runs with uploaded images."""


def runs_root() -> Path:
    """Return the folder of runs. Nothing outside it is opened as a run."""
    return lab.runs.default_root().resolve()


def written(path: Path) -> int:
    """Return when a file was last written, in nanoseconds, or 0 if there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def data_roots() -> tuple[Path, ...]:
    """Return the folders in which a configuration may name images and weights.

    By default they are the home folder and the working directory. Uploaded images are always among them.
    """
    folders = [Path(name) for name in os.environ.get(DATA, "").split(os.pathsep) if name]
    if not folders:
        folders = [Path("~"), Path.cwd()]
    uploaded = runs_root() / UNPACKED
    if uploaded.is_dir():
        folders.append(uploaded)
    return tuple(dict.fromkeys(whole(folder) for folder in folders))


def confine_folder(folder: Path) -> Path:
    """Return a folder, with links resolved, if it is inside a folder of `data_roots`.

    Raises:
        ValueError: the folder is outside or does not exist. The message says how to allow it.
    """
    resolved = whole(folder)
    rights = boundary.Rights("The form", below=data_roots(), on_page=True)
    rights.check([rights.reference("Folder", PATH, str(folder))])
    if not resolved.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    return resolved


def confine(config: RunConfig) -> RunConfig:
    """Return a form's configuration if it names no program and no URL, and only paths inside `data_roots`.

    Raises:
        ValueError: names the parameter, its value and how to allow it.
    """
    tables = [runs_root() / folder for folder in TABLES]  # written by the dashboard
    rights = boundary.Rights("The form", below=(*data_roots(), *tables), on_page=True)
    for choice in config.choices:
        rights.check(rights.reference(*program) for program in choice.programs())
        rights.check(rights.reference(*path) for path in choice.named(downloads=False))
    return config


def confine_figure(kind: type[Knobs], values: Mapping[str, Any]) -> None:
    """Refuse a figure whose parameters name a file that this page may not read. A guest may read only files of runs.

    Raises:
        ValueError: names the parameter, its value and how to allow it.
    """
    if files.guest():
        folders: tuple[Path, ...] = (runs_root(),)
    else:
        folders = _readable()
    rights = boundary.Rights("The figure", below=folders, on_page=True)
    rights.check(rights.reference(*path) for path in boundary.named("figure", kind, values))


def confine_images(images: ImageSet) -> ImageSet:
    """Return a data set if all its files are inside `data_roots`. A manifest or a link could name any file.

    Raises:
        ValueError: names the first folder that is outside, and how to allow it.
    """
    boundary.check_images(images, boundary.Rights(images.name, below=_readable(), on_page=True))
    return images


def _readable() -> tuple[Path, ...]:
    """Return the folders that files of a run may refer to: those of the data, and that of the runs."""
    return (*data_roots(), runs_root())


def _roots() -> tuple[Path, ...] | None:
    """Return the readable folders if this process works for a page, or None if it does not serve a dashboard."""
    if runtime.exists() or hasattr(files.thread, "guest"):
        return _readable()
    return None


boundary.roots = _roots
