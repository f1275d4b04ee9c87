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
from lab.core.files import checked, read_json, set_aside
from lab.core.records import Record
from lab.runs import lock
from lab.runs.config import RunConfig
from lab.runs.execute import go_by_checkpoint
from lab.runs.folder import DAMAGED, FINISHED, INTERRUPTED, SENT, Run
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
    looks = (_small_files, _records, _checkpoints, _splits, _arrays)
    return [finding for look in looks for finding in look(run)]


def repair(run: Run) -> Iterator[Record]:
    """Mend what `check` finds and can be mended; yields the progress of evaluations.

    Raises:
        ValueError: the run is being written, or a split's data or checkpoint cannot be read.
        OSError: the disk is full or the folder cannot be written.
    """
    findings = check(run)
    with Writer(run) as writer:
        if any(finding.mend == FROM_CHECKPOINT for finding in findings):
            if (run.path / "config.yaml").exists():
                set_aside(run.path / "config.yaml")
            run.write_config(RunConfig.of(_kept_config(run), stored=True))
        for finding in findings:
            if finding.mend == ASIDE:
                set_aside(run.path / finding.file)
        if run.state == DAMAGED:
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


def _kept_config(run: Run) -> dict[str, Any] | None:
    """The configuration in a checkpoint; None where there is none that can be read."""
    from lab.training import checkpoint

    for path in filter(None, map(run.checkpoint, ("last", "best"))):
        with suppress(ValueError):
            if kept := checkpoint.config_in(path):
                return kept
    return None


def _records(run: Run) -> Iterator[Finding]:
    path = run.path / "metrics.jsonl"
    if wrong := _refused(checked, path):
        yield Finding("metrics.jsonl", wrong, ASIDE)
        return
    records, broken = run.records_and_damage()
    if broken:
        mend = "the file is set aside, and what can be read is written anew"
        yield Finding("metrics.jsonl", f"has {len(broken)} unreadable lines, the first is line {broken[0]}.", mend)
    step, steps = _step(run), [r.get("step") for r in records if r["kind"] == "stepped"]
    if step and not any(r["kind"] == "saved" and r.get("step") == step and r.get("name") == "last" for r in records):
        yield Finding("metrics.jsonl", f"lacks the line about the checkpoint of step {step}.", "it is added")
    if missing := sorted(set(range(1, step + 1)) - {*steps}):
        yield Finding("metrics.jsonl", f"lacks {len(missing)} steps from {missing[0]} on; curves have a gap there.")
    if len({*steps}) < len(steps):
        yield Finding("metrics.jsonl", "holds steps twice: two processes wrote it.")


def _loaded(path: Path) -> dict[str, Any]:
    from lab.training import checkpoint

    return checkpoint.load(path)


def _checkpoints(run: Run) -> Iterator[Finding]:
    for path in sorted((run.path / "checkpoints").glob("[!.]*.safetensors")):
        if wrong := _refused(_loaded, path):
            yield Finding(str(path.relative_to(run.path)), wrong)


def _splits(run: Run) -> Iterator[Finding]:
    """Embeddings and scores, and whether they belong together."""
    can = any((path := run.checkpoint(name)) and not _refused(_loaded, path) for name in ("best", "last"))
    files = [path for folder in ("embeddings", "scores") for path in (run.path / folder).glob("[!.]*")]
    stored = {path.stem for path in files if path.suffix in (".safetensors", ".json")}
    for split in sorted(stored):
        if wrong := _wrong_with(run, split):
            yield Finding(f"embeddings/{split}.safetensors", wrong, ANEW if can else "")


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
    for folder in ("batches", "frames", "failure", "maps"):
        for path in sorted((run.path / folder).glob("[!.]*.safetensors")):
            if wrong := _refused(arrays.read, path) or _refused(arrays.header, path):
                yield Finding(str(path.relative_to(run.path)), wrong, ASIDE)


def _step(run: Run) -> int:
    """The step of the last checkpoint; 0 where there is none that can be read."""
    path = run.checkpoint("last")
    try:
        return 0 if path is None else int(_loaded(path)["progress"]["step"])
    except (ValueError, KeyError, TypeError):
        return 0


def _state_found(run: Run) -> dict[str, Any]:
    """What a status must say, from the checkpoint and the scores that are there."""
    step, steps = _step(run), run.config.training.knobs.steps
    if run.config.outside and run.splits and run.used_checkpoint() is None:
        step = steps = 0
    state = FINISHED if step == steps and (not steps or run.scores() is not None) else INTERRUPTED
    return {"state": state, "phase": state, "step": step, "steps": steps, "sentence": "Its status was damaged."}


def _evaluated_anew(run: Run, writer: Writer, splits: set[str]) -> Iterator[Record]:
    from lab.runs.evaluate import evaluate_run

    for split in sorted(splits):
        try:
            config = run.config_of(split)
        except ValueError:
            config = run.config
        name = config.evaluation.knobs.checkpoint
        if not (path := run.checkpoint(name)) or _refused(_loaded, path):
            config = config.changed("evaluation.checkpoint", "last" if name == "best" else "best")
        yield from evaluate_run(run, writer, config, (split,))
