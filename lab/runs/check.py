"""What is damaged in a run folder, what still works, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core import arrays
from lab.runs.building.published import state_of
from lab.runs.execute import go_by_checkpoint
from lab.runs.folder import DAMAGED, PUBLISHED, Run, stored_record
from lab.runs.schemas import FILES

ANEW = "`lab evaluate RUN` makes embeddings and scores of this split anew from the checkpoint"
RESUME = "`lab train --resume RUN` writes it anew"
MOVE = "move it away; nothing else needs it"
ANOTHER = ("config.json", "images.json", "status.json")
"""Files of `FILES` of which more is said than that nothing needs them."""


@dataclass(frozen=True)
class Damage:
    """Something damaged. advice: what to do about it, empty where nothing can be done. changed: the file is whole, and
    somebody has edited it."""

    file: str
    sentence: str
    advice: str = ""
    changed: bool = False


def check(run: Run) -> list[Damage]:
    """Read everything that lies in a run folder; changes nothing. Where links lead out of it, nothing is read."""
    return [*_links(run)] or [*_small_files(run), *_splits(run), *_arrays(run)]


def _links(run: Run) -> Iterator[Damage]:
    """Files that are links which may not be followed."""
    for path in sorted((*run.path.glob("*"), *run.path.glob("*/*"))):
        name = path.relative_to(run.path).as_posix()
        if path.is_symlink() and (wrong := _refused(run.file, name)):
            yield Damage(name, wrong, "replace it by the file itself")


def _refused(read: Callable[[Any], Any], path: Any) -> str:
    """What a reader says against a file; empty where it can be read, or is not there."""
    try:
        read(path)
    except FileNotFoundError:
        return ""
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _listed(run: Run) -> None:
    from lab.data.images import listing

    kept = run.read("images.json")
    try:
        listing.read_list(kept)
    except ValueError as error:
        raise ValueError(f"{run.path / 'images.json'} is damaged: {error}.") from None


def _small_files(run: Run) -> Iterator[Damage]:
    changed = ""
    with suppress(ValueError):  # of a version that knows more
        changed = go_by_checkpoint(Run(run.path))
    if wrong := _refused(lambda _: run.config, run.path):
        advice = RESUME if changed else ""
        yield Damage(
            "config.yaml",
            f"cannot be used: {wrong} Images and embeddings can still be read.",
            advice,
        )
    elif changed:
        yield Damage("config.yaml", changed, changed=True)
    if published := run.checkpoint(PUBLISHED):
        if wrong := _refused(lambda _: state_of(run), published):
            yield Damage(published.name, wrong)
    elif (run.path / "config.yaml").exists() and run.state == DAMAGED:
        yield Damage("status.json", "says nothing sensible; the run can still be resumed.", RESUME)
    for name in FILES:
        if "*" not in name and name not in ANOTHER and (wrong := _refused(run.read, name)):
            yield Damage(name, wrong, MOVE)
    if wrong := _refused(_listed, run):
        yield Damage("images.json", wrong, MOVE)
    for path in sorted((run.path / "scores").glob("*.json")):
        if wrong := _refused(run.read, f"scores/{path.name}"):
            yield Damage(f"scores/{path.name}", wrong)
    records = run.file("metrics.jsonl")
    # a kill tears the last
    *lines, _ = records.read_bytes().split(b"\n") if records.is_file() else [b""]
    if broken := [number for number, line in enumerate(lines, 1) if stored_record(line) is None]:
        yield Damage(
            records.name,
            f"has {len(broken)} unreadable lines, the first is line {broken[0]}.",
            "take them out",
        )


def _loaded(path: Path) -> dict[str, Any]:
    from lab.training import checkpoint

    return checkpoint.load(path)


def _splits(run: Run) -> Iterator[Damage]:
    """Embeddings and scores, and whether they belong together."""
    paths = filter(None, map(run.checkpoint, ("best", "last")))
    advice = ANEW if any(not _refused(_loaded, path) for path in paths) else ""
    files = [
        path for folder in ("embeddings", "scores") for path in (run.path / folder).glob("[!.]*")
    ]
    for split in sorted({path.stem for path in files if path.suffix in (".safetensors", ".json")}):
        if wrong := _wrong_with(run, split):
            yield Damage(f"embeddings/{split}.safetensors", wrong, advice)


def _wrong_with(run: Run, split: str) -> str:
    try:
        run.columns("embeddings", split), run.embeddings(split)
        scores = run.scores(split)
        if (
            scores is None
            and run.config.outside
            and not any((run.path / "scores").glob(f"{split}.*"))
        ):
            return ""  # nobody had them measured
        if scores is None:
            return (
                "has no readable scores beside it: an evaluation was cut off, or they are damaged."
            )
        run.per_query(split)
        stored = run.header(split)
    except ValueError as error:
        return str(error)
    differ = [
        key
        for key in ("checkpoint", "step", "evaluation")
        if key in stored and stored[key] != scores.get(key)
    ]
    if differ:
        return f"does not belong to the scores beside it ({', '.join(differ)} differ)."
    return run.outdated(split)


def _arrays(run: Run) -> Iterator[Damage]:
    readers = {
        "checkpoints": _loaded,
        **dict.fromkeys(("batches", "frames", "failure", "maps"), arrays.read),
    }
    for folder, read in readers.items():
        for path in sorted((run.path / folder).glob("[!.]*.safetensors")):
            if wrong := _refused(read, path):
                yield Damage(
                    str(path.relative_to(run.path)), wrong, "" if folder == "checkpoints" else MOVE
                )
