"""Trainings on a Ray cluster of a head and two nodes, of which one is killed in the middle; the rest train on.

    python scripts/soak/cluster.py --trials 40

Every run must end as the one that was trained without Ray, bit for bit. Prints a row of docs/scale.md.
"""

import os
import time

os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # starved cores give up on a node that is only slow

from common import Bench, arguments, conclude

import lab.launchers


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 40), time.monotonic()
    bench = Bench()
    import ray
    from ray.cluster_utils import Cluster

    small = dict(object_store_memory=100_000_000, include_dashboard=False)
    cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=0, **small))
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(2)]
    cluster.wait_for_nodes()
    launcher = lab.launchers.create("ray", address=cluster.address)
    runs = [bench.run(f"run-{number:02d}") for number in range(asked.trials)]
    launcher.submit(runs)
    ended, killed, apart = [], 0, []
    for run in launcher.ended():
        if run is not None:
            ended.append(run)
        at_work = [one for one in runs if one not in ended and one.begun]
        if not killed and len(ended) >= asked.trials // 3 and at_work:
            cluster.remove_node(nodes[0], allow_graceful=False)
            killed, apart = len(ended), at_work
    failures = [f"{run.name}: {wrong}" for run in runs if (wrong := bench.compare(run))]
    if not killed:
        failures.append("no node was killed: all runs had ended")
    ray.shutdown()
    cluster.shutdown()
    bench.close() if not failures else print(f"kept: {bench.folder}")
    told = f"one of two nodes killed after {killed} runs, with {len(apart)} at work"
    conclude("Ray, a node killed", asked.trials, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
