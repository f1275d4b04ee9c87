"""A Ray cluster on this machine, of a head without processors and nodes of one each, that starts on busy cores, too."""

from __future__ import annotations

import contextlib
import inspect
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
    # else 15, which gets no time at all beside other work
    os.environ.setdefault("RAY_worker_niceness", "0")
    import ray
    from ray.cluster_utils import Cluster

    small = dict(object_store_memory=100_000_000, wait=False)
    with _patient():
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=0, include_dashboard=False, **small, **_port())
            made = [cluster.add_node(num_cpus=1, **small, **_port()) for _ in range(count)]
            cluster.wait_for_nodes(timeout=PATIENCE)
            yield cluster, made
        finally:
            ray.shutdown()
            cluster.shutdown()


def _port() -> dict[str, int]:
    """A port for a node's agent of environments, below those that systems hand out, so that nobody else takes it."""
    while True:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", random.randrange(12_000, 32_000)))
            return {"runtime_env_agent_port": probe.getsockname()[1]}


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Ray gives a node thirty seconds to start, and a node gives each of its agents fifteen to say its port, which are
    too few on a busy machine. Agents of the dashboard count as not there, as in an installation of Ray without it."""
    from ray import _raylet
    from ray._private import services

    look, start = services.get_node, services.start_raylet
    agents = (
        _raylet.METRICS_AGENT_PORT_NAME,
        _raylet.METRICS_EXPORT_PORT_NAME,
        _raylet.DASHBOARD_AGENT_LISTEN_PORT_NAME,
    )

    def patiently(*about: Any) -> Any:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(RuntimeError):
                return look(*about)
            time.sleep(0.2)
        return look(*about)

    def at_once(*args: Any, **options: Any) -> Any:
        about = inspect.signature(start).bind(*args, **options).arguments
        for agent in agents:
            _raylet.persist_port(about["session_dir"], about["node_id"], agent, -1)
        return start(*args, **options)

    services.get_node, services.start_raylet = patiently, at_once
    try:
        yield
    finally:
        services.get_node, services.start_raylet = look, start
