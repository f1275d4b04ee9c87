"""A Ray cluster on this machine, of a head without processors and nodes of one each, that starts on busy cores, too."""

from __future__ import annotations

import contextlib
import os
import random
import socket
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
    os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "300")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "300000")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else 15, which gets no time at all beside other work
    import ray
    from ray.cluster_utils import Cluster

    small = dict(object_store_memory=100_000_000, wait=False)
    with _patient():
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=0, include_dashboard=False, **small, **_ports())
            made = [cluster.add_node(num_cpus=1, **small, **_ports()) for _ in range(count)]
            cluster.wait_for_nodes(timeout=PATIENCE)
            yield cluster, made
        finally:
            ray.shutdown()
            cluster.shutdown()


def _ports() -> dict[str, int]:
    """Ports for a node's agents: with none given, a node waits fifteen seconds for each agent to say which it took, and
    then dies. They lie below those that systems hand out, so that nobody takes one before its agent has started."""
    agents = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    free: set[int] = set()
    while len(free) < len(agents):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", random.randrange(12_000, 32_000)))
            free.add(probe.getsockname()[1])
    return dict(zip(agents, free, strict=True))


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
