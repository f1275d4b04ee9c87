"""What is damaged in a run folder, what still works, and what can be mended. Nothing is destroyed: what has to go out
of the way is renamed to NAME.damaged.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core import arrays
from lab.core.files import read_json, set_aside
from lab.core.records import Record
from lab.runs import lock
from lab.runs.config import RunConfig
from lab.runs.execute import go_by_checkpoint
from lab.runs.folder import DAMAGED, FINISHED, INTERRUPTED, SENT, Run, stored_record
from lab.runs.writer import Writer

ANEW = "embeddings and scores of this split are made anew from the checkpoint"
FROM_CHECKPOINT = "it is made anew from the checkpoint, which holds it"
ASIDE = "it is set aside; nothing else needs it"
JSON = ("meta.json", "images.json", "launch.json", SENT, "remarks.json", "marks.json", "relevance.json")
HALF_MADE = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class Finding:
    """Something damaged. mend: what a repair does about it, empty where nothing can be done."""

    file: str
    sentence: str
    mend: str = ""


def check(run: Run) -> list[Finding]:
    """Read everything that lies in a run folder; changes nothing."""
    return [*_small_files(run), *_splits(run), *_arrays(run)]


def repair(run: Run) -> Iterator[Record]:
    """Mend what `check` finds and can be mended; yields the progress of evaluations.

    Raises:
        ValueError: the run is being written, or a split's data or checkpoint cannot be read.
        OSError: the disk is full or the folder cannot be written.
    """
    from lab.runs.evaluate import evaluate_run

    findings, records = check(run), run.metrics()
    with Writer(run) as writer:
        if any(finding.mend == FROM_CHECKPOINT for finding in findings):
            if (run.path / "config.yaml").exists():
                set_aside(run.path / "config.yaml")
            run.write_config(RunConfig.of(_kept_config(run), stored=True))
        for finding in findings:
            if finding.mend == ASIDE:
                set_aside(run.path / finding.file)
            if finding.file == "metrics.jsonl":
                for record in records:
                    writer.append(record)
        if run.state == DAMAGED:
            writer.status(**_state_found(run))
        for split in sorted(Path(finding.file).stem for finding in findings if finding.mend == ANEW):
            config = run.config
            with suppress(ValueError):
                config = run.config_of(split)
            name = config.evaluation.knobs.checkpoint
            if not _whole_checkpoint(run, name):
                config = config.changed("evaluation.checkpoint", "last" if name == "best" else "best")
            yield from evaluate_run(run, writer, config, (split,))


def half_made(root: Path) -> list[Path]:
    """Folders of runs that were never completed: nobody holds their lock."""
    if not root.is_dir():
        return []
    folders = [folder for folder in root.iterdir() if HALF_MADE.fullmatch(folder.name) and folder.is_dir()]
    return sorted(folder for folder in folders if not lock.held(folder))


def remove_half_made(root: Path) -> None:
    """Remove the folders that `half_made` finds."""
    for folder in half_made(root):
        shutil.rmtree(folder, ignore_errors=True)


def _refused(read: Callable[[Path], Any], path: Path) -> str:
    """What a reader says against a file; empty where it can be read, or is not there."""
    try:
        read(path)
    except FileNotFoundError:
        return ""
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _small_files(run: Run) -> Iterator[Finding]:
    if wrong := _refused(lambda _: run.config, run.path):
        mend = FROM_CHECKPOINT if _kept_config(run) else ""
        yield Finding("config.yaml", f"cannot be used: {wrong} Images and embeddings can still be read.", mend)
    elif changed := go_by_checkpoint(Run(run.path)):
        yield Finding("config.yaml", changed)
    if (run.path / "config.yaml").exists() and run.state == DAMAGED:
        yield Finding("status.json", "says nothing sensible; the run can still be resumed.", "it is written anew")
    for name in JSON:
        if wrong := _refused(read_json, run.path / name):
            yield Finding(name, wrong, ASIDE)
    records = run.path / "metrics.jsonl"
    *lines, _ = records.read_bytes().split(b"\n") if records.is_file() else [b""]  # a kill tears the last
    if broken := [number for number, line in enumerate(lines, 1) if stored_record(line) is None]:
        yield Finding(records.name, f"has {len(broken)} unreadable lines, the first is line {broken[0]}.", ASIDE)


def _kept_config(run: Run) -> dict[str, Any] | None:
    """The configuration in a checkpoint; None where there is none that can be read."""
    from lab.training import checkpoint

    for path in filter(None, map(run.checkpoint, ("last", "best"))):
        with suppress(ValueError):
            if kept := checkpoint.config_in(path):
                return kept
    return None


def _loaded(path: Path) -> dict[str, Any]:
    from lab.training import checkpoint

    return checkpoint.load(path)


def _whole_checkpoint(run: Run, name: str) -> bool:
    path = run.checkpoint(name)
    return path is not None and not _refused(_loaded, path)


def _splits(run: Run) -> Iterator[Finding]:
    """Embeddings and scores, and whether they belong together."""
    mend = ANEW if any(_whole_checkpoint(run, name) for name in ("best", "last")) else ""
    files = [path for folder in ("embeddings", "scores") for path in (run.path / folder).glob("[!.]*")]
    for split in sorted({path.stem for path in files if path.suffix in (".safetensors", ".json")}):
        if wrong := _wrong_with(run, split):
            yield Finding(f"embeddings/{split}.safetensors", wrong, mend)


def _wrong_with(run: Run, split: str) -> str:
    try:
        run.embeddings(split), run.embeddings(split, "gallery"), run.anchors(split)
        scores = run.scores(split)
        if scores is None and run.config.outside and not any((run.path / "scores").glob(f"{split}.*")):
            return ""  # nobody had them measured
        if scores is None:
            return "has no readable scores beside it: an evaluation was cut off, or they are damaged."
        run.per_query(split)
        stored = arrays.header(run.path / "embeddings" / f"{split}.safetensors")
    except ValueError as error:
        return str(error)
    differ = [key for key in ("checkpoint", "step", "evaluation") if key in stored and stored[key] != scores.get(key)]
    return f"does not belong to the scores beside it ({', '.join(differ)} differ)." if differ else ""


def _arrays(run: Run) -> Iterator[Finding]:
    readers = {"checkpoints": _loaded, **dict.fromkeys(("batches", "frames", "failure", "maps"), arrays.read)}
    for folder, read in readers.items():
        for path in sorted((run.path / folder).glob("[!.]*.safetensors")):
            if wrong := _refused(read, path):
                yield Finding(str(path.relative_to(run.path)), wrong, "" if folder == "checkpoints" else ASIDE)


def _state_found(run: Run) -> dict[str, Any]:
    """What a status must say, from the checkpoint and the scores that are there."""
    path, steps = run.checkpoint("last"), run.config.training.knobs.steps
    step = _loaded(path)["progress"]["step"] if path and _whole_checkpoint(run, "last") else 0
    if run.config.outside and run.splits and run.used_checkpoint() is None:
        step = steps = 0
    state = FINISHED if step == steps and (not steps or run.scores() is not None) else INTERRUPTED
    return {"state": state, "phase": state, "step": step, "steps": steps, "sentence": "Its status was damaged."}
