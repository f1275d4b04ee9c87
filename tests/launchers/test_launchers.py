"""Where runs are trained: this machine's queue, a Ray cluster that loses a node, and submitit's executors."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import lab.launchers
import lab.runs
import lab.search
from lab.launchers import _work
from lab.launchers._needs import needs_of
from lab.runs import stop_request
from lab.runs.folder import ENDED
from lab.runs.process import Sent
from lab.training import checkpoint

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


@pytest.fixture
def config(tiny):
    return lab.runs.RunConfig.of({**tiny, "training": {**tiny["training"], "device": "cpu"}})


def runs_of(config, root, seeds):
    return [
        lab.runs.create(config.changed("training.seed", seed), root, f"seed-{seed}")
        for seed in seeds
    ]


def assert_same_bits(one, other):
    ours, theirs = (checkpoint.load(run.checkpoint("last"))["encoder"] for run in (one, other))
    assert ours and ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.fixture(scope="module")
def cluster():
    """A head without processors and two nodes of one each."""
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SOAK)
        with importlib.import_module("ray_cluster").nodes(2) as made:
            yield made


def test_runs_survive_the_death_of_a_node_and_are_those_of_this_machine(cluster, config, tmp_path):
    made, nodes = cluster
    longer = config.changed("training.steps", 100).changed("training.checkpoint_every", 10)
    here, there = (
        runs_of(longer, tmp_path / "here", range(2)),
        runs_of(longer, tmp_path / "there", range(2)),
    )
    for run in here:
        assert _work.train_here(str(run.path), 1) == ""
    launcher = lab.launchers.create("ray", address=made.address)
    launcher.submit(there)
    lost, ended = False, []
    for run in launcher.ended():
        if run is not None:
            ended.append(run.name)
        elif not lost and any(
            one.checkpoint("last") for one in there
        ):  # in the middle of a training
            made.remove_node(nodes[0], allow_graceful=False)
            lost = True
    assert lost and sorted(ended) == [run.name for run in there]
    for one, other in zip(here, there, strict=True):
        assert other.state == "finished"
        assert_same_bits(one, other)
        assert [record["step"] for record in other.metrics("stepped")] == list(range(1, 101))


def test_a_node_that_does_not_see_the_folder_asks_for_a_shared_one(config, tmp_path):
    assert "keep the folder of runs (--runs) where all nodes see it" in _work.train_here(
        str(tmp_path / "elsewhere"), 1
    )


def test_what_fits_on_no_node_is_refused_before_anything_waits(cluster, config, tmp_path):
    made, _ = cluster
    (run,) = runs_of(config.changed("training.workers", 30), tmp_path, [0])
    with pytest.raises(
        ValueError, match="No node of the cluster can take seed-0: it needs 31 processors"
    ):
        lab.launchers.create("ray", address=made.address).submit([run])
    assert run.state == "queued"


def test_the_queue_of_this_machine_trains_a_run(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.from_address("local")
    launcher.submit([run])
    assert [one for one in launcher.ended() if one is not None] == [run] and run.state == "finished"


def test_submitit_runs_them_on_this_machine(config, tmp_path):
    pytest.importorskip("submitit")
    runs = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.create("slurm", cluster="local", gpus=0)
    launcher.submit(runs)
    assert all(run.snapshot().place == Sent("slurm") and run.snapshot().under_way for run in runs)
    ended = [run.name for run in launcher.ended() if run is not None]
    assert sorted(ended) == [run.name for run in runs] and all(
        run.state == "finished" for run in runs
    )


def test_a_job_near_its_time_limit_saves_itself_and_goes_on_later(config, tmp_path):
    from lab.launchers.slurm import SlurmJob

    pytest.importorskip("submitit")
    (whole,) = runs_of(config, tmp_path / "whole", [0])
    assert _work.train_here(str(whole.path), 1) == ""
    (run,) = runs_of(config, tmp_path / "cut", [0])
    job = SlurmJob()
    job._process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    again = job.checkpoint(str(run.path))
    assert job._process.poll() == -signal.SIGTERM
    assert (
        run.state == "queued" and run.status["sentence"] == "Its time was up; it waits for Slurm."
    )
    assert isinstance(again.function, SlurmJob) and again.args == (str(run.path),)
    assert _work.train_here(*again.args, 1) == "" and run.state == "finished"
    assert_same_bits(whole, run)
    stop_request.write(run)  # whoever asked to stop meanwhile does not find it in the queue again
    assert SlurmJob().checkpoint(str(run.path)) is None


def test_needs_come_from_the_forecast_and_are_shared_by_runs_alike(config):
    from lab.launchers import _needs

    small = needs_of(config, gpus=False)
    assert small.cpus == 1 and small.gpus == 0 and small.memory > _needs.PROCESS
    before = _needs._bytes_of.cache_info().misses
    assert (
        needs_of(config.changed("training.seed", 9).changed("training.steps", 3), gpus=False)
        == small
    )
    assert _needs._bytes_of.cache_info().misses == before
    large = needs_of(config.changed("sampler.batch_size", 12), gpus=False)
    assert large.memory > small.memory
    assert needs_of(config, gpus=True).gpus == 0  # device cpu asks for none
    assert needs_of(config, gpus=False, memory=3).memory == 3_000_000_000
    on_gpu = needs_of(config.changed("training.device", "auto"), gpus=True)
    assert (
        on_gpu.gpus == 1
        and on_gpu.cpus == 1 + _needs.AHEAD
        and on_gpu.memory > on_gpu.cpus * _needs.PROCESS
    )
    assert needs_of(config.changed("training.workers", 2), gpus=False).cpus == 3
    chosen = config.changed("training.device", "cuda")
    # as in recipes
    chosen = chosen.changed("metrics", ["mean_average_precision"]).changed(
        "training.select_by", "mAP"
    )
    assert needs_of(chosen, gpus=True).gpus == 1


def test_a_wish_in_the_folder_stops_a_run_and_is_taken_down(config, tmp_path):
    (run,) = runs_of(config.changed("training.steps", 100_000), tmp_path, [0])
    stop_request.write(run)  # meant for somebody before; taken down when the run begins
    for record in lab.runs.execute(run):
        if record.kind == "stepped" and record.step == 2:
            stop_request.write(run)
        assert time.monotonic() and (record.kind != "stepped" or record.step < 50_000)
    assert (
        run.state == "stopped"
        and run.state in ENDED
        and not (run.path / stop_request.FILE).exists()
    )
