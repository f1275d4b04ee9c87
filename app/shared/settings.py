"""Where the dashboard may look."""

import os
import re
from pathlib import Path

import lab.runs
from lab.core.files import whole
from lab.data import ImageSet
from lab.data.streams.streamed_set import StreamedSet
from lab.runs import RunConfig
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
    _refuse_outside(place, str(folder), place)
    if not place.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    return place


def confine(config: RunConfig) -> RunConfig:
    """Hand a configuration back if every path in it lies below a folder of `data_roots`.

    Raises:
        ValueError: names the knob, the path and how to allow it.
    """
    for knob, address in config.addresses():
        raise ValueError(
            f"{knob}: {address} is an address, and this dashboard reads only files of this machine; train it with "
            "`lab train`."
        )
    for knob, path in config.paths():
        if any(path.is_relative_to(runs_root() / folder) for folder in TABLES):
            continue  # which the dashboard wrote itself
        _refuse_outside(path, f"{knob}: {path}", path.parent)
    for text in re.findall(r'[^":{},]+', getattr(config.encoder.knobs, "base", None) or ""):  # a name, a file, or JSON
        if Path(text := text.strip()).exists():
            _refuse_outside(whole(Path(text)), f"encoder.base: {text}", whole(Path(text)).parent)
    return config


def confine_images(images: ImageSet) -> ImageSet:
    """Hand a data set back if all its files lie below a folder of `data_roots`: a manifest or a link may lead anywhere.

    Raises:
        ValueError: names the first folder that does not, and how to allow it.
    """
    if isinstance(images, StreamedSet):
        for file in images.index.files:
            _refuse_outside(Path(file).resolve(), f"{images.name}: {file} or what it links to", Path(file).parent)
    if images.root is not None and images.pixels is None:
        paths = [images.path(i) for i in range(len(images))]
        for folder in sorted({path.parent for path in paths}):
            if folder.resolve().is_relative_to(runs_root()):
                continue  # pictures that a run keeps itself
            _refuse_outside(folder.resolve(), f"{images.name} lists images in {folder}, which", folder)
        for path in filter(os.path.islink, paths):
            _refuse_outside(path.resolve(), f"{images.name}: {path} is a link to what", path.resolve().parent)
    return images


def _refuse_outside(path: Path, what: str, allow: Path) -> None:
    roots = data_roots()
    if not any(path.is_relative_to(root) for root in roots):
        raise ValueError(
            f"{what} lies outside the folders that this dashboard may read ({', '.join(map(str, roots))}); "
            f"start it with --data {allow} to allow it."
        )
