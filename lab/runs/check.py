"""What is damaged in a run folder, what still works, and what can be mended. Nothing is destroyed: what has to go out
of the way is renamed to NAME.damaged.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core.files import other_kind, read_json, set_aside
from lab.core.records import Record
from lab.runs import lock
from lab.runs.folder import DAMAGED, FINISHED, INTERRUPTED, SENT, Run, header, tensors
from lab.runs.writer import FOLDERS, Writer

ANEW = "embeddings and scores of this split are made anew from the checkpoint"
ASIDE = "is set aside; nothing else needs it"
HALF_MADE = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class Finding:
    """Something damaged. mend: what a repair does about it, empty where nothing can be done."""

    file: str
    sentence: str
    mend: str = ""


def check(run: Run) -> list[Finding]:
    """Read everything that lies in a run folder; changes nothing."""
    looks = (_config, _status, _json, _leftovers, _records, _checkpoints, _splits, _arrays)
    return [finding for look in looks for finding in look(run)]


def repair(run: Run) -> Iterator[Record]:
    """Mend what `check` finds and can be mended; yields the progress of evaluations.

    Raises:
        ValueError: the run is being written, or a split's data or checkpoint cannot be read.
        OSError: the disk is full or the folder cannot be written.
    """
    findings = check(run)
    with Writer(run) as writer:  # which removes what killed writers left
        for leftover in _left(run.path):
            leftover.unlink(missing_ok=True)
        for finding in findings:
            if finding.mend.endswith(ASIDE) and (run.path / finding.file).exists():
                set_aside(run.path / finding.file)
        if run.status["state"] == DAMAGED:
            writer.status(**_state_found(run))
        if any(f.file == "metrics.jsonl" and f.mend for f in findings):
            writer.mend_records(_step(run))
        yield from _evaluated_anew(run, writer, {Path(f.file).stem for f in findings if f.mend == ANEW})


def half_made(root: Path) -> list[Path]:
    """Folders of runs that were never completed: nobody holds their lock."""
    if not root.is_dir():
        return []
    folders = [folder for folder in root.iterdir() if HALF_MADE.fullmatch(folder.name) and folder.is_dir()]
    return sorted(folder for folder in folders if lock.held(folder) is False)


def remove_half_made(root: Path) -> None:
    """Remove the folders that `half_made` finds."""
    for folder in half_made(root):
        shutil.rmtree(folder, ignore_errors=True)


def _config(run: Run) -> Iterator[Finding]:
    try:
        _ = run.config
    except (ValueError, OSError) as error:
        yield Finding("config.yaml", f"cannot be used: {error} Images and embeddings can still be read.")


def _status(run: Run) -> Iterator[Finding]:
    if run.status["state"] == DAMAGED:
        yield Finding("status.json", "says nothing sensible; the run can still be resumed.", "it is written anew")


def _json(run: Run) -> Iterator[Finding]:
    for name in ("meta.json", "images.json", "launch.json", SENT, "remarks.json", "marks.json", "relevance.json"):
        with suppress(FileNotFoundError):
            try:
                read_json(run.path / name)
            except ValueError:
                yield Finding(name, "is no JSON object.", f"it {ASIDE}")


def _leftovers(run: Run) -> Iterator[Finding]:
    if lock.held(run.path) is False:
        for path in _left(run.path):
            yield Finding(str(path.relative_to(run.path)), "was left by a process that was killed.", "it is removed")


def _left(folder: Path) -> list[Path]:
    """Temporary files of ours, and those that safetensors made in version 0.1."""
    places = [folder, *(folder / name for name in FOLDERS)]
    return sorted(path for place in places for path in place.glob(".*") if re.search(r"\.tmp$|^\.tmp\w{6}$", path.name))


def _records(run: Run) -> Iterator[Finding]:
    path = run.path / "metrics.jsonl"
    if kind := other_kind(path):
        yield Finding("metrics.jsonl", f"is {kind}, not a file.", f"it {ASIDE}")
        return
    records, broken = run.records_and_damage()
    mend = "the file is set aside, and what can be read is written anew"
    if broken:
        yield Finding("metrics.jsonl", f"has {len(broken)} unreadable lines, the first is line {broken[0]}.", mend)
    if path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        yield Finding("metrics.jsonl", "ends within a line, as a kill leaves it.", "the end is cut off")
    step = _step(run)
    if step and not any(r["kind"] == "saved" and r.get("step") == step and r.get("name") == "last" for r in records):
        yield Finding("metrics.jsonl", f"lacks the line about the checkpoint of step {step}.", "it is added")
    steps = {r.get("step") for r in records if r["kind"] == "stepped"}
    missing = sorted(set(range(1, step + 1)) - steps)
    if missing:
        yield Finding("metrics.jsonl", f"lacks {len(missing)} steps from {missing[0]} on; curves have a gap there.")
    if len(steps) < sum(r["kind"] == "stepped" for r in records):
        yield Finding("metrics.jsonl", "holds steps twice: two processes wrote it.")


def _checkpoints(run: Run) -> Iterator[Finding]:
    from lab.training import checkpoint

    for path in sorted((run.path / "checkpoints").glob("[!.]*.safetensors")):
        try:
            checkpoint.load(path)
        except ValueError as error:
            yield Finding(str(path.relative_to(run.path)), str(error))


def _splits(run: Run) -> Iterator[Finding]:
    """Embeddings and scores, and whether they belong together."""
    can = any(_sound(path) for name in ("best", "last") if (path := run.checkpoint(name)))
    stored = {p.stem for folder in ("embeddings", "scores") for p in (run.path / folder).glob("[!.]*.safetensors")}
    stored |= {p.stem for p in (run.path / "scores").glob("[!.]*.json")}
    for split in sorted(stored):
        reason = _reason(run, split)
        if reason:
            yield Finding(f"embeddings/{split}.safetensors", reason, ANEW if can else "")


def _reason(run: Run, split: str) -> str:
    try:
        run.embeddings(split), run.embeddings(split, "gallery"), run.anchors(split)
        scores = run.scores(split)
        if scores is None and run.config.outside and not any((run.path / "scores").glob(f"{split}.*")):
            return ""  # nobody had them measured
        if scores is None:
            return "has no readable scores beside it: an evaluation was cut off, or they are damaged."
        run.per_query(split)
        stored = header(run.path / "embeddings" / f"{split}.safetensors")
    except ValueError as error:
        return str(error)
    differ = [key for key in ("checkpoint", "step", "evaluation") if key in stored and stored[key] != scores.get(key)]
    return f"does not belong to the scores beside it ({', '.join(differ)} differ)." if differ else ""


def _arrays(run: Run) -> Iterator[Finding]:
    for folder in ("batches", "frames", "failure", "maps"):
        for path in sorted((run.path / folder).glob("[!.]*.safetensors")):
            try:
                tensors(path)
                header(path)
            except ValueError as error:
                yield Finding(str(path.relative_to(run.path)), str(error), f"it {ASIDE}")


def _sound(path: Path) -> bool:
    from lab.training import checkpoint

    try:
        checkpoint.load(path)
    except ValueError:
        return False
    return True


def _step(run: Run) -> int:
    """The step of the last checkpoint; 0 where there is none that can be read."""
    from lab.training import checkpoint

    path = run.checkpoint("last")
    try:
        return 0 if path is None else int(checkpoint.load(path)["progress"]["step"])
    except (ValueError, KeyError, TypeError):
        return 0


def _state_found(run: Run) -> dict[str, Any]:
    """What a status must say, from the checkpoint and the scores that are there."""
    if run.config.outside and run.splits and run.used_checkpoint() is None:
        return {"state": FINISHED, "phase": FINISHED, "step": 0, "steps": 0, "sentence": "Its status was damaged."}
    step, knobs = _step(run), run.config.training.knobs
    done = step == knobs.steps and run.scores() is not None
    state = FINISHED if done else INTERRUPTED
    return {"state": state, "phase": state, "step": step, "steps": knobs.steps, "sentence": "Its status was damaged."}


def _evaluated_anew(run: Run, writer: Writer, splits: set[str]) -> Iterator[Record]:
    from lab.runs.evaluate import evaluate_run

    for split in sorted(splits):
        try:
            config = run.config_of(split)
        except ValueError:
            config = run.config
        if not (path := run.checkpoint(config.evaluation.knobs.checkpoint)) or not _sound(path):
            other = {"best": "last", "last": "best"}[config.evaluation.knobs.checkpoint]
            config = config.changed("evaluation.checkpoint", other)
        yield from evaluate_run(run, writer, config, (split,))
