"""A folder of named runs, each trained once, however often one has to begin: here, or where a launcher takes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import lab.runs
from lab.core.explain import quoted, shortened
from lab.core.files import write_json
from lab.core.formats import finite
from lab.core.records import Note, Record
from lab.core.stored import MOST_LISTED, Fields, read
from lab.runs.boundary import check_elsewhere
from lab.runs.config import RunConfig, difference
from lab.runs.execute import findable
from lab.runs.folder import FINISHED, Run

T = TypeVar("T")


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

    def __init__(
        self, folder: Path | str, stop: Callable[[], bool] = lambda: False, launcher: Any = None
    ):
        self.folder, self.stop, self.launcher = Path(folder), stop, launcher
        self._submitted: set[Path] = set()

    def begin(self, settings: dict[str, Any]) -> None:
        """Write down what the folder is for, or check that it is for the same.

        Raises:
            ValueError: something else was begun there, or what was written down is no JSON object.
        """
        path, settings = self.folder / "protocol.json", json.loads(json.dumps(settings))
        if not path.is_file():
            write_json(path, settings)
            return
        try:
            before = read(path, cast(Any, Fields))
        except ValueError as error:
            raise ValueError(f"{error} Choose another name, or move that file away.") from None
        changed = [
            key for key in sorted({*before, *settings}) if before.get(key) != settings.get(key)
        ]
        if changed:
            differing = shortened(", ".join(changed))
            raise ValueError(
                f"{self.folder} was begun with other settings ({differing} differ); choose another name, or "
                "give the settings that it was started with."
            )

    def opened(self, name: str, config: RunConfig) -> Run:
        """The run of that name, made unless it is there.

        Raises:
            ValueError: it is there with another configuration, or what is there is no run; or it needs a program that
                a launcher may not run.
        """
        path, config = self.folder / name, findable(config)
        if self.launcher is not None:
            check_elsewhere(config.program)
        if not path.exists():
            return lab.runs.create(config, self.folder, name)
        if not (path / "config.yaml").is_file():  # not ours: a run comes to be there as a whole
            raise ValueError(
                f"{path} is no run: it holds no config.yaml. Move it away, and the run is made there."
            )
        run = Run(path)
        for knob, (there, here) in difference(run.config, config).items():
            raise ValueError(
                f"There is a run {path} already, with {knob} {quoted(there)} and not {quoted(here)}; choose another "
                "name, or put the old runs away with `lab runs trash`."
            )
        # a person has typed the same again, so this process may run a program that it names
        if self.launcher is None:
            run.config = config
        return run

    def trained(
        self, configs: Mapping[str, RunConfig], skip_diverged: bool = False
    ) -> Generator[Record, None, dict[str, Run]]:
        """Name to finished run, in this order; a launcher gets all of them at once.

        Raises:
            ValueError: there is a run of that name with another configuration, or a run cannot be trained.
            RunDiverged: one broke down, now or at an earlier call; or it is told and left out.
            Paused: it was asked to stop.
        """
        if self.launcher is not None:
            self._submit([self.opened(name, config) for name, config in configs.items()])
        finished = {}
        for name, config in configs.items():
            try:
                finished[name] = yield from self._finished(self.opened(name, config))
            except RunDiverged as diverged:
                if not skip_diverged:
                    raise
                yield Note(str(diverged))
        return finished

    def _submit(self, runs: Sequence[Run]) -> None:
        new = [
            run
            for run in runs
            if run.state != FINISHED and run.failure is None and run.path not in self._submitted
        ]
        if new:
            self.launcher.submit(new)
            self._submitted |= {run.path for run in new}

    def _finished(self, run: Run) -> Generator[Record, None, Run]:
        from lab.training.loop import Stopped

        if run.state != FINISHED and run.failure is None:
            yield Note(f"{self.folder.name}: training {run.name}.")
            try:
                if self.launcher is None:
                    yield from lab.runs.execute(run, self.stop)
                else:
                    self._wait_for(run)
            except Stopped as stopped:
                raise RunDiverged(f"Run {run.name} failed: {stopped}") from None
        if run.state == FINISHED:
            return run
        sentence = run.status.get("sentence", "")
        if run.failure is not None:
            raise RunDiverged(f"Run {run.name} failed: {sentence}")
        raise Paused(
            f"Run {run.name} is {run.state}: {sentence} The same command continues from there."
        )

    def _wait_for(self, run: Run) -> None:
        self._submit([run])
        for ended in self.launcher.ended() if run.path in self._submitted else ():
            if ended is not None:
                self._submitted.discard(ended.path)
            if run.path not in self._submitted:
                return
            if self.stop():
                raise Paused(
                    f"Stopped while {run.name} is at work; the same command continues from there."
                )

    def kept(
        self, name: str, work: Generator[Record, None, Any], kind: type[T]
    ) -> Generator[Record, None, T]:
        """Return what `work` returns, a JSON object; it is done once and read from then on.

        Args:
            kind: the schema of the object.

        Raises:
            ValueError: the file that was written before does not fit the schema; names the file and the field.
        """
        path = self.folder / "measured" / f"{name}.json"
        if not path.is_file():
            write_json(path, finite((yield from work)))
        try:
            return read(path, kind, MOST_LISTED)
        except ValueError as error:
            raise ValueError(f"{error} Move that file away, and it is measured again.") from None
