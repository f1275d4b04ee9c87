"""Find what is damaged in a run folder, what still works, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.core import arrays, stored
from lab.core.image_list import ImageList
from lab.core.stored import Stored
from lab.runs.building.published import state_of
from lab.runs.execute import go_by_checkpoint
from lab.runs.folder import DAMAGED, PUBLISHED, SENT, Run, stored_record
from lab.runs.schemas import Meta, Process, Remarks, ScoresFile, SentFile

ANEW = "`lab evaluate RUN` makes embeddings and scores of this split anew from the checkpoint"
RESUME = "`lab train --resume RUN` writes it anew"
MOVE = "move it away; nothing else needs it"
SMALL: dict[str, Any] = {
    "meta.json": Meta,
    "launch.json": Process,
    SENT: SentFile,
    "remarks.json": Remarks,
    "relevance.json": Stored,
    "threshold.json": Stored,
    "owner.json": Stored,
    "marks.json": Stored,
}
"""The small files of a run, and their schemas; `Stored` for files that other modules read."""


@dataclass(frozen=True)
class Damage:
    """A damaged file. advice: what to do about it, empty where nothing can be done. changed: the file is whole, and
    somebody has edited it."""

    file: str
    sentence: str
    advice: str = ""
    changed: bool = False


def check(run: Run) -> list[Damage]:
    """Read every file of a run folder and return what is damaged; changes nothing."""
    return [*_small_files(run), *_splits(run), *_arrays(run)]


def _error_of(read: Callable[[Path], Any], path: Path) -> str:
    """Return the message of a reader about a file; empty if it can be read, or does not exist."""
    try:
        read(path)
    except FileNotFoundError:
        return ""
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _listed(path: Path) -> None:
    from lab.data.images import listing

    listed = stored.read(path, ImageList, stored.MOST_LISTED)
    try:
        listing.read_list(listed)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from None


def _small_files(run: Run) -> Iterator[Damage]:
    # Configuration and published checkpoint.
    changed = ""
    with suppress(ValueError):  # of a later version
        changed = go_by_checkpoint(Run(run.path))
    error = _error_of(lambda _: run.config, run.path)
    if error:
        advice = RESUME if changed else ""
        yield Damage("config.yaml", f"cannot be used: {error} Images and embeddings can still be read.", advice)
    elif changed:
        yield Damage("config.yaml", changed, changed=True)
    published = run.checkpoint(PUBLISHED)
    if published:
        error = _error_of(lambda _: state_of(run), published)
        if error:
            yield Damage(published.name, error)
    elif (run.path / "config.yaml").exists() and run.state == DAMAGED:
        yield Damage("status.json", "says nothing sensible; the run can still be resumed.", RESUME)
    # Files of one JSON object each.
    for name, kind in SMALL.items():
        error = _error_of(partial(stored.read, kind=kind, most=stored.MOST_LISTED), run.path / name)
        if error:
            yield Damage(name, error, MOVE)
    error = _error_of(_listed, run.path / "images.json")
    if error:
        yield Damage("images.json", error, MOVE)
    for path in sorted((run.path / "scores").glob("*.json")):
        error = _error_of(partial(stored.read, kind=ScoresFile), path)
        if error:
            yield Damage(f"scores/{path.name}", error)
    # The records, line by line.
    records = run.path / "metrics.jsonl"
    if records.is_file():
        lines = records.read_bytes().split(b"\n")[:-1]  # the last line may be torn by a kill
        broken = [number for number, line in enumerate(lines, 1) if stored_record(line) is None]
        if broken:
            sentence = f"has {len(broken)} unreadable lines, the first is line {broken[0]}."
            yield Damage(records.name, sentence, "take them out")


def _loaded(path: Path) -> dict[str, Any]:
    from lab.training import checkpoint

    return checkpoint.load(path)


def _splits(run: Run) -> Iterator[Damage]:
    """Check embeddings and scores, and whether they belong together."""
    paths = filter(None, map(run.checkpoint, ("best", "last")))
    advice = ANEW if any(not _error_of(_loaded, path) for path in paths) else ""
    splits = set()
    for folder in ("embeddings", "scores"):
        for path in (run.path / folder).glob("[!.]*"):
            if path.suffix in (".safetensors", ".json"):
                splits.add(path.stem)
    for split in sorted(splits):
        error = _error_of_split(run, split)
        if error:
            yield Damage(f"embeddings/{split}.safetensors", error, advice)


def _error_of_split(run: Run, split: str) -> str:
    try:
        run.columns("embeddings", split)
        run.embeddings(split)
        scores = run.scores(split)
        if scores is None and run.config.outside and not any((run.path / "scores").glob(f"{split}.*")):
            return ""  # external embeddings that were never measured
        if scores is None:
            return "has no readable scores beside it: an evaluation was cut off, or they are damaged."
        run.per_query(split)
        header = arrays.header(run.path / "embeddings" / f"{split}.safetensors")
    except ValueError as error:
        return str(error)
    facts = ("checkpoint", "step", "evaluation")
    differ = [key for key in facts if key in header and header[key] != scores.get(key)]
    if differ:
        return f"does not belong to the scores beside it ({', '.join(differ)} differ)."
    return run.outdated(split)


def _arrays(run: Run) -> Iterator[Damage]:
    readers = {"checkpoints": _loaded, **dict.fromkeys(("batches", "frames", "failure", "maps"), arrays.read)}
    for folder, read in readers.items():
        for path in sorted((run.path / folder).glob("[!.]*.safetensors")):
            error = _error_of(read, path)
            if error:
                advice = "" if folder == "checkpoints" else MOVE
                yield Damage(str(path.relative_to(run.path)), error, advice)
