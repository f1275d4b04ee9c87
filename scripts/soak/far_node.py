"""A Ray node with a host name of its own that does not see the folder of runs: what it trains comes back all the same.

    python scripts/soak/far_node.py        # as root: a node is this machine in namespaces of its own (unshare)

The node is killed when a checkpoint has come back, and another takes its place: the run must go on there from that
checkpoint and end as one that was trained here, bit for bit. A second run is asked to stop, and must come back with the
checkpoint of its last step. Prints a row of docs/reliability.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import ray_cluster
from common import Bench, conclude

import lab.launchers
import lab.runs
from lab.runs import Run
from lab.runs.launching import detached
from lab.training import checkpoint

STEPS, CHECKPOINT_EVERY = 400, 10
PATIENCE = 300.0
"""Seconds for each part, on a machine that others use."""


class FarNode:
    """One more node of a cluster, where a folder is empty."""

    def __init__(self, name: str, address: str, hidden: Path):
        ray = f"{Path(sys.executable).with_name('ray')} start --address={address} --node-ip-address=127.0.0.1"
        inside = f"mount -t tmpfs none {hidden} && hostname {name} && exec {ray} --num-cpus=1 --block"
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--uts", "sh", "-c", f"{inside} --object-store-memory=100000000"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )

    def kill(self) -> None:
        """End all of its processes at once."""
        with suppress(psutil.Error):
            for one in (*psutil.Process(self.process.pid).children(recursive=True), self.process):
                with suppress(psutil.Error):
                    one.kill()
        self.process.wait()


def submitted(launcher: Any, run: Run) -> bool:
    """Hand a run over, once there is a node that can take it."""
    try:
        launcher.submit([run])
    except ValueError as error:
        if "No node of the cluster" in str(error):
            return False
        raise
    return True


def seen_through(launcher: Any, looked: Callable[[], None]) -> bool:
    """Look once a second until the run has ended; whether that was in time."""
    until = time.monotonic() + PATIENCE
    for over in launcher.ended():
        if over is not None:
            return True
        looked()
        if time.monotonic() > until:
            return False
    return False


def step_of(run: Run) -> int:
    return checkpoint.load(run.checkpoint("last"))["progress"]["step"] if run.checkpoint("last") else 0


def trial(bench: Bench, address: str, runs: Path) -> tuple[str, list[str]]:
    """What to say of it, and what is wrong."""
    run = lab.runs.create(bench.config, runs, "killed")
    endless = lab.runs.create(bench.config.changed("training.steps", 10**6), runs, "stopped")
    launcher = lab.launchers.create("ray", address=address)
    nodes, seen = [FarNode("far-1", address, runs)], []

    def kill_when_something_came_back() -> None:
        if len(nodes) == 1 and step_of(run):
            seen.append((run.worker.host, run.state, step_of(run)))
            nodes[0].kill()
            nodes.append(FarNode("far-2", address, runs))

    def stop_when_something_came_back() -> None:
        if step_of(endless):
            detached.stop(endless)

    try:
        until = time.monotonic() + PATIENCE
        while not submitted(launcher, run) and time.monotonic() < until:
            time.sleep(1)
        wrong = [] if seen_through(launcher, kill_when_something_came_back) else [f"{run.name}: not in time"]
        launcher.submit([endless])
        wrong += [] if seen_through(launcher, stop_when_something_came_back) else [f"{endless.name}: not in time"]
    finally:
        for node in nodes:
            node.kill()
    wrong += [f"{run.name}: {what}"] if (what := bench.compare(run)) else []
    resumed = [one["sentence"] for one in run.metrics("note") if "Resumed after step" in one["sentence"]]
    if not (seen and seen[0][:2] == ("far-1", "running") and run.worker and run.worker.host == "far-2" and resumed):
        wrong.append(f"{run.name}: {seen}, then {run.worker}, {resumed}")
    if endless.state != "stopped" or step_of(endless) != endless.metrics("stepped")[-1]["step"]:
        wrong.append(f"{endless.name}: is {endless.state}, its checkpoint of step {step_of(endless)}")
    told = (
        f"killed after the checkpoint of step {seen[0][2] if seen else 0} had come back; {resumed[-1:]} on another; a "
    )
    return told + f"stopped one came back with its step {step_of(endless)}", wrong


def main() -> None:
    began = time.monotonic()
    bench = Bench(steps=STEPS, checkpoint_every=CHECKPOINT_EVERY, validate_every=STEPS)
    runs = bench.folder / "runs"
    runs.mkdir()
    with ray_cluster.nodes(0) as (cluster, _):
        told, failures = trial(bench, cluster.address, runs)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("Ray, nodes that do not see the folder", 2, failures, 0, began, told)


if __name__ == "__main__":
    main()
