"""Where the dashboard may look."""

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
"""Environment variable that names the folders below which images and weights may lie, separated as in PATH."""


TABLES = (CORRECTIONS, ".left-out")
"""Folders below that of runs which hold tables of corrections; the second is of version 0.2."""


UNPACKED = ".unpacked"
"""Folder below that of runs which holds images that a browser brought in a ZIP."""


def runs_root() -> Path:
    """The folder of runs; nothing outside it is ever opened as a run."""
    return lab.runs.default_root().resolve()


def written(path: Path) -> int:
    """When a file was last written, in nanoseconds; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def data_roots() -> tuple[Path, ...]:
    """The folders below which a configuration may look for images and weights: by default home and where we stand; and
    the images that a browser brought."""
    named = [Path(one) for one in os.environ.get(DATA, "").split(os.pathsep) if one]
    brought = [runs_root() / UNPACKED] if (runs_root() / UNPACKED).is_dir() else []
    return tuple(dict.fromkeys(whole(path) for path in (*(named or (Path("~"), Path.cwd())), *brought)))


def confine_folder(folder: Path) -> Path:
    """Hand a folder back, links followed, if it lies below a folder of `data_roots`.

    Raises:
        ValueError: it does not, or there is no such folder; says how to allow it.
    """
    place = whole(folder)
    rights = boundary.Rights("The form", below=data_roots(), on_page=True)
    rights.check([rights.reference("Folder", PATH, str(folder))])
    if not place.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    return place


def confine(config: RunConfig) -> RunConfig:
    """Hand a configuration of a form back if it names no program and no address, and every path in it lies below a
    folder of `data_roots`.

    Raises:
        ValueError: names the knob, its value and how to allow it.
    """
    tables = [runs_root() / folder for folder in TABLES]  # which the dashboard wrote itself
    rights = boundary.Rights("The form", below=(*data_roots(), *tables), on_page=True)
    for choice in config.choices:
        rights.check(rights.reference(*words) for words in choice.programs())
        rights.check(rights.reference(*words) for words in choice.named(downloads=False))
    return config


def confine_figure(kind: type[Knobs], values: Mapping[str, Any]) -> None:
    """Refuse a figure whose knobs name a file that this page may not read: a guest sees no files but those of runs.

    Raises:
        ValueError: names the knob, its value and how to allow it.
    """
    below = (runs_root(),) if files.guest() else _readable()
    rights = boundary.Rights("The figure", below=below, on_page=True)
    rights.check(rights.reference(*words) for words in boundary.named("figure", kind, values))


def confine_images(images: ImageSet) -> ImageSet:
    """Hand a data set back if all its files lie below a folder of `data_roots`: a manifest or a link may lead anywhere.

    Raises:
        ValueError: names the first folder that does not, and how to allow it.
    """
    boundary.check_images(images, boundary.Rights(images.name, below=_readable(), on_page=True))
    return images


def _readable() -> tuple[Path, ...]:
    """The folders below which the files of a run may name others: those of the data, and that of the runs."""
    return (*data_roots(), runs_root())


def _roots() -> tuple[Path, ...] | None:
    """The same for what works for a page; None for a process that serves no dashboard."""
    return _readable() if runtime.exists() or hasattr(files.thread, "guest") else None


boundary.roots = _roots
