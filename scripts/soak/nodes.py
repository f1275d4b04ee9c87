"""A process dies, a second node of torchrun comes late, and then its network is cut: the training goes on each time.

    python scripts/soak/nodes.py --late 20        # as root: each node is a network namespace of its own

Both are this machine, joined by a virtual cable (`ip link`, type veth) that is pulled in the middle of the training: no
packet passes from then on, and nobody is told, as when a switch dies. The first node must go on alone in two minutes
of either change, from a checkpoint; the one that is cut off must end its process by itself by then. Its torchrun is
not waited for: it asks the first node for as long as torch's rendezvous is patient, ten minutes by default.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from common import Bench, conclude, readable

from lab.runs import Run
from lab.training import checkpoint

LIMIT = 2400.0
"""Seconds in which the training has to go on after a node came or was lost: a collective waits for 30 minutes."""
PATIENCE = 300.0
"""Seconds for what is not measured, on a machine that others use."""
PORT = 29_411


@contextlib.contextmanager
def cable() -> Iterator[None]:
    """Two namespaces, soak0 and soak1, with the addresses 10.77.0.1 and 10.77.0.2; both go with the block."""
    try:
        for node in range(2):
            ip(f"netns add soak{node}")
        ip("link add soak0 netns soak0 type veth peer name soak1 netns soak1")
        for node in range(2):
            ip(f"-n soak{node} addr add 10.77.0.{node + 1}/24 dev soak{node}")
            ip(f"-n soak{node} link set soak{node} up")
            ip(f"-n soak{node} link set lo up")
        yield
    finally:
        for node in range(2):
            subprocess.run(["ip", "netns", "del", f"soak{node}"], check=False)


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


class Node:
    """torchrun on one of the two, for a training that may have one node or two."""

    def __init__(self, number: int, bench: Bench, name: str):
        self.log = bench.folder / f"node-{number}.log"
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1:2", "--nproc-per-node=1"]
        launcher += ["--max-restarts=3", "--rdzv-backend=c10d", f"--rdzv-endpoint=10.77.0.1:{PORT}", "--rdzv-id=soak"]
        launcher += [
            f"--rdzv-conf=is_host={int(number == 0)},last_call_timeout=3",
            f"--local-addr=10.77.0.{number + 1}",
        ]
        words = ["train", "--config", str(bench.folder / "long.yaml"), "--runs", str(bench.folder), "--name", name]
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", f"soak{number}", *launcher, "-m", "lab", *words, "--quiet"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "GLOO_SOCKET_IFNAME": f"soak{number}", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
            )

    def worlds(self) -> set[str]:
        """Of how many processes this node's are."""
        found = set()
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    found |= {child.environ().get("WORLD_SIZE", "")}
        return found - {""}

    def kill_process(self) -> None:
        """Kill the training's process; torchrun, its parent, lives on and counts the death, here alone."""
        for child in psutil.Process(self.process.pid).children(recursive=True):
            if "RANK" in child.environ():
                child.kill()
                return

    def end(self) -> None:
        with contextlib.suppress(psutil.Error):
            for one in (*psutil.Process(self.process.pid).children(recursive=True), self.process):
                one.kill()
        self.process.wait()


def step(folder: Path) -> int:
    """The step of the last checkpoint; 0 before there is one."""
    path = Run(folder).checkpoint("last") if (folder / "config.yaml").is_file() else None
    return 0 if path is None else checkpoint.load(path)["progress"]["step"]


def within(seconds: float, true: Callable[[], bool]) -> float | None:
    """Seconds until something is true; None when it was not in time."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            return None
        time.sleep(0.2)
    return time.monotonic() - began


def trial(bench: Bench, late: float) -> tuple[str, list[str]]:
    """What to say of it, and what is wrong."""
    folder, nodes, took = bench.folder / "long", [Node(0, bench, "long")], []

    def goes_on(worlds: list[set[str]]) -> Callable[[], bool]:
        def true() -> bool:
            if [node.worlds() for node in nodes] != worlds:
                return False
            reached.setdefault("step", step(folder))
            return step(folder) > reached["step"]

        reached: dict[str, int] = {}
        return true

    try:
        if within(PATIENCE, goes_on([{"1"}])) is None:
            return "", [f"did not begin: {nodes[0].log.read_text()[-2000:]}"]
        nodes[0].kill_process()
        took.append(within(PATIENCE, goes_on([{"1"}])))
        time.sleep(late)
        nodes.append(Node(1, bench, "long"))
        took.append(within(PATIENCE, goes_on([{"2"}, {"2"}])))
        ip("-n soak1 link set soak1 down")
        alone = within(LIMIT, lambda: nodes[0].worlds() == {"1"})
        took += [alone, within(LIMIT, goes_on([{"1"}, set()]))]
        if None in took:
            return "", [f"{took}: {[node.log.read_text(errors='replace')[-3000:] for node in nodes]}"]
    finally:
        for node in nodes:
            node.end()
    run = Run(folder)
    resumed = sum("Resumed after step" in record["sentence"] for record in run.metrics("note"))
    again, joined, began_alone, went_on = (f"{seconds:.0f} s" for seconds in took if seconds is not None)
    wrong = [readable(run)] if readable(run) else []
    wrong += [f"resumed {resumed} times"] if resumed < 3 else []
    told = f"killed, past a checkpoint after {again}; joined {late:.0f} s late, both at work {joined} after; cut, the "
    told += f"first alone {began_alone} and past a checkpoint {went_on} after that"
    return told, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--late", type=float, default=20.0, help="seconds by which the second node is late")
    asked, began = parser.parse_args(), time.monotonic()
    bench = Bench()
    long = bench.config.changed("training.steps", 10**6).changed("training.validate_every", 10**6)
    long = long.changed("training.checkpoint_every", 20).changed("training.keep_frames", 0)
    Path(bench.folder / "long.yaml").write_text(long.as_yaml())
    with cable():
        told, failures = trial(bench, asked.late)
    bench.close() if not failures else print(f"kept: {bench.folder}")
    conclude("a late node, whose network is then cut", 1, failures, 0, began, told)


if __name__ == "__main__":
    main()
