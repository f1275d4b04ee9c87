"""A folder in which the runs of a protocol are trained, each once, however often one has to begin."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import lab.runs
from lab.core.files import checked, whole, write_json, write_text
from lab.core.records import Note, Record
from lab.protocols._outcome import Outcome
from lab.runs.config import RunConfig, difference
from lab.runs.folder import FINISHED, Run


class Paused(RuntimeError):
    """Somebody asked to stop. What is finished stays; the same call goes on."""


class RunDiverged(RuntimeError):
    """A run that stopped because its loss, an embedding or a gradient was no number any more."""


class Bench:
    """Trains runs below `folder` and keeps what was measured. A killed process loses at most the run in flight.

    A run that is finished is taken as it is; one that was interrupted goes on from its last checkpoint.

    Args:
        folder: made when it is first needed. The runs lie directly below it, so `lab runs --runs FOLDER` lists them.
        stop: asked in every training step; when it says yes, the run is saved and `Paused` is raised.
        launcher: trains the runs, one of `lab.launchers`; by default this process does, one after the other.
    """

    def __init__(self, folder: Path | str, stop: Callable[[], bool] = lambda: False, launcher: Any = None):
        self.folder, self.stop, self.launcher = Path(folder), stop, launcher
        self._at_work: set[Path] = set()

    def begin(self, settings: dict[str, Any]) -> None:
        """Write down what the folder is for, or check that it is for the same.

        Raises:
            ValueError: something else was begun there, or what was written down is damaged.
        """
        path, settings = self.folder / "protocol.json", json.loads(json.dumps(settings))
        if path.is_file():
            before = _stored(path)
            changed = [key for key in sorted({*before, *settings}) if before.get(key) != settings.get(key)]
            if changed:
                raise ValueError(
                    f"{self.folder} was begun with other settings ({', '.join(changed)} differ); choose another name, "
                    "or give the settings that it was started with."
                )
        else:
            write_json(path, settings)

    def ahead(self, configs: Mapping[str, RunConfig]) -> None:
        """Say which runs will be asked for next, so that a launcher trains them side by side.

        Raises:
            ValueError: there is a run of that name with another configuration, or the launcher cannot take them.
        """
        if self.launcher is None:
            return
        runs = [self._opened(name, config) for name, config in configs.items()]
        new = [run for run in runs if run.state != FINISHED and run.failure is None and run.path not in self._at_work]
        if new:
            self.launcher.submit(new)
        self._at_work |= {run.path for run in new}

    def trained(self, name: str, config: RunConfig) -> Generator[Record, None, Run]:
        """The finished run of that name.

        Raises:
            ValueError: there is a run of that name with another configuration, or the run cannot be trained.
            RunDiverged: it broke down, now or at an earlier call.
            Paused: it was asked to stop.
        """
        run = self._opened(name, config)
        if run.state == FINISHED:
            return run
        if run.failure is not None:
            raise RunDiverged(f"Run {name} failed: {run.status.get('sentence', '')}")
        yield Note(f"{self.folder.name}: training {name}.")
        if self.launcher is not None:
            return self._waited_for(run)
        from lab.training.loop import Stopped

        try:
            yield from lab.runs.execute(run, self.stop)
        except Stopped as stopped:
            raise RunDiverged(f"Run {name} failed: {stopped}") from None
        if run.state != FINISHED:
            raise Paused(f"Stopped in run {name}; the same command continues from there.")
        return run

    def _waited_for(self, run: Run) -> Run:
        """The run, when its launcher is done with it."""
        self.ahead({run.name: run.config})
        ended = self.launcher.ended() if run.path in self._at_work else iter(())
        for over in ended:
            if over is not None:
                self._at_work.discard(over.path)
            if run.path not in self._at_work:
                break
            if self.stop():
                raise Paused(f"Stopped while {run.name} is at work; the same command continues from there.")
        if run.state == FINISHED:
            return run
        sentence = run.status.get("sentence", "")
        if run.failure is not None:
            raise RunDiverged(f"Run {run.name} failed: {sentence}")
        raise Paused(f"Run {run.name} is {run.state}: {sentence} The same command continues from there.")

    def _opened(self, name: str, config: RunConfig) -> Run:
        path = self.folder / name
        if not path.exists():
            return lab.runs.create(config, self.folder, name)
        if not (path / "config.yaml").is_file():  # not ours: a run comes to be there as a whole
            raise ValueError(f"{path} is no run: it holds no config.yaml. Move it away, and the run is made there.")
        run = Run(path)
        changed = [knob for knob, values in difference(run.config, config).items() if not _same_place(knob, *values)]
        if changed:
            raise ValueError(
                f"{path} was made with another configuration ({', '.join(changed[:4])} differ); choose another name "
                "for this protocol."
            )
        return run

    def kept(
        self, name: str, work: Callable[[], Generator[Record, None, dict[str, Any]]]
    ) -> Generator[Record, None, dict[str, Any]]:
        """What `work` returns, a JSON object; done once and read from then on."""
        path = self.folder / "measured" / f"{name}.json"
        if path.is_file():
            return _stored(path)
        result = yield from work()
        write_json(path, result)
        return json.loads(json.dumps(result))

    def conclude(self, outcome: Outcome) -> Path:
        """Write outcome.json and outcome.md; returns the latter."""
        return write_outcome(self.folder, "outcome", outcome)


def _stored(path: Path) -> dict[str, Any]:
    """A JSON object that was written here.

    Raises:
        ValueError: it is damaged.
    """
    try:
        stored = json.loads(checked(path).read_text(encoding="utf-8"))
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        raise ValueError(f"{path} is damaged; remove it, and the same command writes it anew.")
    return stored


def _same_place(knob: str, kept: Any, asked_path: Any) -> bool:
    """Whether two values name one folder: a run keeps the data's paths in full."""
    named = knob in ("data.root", "data.path") and isinstance(kept, str) and isinstance(asked_path, str)
    return named and Path(kept) == whole(asked_path)


def write_outcome(folder: Path, name: str, outcome: Outcome) -> Path:
    """Write an outcome as NAME.json and NAME.md; returns the latter."""
    write_json(folder / f"{name}.json", outcome.as_json())
    write_text(folder / f"{name}.md", outcome.as_markdown())
    return folder / f"{name}.md"
