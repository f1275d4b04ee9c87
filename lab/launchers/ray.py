"""A Ray cluster: each run is a task with its processors, GPU and memory, tried again where a node dies."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lab.core.knobs import Knobs, knob
from lab.launchers._base import PAUSE, Launcher
from lab.launchers._needs import Needs, needs_of
from lab.runs import lock
from lab.runs.folder import FAILED, FINISHED, QUEUED, Run
from lab.runs.launching import sent, wishes
from lab.runs.process import Worker
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.launchers._parcels import Parcel
    from lab.launchers._post import Delivery
    from lab.launchers._work import Outcome

MISSING = "Ray is not installed: pip install 'rankscope[ray]'."

START = 300.0
"""Seconds for the first process of a run's way back to start, on a head that is busy."""

HEAD = "node:__internal_head__"
"""What Ray calls a cluster's first node among its resources."""


@dataclass
class _Task:
    """A run that was handed over.

    key: names the attempt of a node that does not see the folder; empty for others. tries: how often such a one was
        begun anew.
    """

    run: Run
    needs: Needs
    key: str = ""
    tries: int = 0


class Ray(Launcher):
    """One task of a Ray cluster for each run.

    A node that sees the run's folder at the same path (a shared file system) trains in it. One that does not is sent
    the folder and trains in a copy, of which what changed comes back through Ray's object store at every checkpoint and
    every ten seconds to a minute. A run whose node dies goes on from its last checkpoint on another: with a copy, from
    the last that came back. The nodes need the same version of this library.

    Example (`run` is that of `lab.launchers`):
        >>> launcher = lab.launchers.create("ray", address="ray://head:10001", retries=5)
        >>> launcher.outlives  # Ray ends the tasks of a process that is gone
        False
    """

    outlives = False

    class Knobs(Knobs):
        address: str = knob(
            "auto",
            "Address of the cluster: ray://HOST:PORT, HOST:PORT, or auto for the one of this machine, which is started "
            "if there is none.",
        )
        retries: int = knob(3, "How often a run is tried again after its node or process died.", ge=0, le=1000)

    def __init__(self, **knobs: Any):
        super().__init__(**knobs)
        self._tasks: dict[Any, _Task] = {}
        self._over: dict[Any, _Task] = {}  # those that ended and were not told of yet
        self._taken_back: set[Path] = set()
        self._post: Any = None  # the actor, once a node does not see a folder
        self._arrived: dict[str, Parcel] = {}  # by key, what could not be unpacked yet
        self._gpus = False

    def submit(self, runs: Sequence[Run]) -> None:
        ray = self._connected()
        configured = [(run, run.config, needs_of(run.config, self._gpus)) for run in runs]
        for run, _, needs in configured:
            self._refuse_what_fits_nowhere(ray, run, needs)
        for run, _, needs in configured:
            if run.state == FINISHED:
                continue
            sent.hand_over(run, self.place, Worker.this(), self.outlives)
            if wishes.left(run):
                sent.taken_back(run)
                continue
            self._begin_task(ray, _Task(run, needs))

    def _begin_task(self, ray: ModuleType, task: _Task, delivery: Delivery | None = None) -> None:
        """Hand one over; Ray itself tries again what needs no delivery."""
        from lab.launchers._work import train_here

        # A process trains once and goes: what a training leaves in torch never reaches the next.
        remote = ray.remote(max_calls=1)(train_here).options(
            name=task.run.name,
            num_cpus=task.needs.cpus,
            num_gpus=task.needs.gpus,
            memory=task.needs.memory,
            max_retries=0 if delivery else self.knobs.retries,
            scheduling_strategy="SPREAD",
        )
        self._tasks[remote.remote(str(_seen_as(task.run)), task.needs.cpus, delivery)] = task

    def _deliver(self, ray: ModuleType, task: _Task, why: str = "") -> bool:
        """Hand a run over together with its folder, as far as that has come back; not one that somebody else took.

        why: for its log.
        """
        from lab.launchers._parcels import Packer
        from lab.launchers._post import Delivery, Line

        with suppress(lock.Held, OSError), Writer(task.run, gone=True) as writer:  # or it ends as it is
            try:
                self._open_post(ray)
            except ray.exceptions.RayError as error:
                return _fail(error, writer)
            if why:
                writer.log(why)
            writer.status(QUEUED, phase="waiting", sentence="", eta_seconds=None)
            task.key = f"{task.run.name} {secrets.token_hex(8)}"
            self._begin_task(ray, task, Delivery(Packer(task.run.path).parcel(), task.key, Line(self._post)))
            return True
        return False

    def _open_post(self, ray: ModuleType) -> None:
        """Start the actor, unless it is there, and wait for it: nobody asks for what it holds before it answers."""
        from lab.launchers._post import Post

        if self._post is None:
            on_head = {HEAD: 0.001} if HEAD in ray.cluster_resources() else {}
            post = ray.remote(Post).options(num_cpus=0, resources=on_head).remote()
            ray.get(post.fetch.remote(frozenset()), timeout=START)
            self._post = post

    def ended(self) -> Iterator[Run | None]:
        ray = self._connected()
        while self._tasks or self._over:
            done = self._done(ray)
            self._fetch(ray)
            if not done:
                self._take_back(ray)
                yield None
            for reference in done:
                self._over[reference] = self._tasks.pop(reference)
            for reference, task in list(self._over.items()):
                if task.key in self._arrived:
                    continue  # its last parcel could not be unpacked: once more at the next look
                del self._over[reference]
                if not self._goes_on(ray, reference, task):
                    yield task.run

    def _done(self, ray: ModuleType) -> list[Any]:
        """The tasks that ended, after a moment at most."""
        if self._tasks:
            return list(ray.wait(list(self._tasks), timeout=PAUSE)[0])
        time.sleep(PAUSE)
        return []

    def _goes_on(self, ray: ModuleType, reference: Any, task: _Task) -> bool:
        """Take in how a task ended; whether its run was handed over once more."""
        from lab.launchers._work import UNSEEN

        try:
            outcome: Outcome = ray.get(reference)
        except ray.exceptions.RayError as error:
            return self._begun_anew(ray, task, error)
        if outcome.state == UNSEEN:
            return self._deliver(ray, task)
        with suppress(lock.Held, OSError):  # another process has taken the run over, and writes how it goes
            _settle(task.run, outcome)
        if task.key:
            wishes.clear(task.run)  # its copy's was another
        return False

    def _begun_anew(self, ray: ModuleType, task: _Task, error: Exception) -> bool:
        """Hand over once more what died with its copy of the folder; or say in the run what became of it."""
        run = task.run
        if run.path in self._taken_back or wishes.left(run):
            with suppress(OSError):
                sent.taken_back(run)
            return False
        died = not isinstance(error, ray.exceptions.RayTaskError)  # nothing was raised there
        if task.key and died and task.tries < self.knobs.retries:
            task.tries += 1
            return self._deliver(ray, task, f"It is handed over once more, since its task died: {_first_line(error)}")
        with suppress(lock.Held, OSError), Writer(run, gone=True) as writer:
            _fail(error, writer)
        return False

    def _fetch(self, ray: ModuleType) -> None:
        """Write what came back of runs whose nodes do not see their folders, and tell these nodes who shall stop."""
        tasks = {task.key: task for task in (*self._tasks.values(), *self._over.values()) if task.key}
        to_stop = frozenset(key for key, task in tasks.items() if wishes.left(task.run))
        try:
            arrived = ray.get(self._post.fetch.remote(to_stop)) if tasks and self._post is not None else {}
        except ray.exceptions.RayError:
            self._post, arrived = None, {}  # its node is gone; the trainings end with a sentence as they miss it
        for key, parcel in arrived.items():
            self._arrived[key] = parcel.after(self._arrived.get(key))
        for key in list(self._arrived):
            with suppress(lock.Held, OSError):  # somebody writes a note, or the disk is full: later, then
                if key in tasks and tasks[key].run.sender == Worker.this():
                    self._unpack(tasks[key])
                else:
                    del self._arrived[key]  # of an attempt that counts as dead, or of a run somebody moved or took over

    def _unpack(self, task: _Task) -> None:
        from lab.launchers._parcels import unpack

        unpack(self._arrived[task.key], task.run.path)
        del self._arrived[task.key]

    def _take_back(self, ray: ModuleType) -> None:
        """Cancel what was asked to stop and is not at work, as far as its folder tells; the others hear it there."""
        for reference, task in self._tasks.items():
            run = task.run
            if run.path not in self._taken_back and run.written_state == QUEUED and wishes.left(run):
                self._taken_back.add(run.path)
                ray.cancel(reference)

    def map(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """As `map`, each piece on one processor of the cluster; a piece whose node dies is done again elsewhere."""
        ray = self._connected()
        task = ray.remote(function).options(max_retries=self.knobs.retries, scheduling_strategy="SPREAD")
        waiting = [task.remote(piece) for piece in pieces]
        while waiting:
            done, waiting = ray.wait(waiting)
            try:
                yield from ray.get(done)
            except ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None)  # what was raised there, where something was
                raise ValueError(f"A worker of the cluster failed: {_first_line(cause or error)}") from None

    def free(self) -> dict[str, tuple[float, float]]:
        """Processors and GPUs of the cluster: how many are free, and how many there are.

        Raises:
            ValueError: there is no cluster at the address. ImportError: Ray is not installed.
        """
        ray = self._connected()
        free, whole = ray.available_resources(), ray.cluster_resources()
        kinds = {"processors": "CPU", "GPUs": "GPU"}
        return {name: (free.get(kind, 0.0), whole.get(kind, 0.0)) for name, kind in kinds.items()}

    def _connected(self) -> ModuleType:
        try:
            import ray
        except ImportError:
            raise ImportError(MISSING) from None
        if not ray.is_initialized():
            self._begin(ray)
        self._gpus = bool(ray.cluster_resources().get("GPU"))
        return ray

    def _begin(self, ray: ModuleType) -> None:
        """Connect to the cluster, or start one where none was named.

        Raises:
            ValueError: it cannot be reached or started, whatever Ray raises then; says why.
        """
        quiet: dict[str, Any] = dict(log_to_driver=False, logging_level=logging.ERROR)
        address = self.knobs.address
        try:
            ray.init(address=address, **quiet)
            return
        except ConnectionError as error:
            if address != "auto":
                raise ValueError(
                    f"There is no Ray cluster at {address}: {_first_line(error)} Start one with "
                    "`ray start --head`, or leave the address out."
                ) from None
        except Exception as error:  # a version that differs, a port that is no Ray's, a disk that is full
            raise ValueError(f"The Ray cluster at {address} cannot be used: {_first_line(error)}") from None
        try:
            ray.init(**quiet)
        except Exception as error:
            raise ValueError(f"Ray cannot be started on this machine: {_first_line(error)}") from None

    @staticmethod
    def _refuse_what_fits_nowhere(ray: ModuleType, run: Run, needs: Needs) -> None:
        """Ray lets a task wait for ever that no node can take.

        Raises:
            ValueError: says what the largest node has.
        """
        nodes: list[dict[str, float]] = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        wanted = {"CPU": needs.cpus, "GPU": needs.gpus, "memory": needs.memory}
        if not any(all(node.get(what, 0) >= count for what, count in wanted.items()) for node in nodes):
            most = max(nodes, key=lambda node: (node.get("GPU", 0), node.get("CPU", 0)), default={})
            raise ValueError(
                f"No node of the cluster can take {run.name}: it needs {needs.cpus} processors, {needs.gpus} GPUs and "
                f"{needs.memory / 1e9:.1f} GB of memory; the largest node has {most.get('CPU', 0):g}, "
                f"{most.get('GPU', 0):g} and {most.get('memory', 0) / 1e9:.1f} GB."
            )


def _seen_as(run: Run) -> Path:
    """Where a node looks for the run's folder."""
    return run.path.resolve()


def _settle(run: Run, outcome: Outcome) -> None:
    """Say of a run that could not even begin why."""
    if outcome.state == FAILED and run.written_state != FAILED:
        with Writer(run) as writer:
            writer.status(FAILED, phase="failed", sentence=outcome.sentence)


def _fail(error: Exception, writer: Writer) -> bool:
    """Say that Ray gave the task up: its process or node died more often than it may. False: it does not go on."""
    sentence = f"Ray gave this run up: {_first_line(error)} It can be resumed from its last checkpoint."
    writer.log(f"{sentence}\n{error}")
    writer.status(FAILED, phase="failed", sentence=sentence)
    return False


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".") + "."
