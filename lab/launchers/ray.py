"""A Ray cluster: each run is a task with its processors, GPU and memory, retried if a node dies."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from lab.core.explain import need
from lab.core.knobs import knob
from lab.launchers._base import PAUSE, Launcher
from lab.launchers._needs import Needs, needs_of
from lab.launchers.background import detached
from lab.runs import lock, stop_request
from lab.runs.folder import FAILED, FINISHED, QUEUED, STOPPED, Run
from lab.runs.process import Worker
from lab.runs.writer import Writer


class Ray(Launcher):
    """One task of a Ray cluster for each run.

    The nodes need the same version of this library, and see the folder of runs at the same path. A run whose node dies
    continues from its last checkpoint on another.

    Example (`run` is that of `lab.launchers`):
        >>> launcher = lab.launchers.create("ray", address="ray://head:10001", retries=5)
        >>> launcher.outlives  # Ray ends the tasks of a process that is gone
        False
    """

    outlives = False

    address: str = knob(
        "Address of the cluster: ray://HOST:PORT, HOST:PORT, or auto for the one of this machine, which is started "
        "if there is none.",
        default="auto",
    )
    retries: int = knob(
        "How often a run is tried again after its node or process died.", default=3, ge=0, le=1000
    )
    memory: float | None = knob(
        "Memory of a run. None: forecast.", default=None, gt=0, le=100_000, unit="GB"
    )

    def __post_init__(self) -> None:
        self._tasks: dict[Any, Run] = {}
        self._taken_back: set[Path] = set()
        self._gpus = False

    def submit(self, runs: Sequence[Run]) -> None:
        from lab.launchers._work import train_here

        ray = self._connected()
        needs = [needs_of(run.config, self._gpus, self.knobs.memory) for run in runs]
        for run, needed in zip(runs, needs, strict=True):
            self._refuse_what_fits_nowhere(ray, run, needed)
        for run, needed in zip(runs, needs, strict=True):
            if run.state == FINISHED:
                continue
            detached.hand_over(run, self.place, Worker.this(), self.outlives)
            if stop_request.pending(run):
                detached.taken_back(run)
                continue
            # A process trains once and ends: the state of torch after a training never reaches the next.
            remote = ray.remote(max_calls=1)(train_here).options(
                name=run.name,
                num_cpus=needed.cpus,
                num_gpus=needed.gpus,
                memory=needed.memory,
                max_retries=self.knobs.retries,
                scheduling_strategy="SPREAD",
            )
            self._tasks[remote.remote(str(run.path.resolve()), needed.cpus)] = run

    def ended(self) -> Iterator[Run | None]:
        ray = self._connected()
        while self._tasks:
            done, _ = ray.wait(list(self._tasks), timeout=PAUSE)
            if not done:
                self._take_back(ray)
                yield None
            for reference in done:
                run = self._tasks.pop(reference)
                # another process has resumed the run, and writes its state
                with suppress(lock.Held, OSError):
                    self._settle(ray, reference, run)
                yield run

    def _settle(self, ray: ModuleType, reference: Any, run: Run) -> None:
        """Write into the run how its task ended, if its folder does not say so yet."""
        try:
            sentence = ray.get(reference)
        except ray.exceptions.RayError as error:  # its process or node died more often than it may
            if run.path in self._taken_back or stop_request.pending(run):
                detached.taken_back(run)
                return
            sentence = f"Ray gave this run up: {_first_line(error)} It can be resumed from its last checkpoint."
        if sentence and run.written_state != FAILED:
            with Writer(run, gone=True) as writer:
                writer.status(FAILED, phase="failed", sentence=sentence)

    def _take_back(self, ray: ModuleType) -> None:
        """Cancel runs that were asked to stop and are not running, as far as their folders tell; running ones stop
        themselves."""
        for reference, run in self._tasks.items():
            waits = run.written_state in (QUEUED, STOPPED)
            if run.path not in self._taken_back and waits and stop_request.pending(run):
                self._taken_back.add(run.path)
                ray.cancel(reference)

    def _connected(self) -> ModuleType:
        """Return Ray's library, connected to the cluster, or to a new one if no address was given.

        Raises:
            ValueError: it cannot be reached or started; says why.
        """
        need("The launcher ray", "ray")
        import ray

        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        address = self.knobs.address
        try:
            if not ray.is_initialized():
                try:
                    ray.init(address=address, **quiet)
                except ConnectionError:
                    if address != "auto":
                        raise
                    ray.init(**quiet)
        except Exception as error:  # another version, a port of another program, a full disk
            hint = ""
            if isinstance(error, ConnectionError):
                hint = " Start one with `ray start --head`, or leave the address out."
            where = "on this machine" if address == "auto" else f"at {address}"
            raise ValueError(
                f"There is no Ray cluster {where} that can be used: {_first_line(error)}{hint}"
            ) from None
        self._gpus = bool(ray.cluster_resources().get("GPU"))
        return ray

    @staticmethod
    def _refuse_what_fits_nowhere(ray: ModuleType, run: Run, needs: Needs) -> None:
        """Refuse a run that fits on no node: Ray would let its task wait for ever.

        Raises:
            ValueError: says what the largest node has.
        """
        nodes: list[dict[str, float]] = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        resources = {"CPU": needs.cpus, "GPU": needs.gpus, "memory": needs.memory}
        fits = [
            all(node.get(name, 0) >= count for name, count in resources.items()) for node in nodes
        ]
        if not any(fits):
            most = max(nodes, key=lambda node: (node.get("GPU", 0), node.get("CPU", 0)), default={})
            raise ValueError(
                f"No node of the cluster can take {run.name}: it needs {needs.cpus} processors, {needs.gpus} GPUs and "
                f"{needs.memory / 1e9:.1f} GB of memory; the largest node has {most.get('CPU', 0):g}, "
                f"{most.get('GPU', 0):g} and {most.get('memory', 0) / 1e9:.1f} GB."
            )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300].rstrip(".") + "."
