"""A Ray cluster on this machine, of a head without processors and nodes of one each, that starts on busy cores, too."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

PATIENCE = 300.0
"""Seconds in which all nodes have to be there."""


@contextlib.contextmanager
def nodes(count: int) -> Iterator[tuple[Any, list[Any]]]:
    """The cluster (`.address`, `.remove_node`) and its nodes beside the head; all of it ends with the block."""
    # Starved cores give up on a node that is only slow, and on a worker whose imports take a minute, again and again.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else 15, which gets no time at all beside other work
    import ray
    from ray.cluster_utils import Cluster

    small = dict(object_store_memory=100_000_000, wait=False)
    with _patient():
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=0, include_dashboard=False, **small)
            made = [cluster.add_node(num_cpus=1, **small) for _ in range(count)]
            cluster.wait_for_nodes(timeout=PATIENCE)
            yield cluster, made
        finally:
            ray.shutdown()
            cluster.shutdown()


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Ray gives a node thirty seconds to start, which are too few on a busy machine."""
    from ray._private import services

    look = services.get_node

    def patiently(*about: Any) -> Any:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(RuntimeError):
                return look(*about)
            time.sleep(0.2)
        return look(*about)

    services.get_node = patiently
    try:
        yield
    finally:
        services.get_node = look
