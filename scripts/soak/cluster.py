"""Trainings on a Ray cluster of a head and two nodes, of which one is killed in the middle; the rest train on.

    python scripts/soak/cluster.py --trials 40

Every run must end as the one that was trained without Ray, bit for bit. Prints a row of docs/reliability.md.
"""

import time

import ray_cluster
from common import Bench, arguments, conclude

import lab.launchers
from lab.runs import Run

STEPS, CHECKPOINT_EVERY = 100, 5
"""Long enough for a node to be killed in the middle, on a machine that others use, too."""


def at_work(runs: list[Run], ended: list[Run]) -> list[Run]:
    return [run for run in runs if run not in ended and run.checkpoint("last") and run.state != "finished"]


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 40), time.monotonic()
    bench = Bench(steps=STEPS, checkpoint_every=CHECKPOINT_EVERY, validate_every=STEPS)
    runs = [bench.run(f"run-{number:02d}") for number in range(asked.trials)]
    ended: list[Run] = []
    cut: list[Run] = []
    with ray_cluster.nodes(2) as (cluster, nodes):
        print(f"the cluster is up after {time.monotonic() - began:.0f} s", flush=True)
        launcher = lab.launchers.create("ray", address=cluster.address)
        launcher.submit(runs)
        for run in launcher.ended():
            if run is not None:
                ended.append(run)
                print(f"{run.name} {run.state} after {time.monotonic() - began:.0f} s", flush=True)
            busy = at_work(runs, ended) if not cut and len(ended) >= asked.trials // 3 else []
            if len(busy) == 2:  # one on each node
                cluster.remove_node(nodes[0], allow_graceful=False)
                cut = busy
                print(f"a node was killed, with {', '.join(one.name for one in cut)} at work", flush=True)
    failures = [f"{run.name}: {wrong}" for run in runs if (wrong := bench.compare(run))]
    again = [run for run in runs if run.meta.get("resumed")]
    if not again:
        failures.append("no run lost its node")
    bench.close() if not failures else print(f"kept: {bench.folder}")
    told = f"one of two nodes killed with a run at work on each; {len(again)} went on from a checkpoint on the other"
    conclude("Ray, a node killed", asked.trials, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
