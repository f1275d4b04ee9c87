"""Where runs are trained: this machine's queue, a Ray cluster that loses a node, and submitit's executors."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import lab.launchers
import lab.runs
import lab.search
from lab.launchers import _work, slurm
from lab.launchers._needs import needs_of
from lab.runs import lock, management
from lab.runs.folder import ENDED
from lab.runs.launching import detached, stop_request
from lab.runs.launching.queue import Queue
from lab.runs.process import Sent, Worker
from lab.training import checkpoint

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


@pytest.fixture
def config(tiny):
    return lab.runs.RunConfig.of({**tiny, "training": {**tiny["training"], "device": "cpu"}})


def runs_of(config, root, seeds):
    return [lab.runs.create(config.changed("training.seed", seed), root, f"seed-{seed}") for seed in seeds]


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
    here, there = runs_of(longer, tmp_path / "here", range(2)), runs_of(longer, tmp_path / "there", range(2))
    for run in here:
        assert _work.train_here(str(run.path), 1) == ""
    launcher = lab.launchers.create("ray", address=made.address)
    launcher.submit(there)
    lost, ended = False, []
    for run in launcher.ended():
        if run is not None:
            ended.append(run.name)
        elif not lost and any(one.checkpoint("last") for one in there):  # in the middle of a training
            made.remove_node(nodes[0], allow_graceful=False)
            lost = True
    assert lost and sorted(ended) == [run.name for run in there]
    for one, other in zip(here, there, strict=True):
        assert other.state == "finished"
        assert_same_bits(one, other)
        assert [record["step"] for record in other.metrics("stepped")] == list(range(1, 101))


def test_a_node_that_does_not_see_the_folder_asks_for_a_shared_one(config, tmp_path):
    assert "keep the folder of runs (--runs) where all nodes see it" in _work.train_here(str(tmp_path / "elsewhere"), 1)


def test_a_dead_process_of_another_machine_that_gave_a_sign_a_moment_ago_is_waited_out(config, tmp_path, monkeypatch):
    from lab.runs import folder

    assert _work.PATIENCE > folder.STALE
    monkeypatch.setattr(folder, "STALE", 2.0)
    (run,) = runs_of(config.changed("training.steps", 2), tmp_path, [0])
    with lab.runs.Writer(run) as writer:
        writer.describe({"worker": Worker("another-machine", 1, 1.0).as_dict()})
        writer.status("running", phase="training")
    with pytest.raises(lock.Held):
        lab.runs.Writer(run)
    with lab.runs.Writer(run, gone=True) as writer:  # of whoever knows that it has ended
        assert run.written_state == "interrupted"
        writer.status("running", phase="training")
    assert _work.train_here(str(run.path), 1) == "" and run.state == "finished"


def test_what_fits_on_no_node_is_refused_before_anything_waits(cluster, config, tmp_path):
    made, _ = cluster
    (run,) = runs_of(config.changed("training.workers", 30), tmp_path, [0])
    with pytest.raises(ValueError, match="No node of the cluster can take seed-0: it needs 31 processors"):
        lab.launchers.create("ray", address=made.address).submit([run])
    assert run.state == "queued"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            ConnectionError("no route to host\nmore"),
            r"no Ray cluster at h:1 that can be used: no route to host\. Start one",
        ),
        (RuntimeError("Version mismatch\nmuch more"), r"no Ray cluster at h:1 that can be used: Version mismatch\.$"),
    ],
)
def test_whatever_ray_cannot_do_at_the_beginning_is_a_sentence(error, sentence, monkeypatch):
    ray = pytest.importorskip("ray")

    def refuse(**_):
        raise error

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ValueError, match=sentence):
        lab.launchers.create("ray", address="h:1").submit([])


def test_the_queue_of_this_machine_trains_a_run(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.at("local")
    launcher.submit([run])
    assert [one for one in launcher.ended() if one is not None] == [run] and run.state == "finished"


def test_a_run_that_somebody_takes_out_of_the_queue_is_not_waited_for(config, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.runs.launching.queue.Queue.ensure_worker", lambda self: None)
    monkeypatch.setattr("lab.launchers.local.PAUSE", 0.0)
    queue, launcher = Queue(tmp_path), lab.launchers.at("local")
    runs = runs_of(config, tmp_path, range(3))
    queue.pause()
    launcher.submit(runs)
    ended = launcher.ended()
    assert next(ended) is None
    queue.remove(runs[0].name)
    assert next(ended) == runs[0]
    queue.remove(runs[1].name)
    management.trash(runs[1])
    assert [next(ended), next(ended)] == [runs[1], None]


def test_submitit_runs_them_on_this_machine(config, tmp_path):
    pytest.importorskip("submitit")
    runs = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.create("slurm", cluster="local", gpus=0)
    launcher.submit(runs)
    assert all(run.snapshot().place == Sent("slurm") and run.snapshot().under_way for run in runs)
    ended = [run.name for run in launcher.ended() if run is not None]
    assert sorted(ended) == [run.name for run in runs] and all(run.state == "finished" for run in runs)


def test_a_job_that_has_not_begun_is_taken_back(config, tmp_path):
    from types import SimpleNamespace

    (run,) = runs_of(config, tmp_path, [0])
    detached.hand_over(run, Sent("slurm"), Worker.this(), True)
    cancelled = []
    job = SimpleNamespace(done=lambda: bool(cancelled), cancel=lambda check: cancelled.append(run.name))
    launcher = lab.launchers.create("slurm")
    launcher._jobs = [slurm._Job(run, job, run.status["updated"])]
    assert detached.stop(run) == "asked" and run.state == "queued"
    assert [one and one.name for one in launcher.ended()] == [None, "seed-0"] and cancelled == ["seed-0"]
    assert run.state == "stopped" and run.status["sentence"] == "Taken back; nothing of it was trained."


def test_the_same_command_again_finds_the_jobs_of_one_that_was_interrupted(config, tmp_path, monkeypatch):
    pytest.importorskip("submitit")

    class Waiting(Done):
        over = False

        def done(self):
            return self.over

    (run,) = runs_of(config, tmp_path, [0])
    launcher, gone, job = lab.launchers.create("slurm"), Worker("login-2", 7, 1.0), Waiting()
    detached.hand_over(run, launcher.place, gone, True)
    detached.sign(run, launcher.place, gone, True, "12_0")
    known = {(tmp_path / ".slurm", "12_0"): job}
    monkeypatch.setattr("submitit.SlurmJob", lambda *about: known[about])
    launcher.submit([run])  # without Slurm here, it would refuse to submit anything
    assert run.state == "queued" and run.snapshot().sender == Worker.this() and run.snapshot().job == "12_0"
    assert next(launcher.ended()) is None
    job.over = True
    with lab.runs.Writer(run) as writer:
        writer.status("finished")
    assert [one.name for one in launcher.ended()] == ["seed-0"]
    detached.hand_over(run, launcher.place, gone, True)
    detached.sign(run, launcher.place, gone, True, "12_0")
    with pytest.raises(ValueError, match="Submit from a machine of the cluster"):  # its job is over: it is sent anew
        lab.launchers.create("slurm").submit([run])


def test_a_stop_before_the_launcher_has_begun_is_kept(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    detached.hand_over(run, Sent("slurm"), Worker.this(), True)  # as the page does
    assert detached.stop(run) == "asked"
    launcher = lab.launchers.create("slurm", cluster="debug", gpus=0)
    launcher.submit([run])  # says once more who sends it
    assert run.state == "stopped" and not launcher._jobs
    detached.hand_over(run, Sent("slurm"), Worker.this(), True)
    with pytest.raises(ValueError, match="seed-0 is queued, so it cannot be sent"):
        lab.launchers.send([run], Sent("slurm"))


@pytest.mark.parametrize("host", ["here", "elsewhere"])
def test_a_run_that_waits_is_taken_back_from_any_machine(host, config, tmp_path):
    """Its sender is gone, or cannot be seen from here: the node reads the wish before it begins."""
    (run,) = runs_of(config, tmp_path, [0])
    gone = Worker(Worker.this().host if host == "here" else "another-machine", 2**22 + 1, 1.0)
    detached.hand_over(run, Sent("slurm"), gone, True)
    assert run.snapshot().under_way
    if host == "here":
        with lock.take(run.path):  # somebody writes the folder, so that it cannot be said
            assert detached.stop(run) == "asked" and run.written_state == "queued" and stop_request.pending(run)
    assert detached.stop(run) == "stopped"
    assert run.state == "stopped" and stop_request.pending(run)  # for a job that may begin yet
    for begin in (slurm.SlurmJob(), lambda path: _work.train_here(path, 1)):
        stop_request.write(run)
        begin(str(run.path))
        assert run.status["sentence"].startswith("Taken back;") and not stop_request.pending(run) and not run.begun
    detached.hand_over(run, Sent("slurm"), gone, True)
    stop_request.write(run)  # after that look, before the training
    assert [record.step for record in lab.runs.execute(run) if record.kind == "stepped"] == [1]
    assert run.state == "stopped" and not stop_request.pending(run)


def test_a_run_goes_on_with_the_knobs_that_it_was_sent_with(config, tmp_path):
    import argparse

    from app.shared import location
    from lab.cli import _launching

    def named(*words):
        parser = argparse.ArgumentParser()
        _launching.add_on(parser, words)
        return _launching.launcher_of(parser.parse_args(words), run.snapshot().place).knobs

    (run,) = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.create("slurm", cluster="debug", gpus=0, minutes=90, partition="gpu")
    detached.hand_over(run, launcher.place, Worker.this(), True)
    before = run.snapshot().place
    assert before == Sent("slurm") and lab.launchers.of(before).knobs == launcher.knobs
    assert location.handed_to("slurm", run).knobs["minutes"] == 90 and location.handed_to("slurm").knobs == {}
    assert location.knobs_of(before) == "As before: partition gpu, minutes 90, gpus 0, cluster debug."
    assert named("--on", "slurm") == launcher.knobs
    assert named("--on", "slurm", "--on.minutes", "5") == launcher.knobs.model_copy(update={"minutes": 5})
    ray = lab.launchers.create("ray", address="h:1", retries=7)
    detached.hand_over(run, ray.place, Worker.this(), False)
    assert named("--on", "ray") == ray.knobs and named("--on", "ray://other:2").address == "ray://other:2"
    assert named("--on", "slurm") == lab.launchers.create("slurm").knobs
    assert main_of(run, {"launcher": "slurm", "knobs": {"minutes": 0}}) == 1 and "minutes" in run.status["sentence"]


def main_of(run, place):
    import json

    from lab.launchers.__main__ import main

    return main([json.dumps(place), str(run.path)])


def test_whatever_a_launcher_raises_is_said_in_the_run(config, tmp_path, monkeypatch):
    def refuses(self, runs):
        raise RuntimeError("sbatch: error: invalid partition specified")

    (run,) = runs_of(config, tmp_path, [0])
    monkeypatch.setattr(slurm.Slurm, "submit", refuses)
    assert main_of(run, {"launcher": "slurm"}) == 1
    assert run.state == "failed" and "invalid partition" in run.status["sentence"]


def test_a_run_whose_sender_is_gone_waits_for_nobody(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    gone = Worker(Worker.this().host, 2**22 + 1, 1.0)
    detached.hand_over(run, Sent("ray", "h:1"), gone, False)
    assert run.state == "interrupted" and "had sent it to a cluster" in run.status["sentence"]
    assert not run.snapshot().under_way and run.snapshot().place.words == "the Ray cluster at h:1"
    detached.hand_over(run, Sent("slurm"), gone, True)
    assert run.state == "queued"


def test_a_task_that_waits_is_cancelled_when_it_is_asked_to_stop(config, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    (run,) = runs_of(config, tmp_path, [0])
    launcher, cancelled = lab.launchers.create("ray"), []
    detached.hand_over(run, launcher.place, Worker.this(), False)
    launcher._tasks = {"task": run}

    def get(task):
        raise ray.exceptions.TaskCancelledError

    monkeypatch.setattr(type(launcher), "_connected", lambda self: ray)
    monkeypatch.setattr(ray, "wait", lambda tasks, timeout: (tasks, []) if cancelled else ([], tasks))
    monkeypatch.setattr(ray, "cancel", cancelled.append)
    monkeypatch.setattr(ray, "get", get)
    ended = launcher.ended()
    assert next(ended) is None and not cancelled
    assert detached.stop(run) == "asked" and run.state == "queued"
    assert next(ended) is None and cancelled == ["task"]
    assert next(ended) == run and run.status["sentence"] == "Taken back; nothing of it was trained."


class Done:
    """A job that has ended."""

    def done(self):
        return True


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
    assert run.state == "queued" and run.status["sentence"] == "Its time was up; it waits for Slurm."
    assert isinstance(again.function, SlurmJob) and again.args == (str(run.path),)
    assert _work.train_here(*again.args, 1) == "" and run.state == "finished"
    assert_same_bits(whole, run)
    stop_request.write(run)  # whoever asked to stop meanwhile does not find it in the queue again
    assert SlurmJob().checkpoint(str(run.path)) is None


@pytest.mark.parametrize(("state", "back"), [("stopped", True), ("finished", False)])
def test_only_what_has_more_to_do_goes_back_into_the_queue(state, back, config, tmp_path, monkeypatch):
    """The signal comes while the job waits for the training, in the same thread."""
    pytest.importorskip("submitit")
    (run,) = runs_of(config, tmp_path, [0])
    with lab.runs.Writer(run) as writer:
        writer.status(state)
    monkeypatch.setattr(slurm.children, "python", lambda *_: [sys.executable, "-c", "import time; time.sleep(600)"])
    monkeypatch.setattr(slurm, "GRACE", 20.0)
    job, again = slurm.SlurmJob(), []
    before = signal.signal(signal.SIGUSR2, lambda *_: again.append(job.checkpoint(str(run.path))))
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        assert job(str(run.path)) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert [one is not None for one in again] == [back] and run.written_state == ("queued" if back else state)


def test_needs_come_from_the_forecast_and_are_shared_by_runs_alike(config):
    from lab.launchers import _needs

    small = needs_of(config, gpus=False)
    assert small.cpus == 1 and small.gpus == 0 and small.memory > _needs.PROCESS
    before = _needs._bytes_of.cache_info().misses
    assert needs_of(config.changed("training.seed", 9).changed("training.steps", 3), gpus=False) == small
    assert _needs._bytes_of.cache_info().misses == before
    large = needs_of(config.changed("sampler.batch_size", 12), gpus=False)
    assert large.memory > small.memory
    assert needs_of(config, gpus=True).gpus == 0  # device cpu asks for none
    assert needs_of(config, gpus=False, memory=3).memory == 3_000_000_000
    on_gpu = needs_of(config.changed("training.device", "auto"), gpus=True)
    assert on_gpu.gpus == 1 and on_gpu.cpus == 1 + _needs.AHEAD and on_gpu.memory > on_gpu.cpus * _needs.PROCESS
    assert needs_of(config.changed("training.workers", 2), gpus=False).cpus == 3
    chosen = config.changed("training.device", "cuda")
    chosen = chosen.changed("metrics", ["mean_average_precision"]).changed("training.select_by", "mAP")  # as in recipes
    assert needs_of(chosen, gpus=True).gpus == 1


def test_a_wish_in_the_folder_stops_a_run_and_is_taken_down(config, tmp_path):
    (run,) = runs_of(config.changed("training.steps", 100_000), tmp_path, [0])
    stop_request.write(run)  # meant for somebody before; taken down when the run begins
    for record in lab.runs.execute(run):
        if record.kind == "stepped" and record.step == 2:
            stop_request.write(run)
        assert time.monotonic() and (record.kind != "stepped" or record.step < 50_000)
    assert run.state == "stopped" and run.state in ENDED and not (run.path / stop_request.FILE).exists()


def test_a_job_that_dies_is_told_in_a_run_that_had_stopped_before(config, tmp_path):
    from types import SimpleNamespace

    (run,) = runs_of(config, tmp_path, [0])
    with lab.runs.Writer(run) as writer:
        writer.status("stopped", phase="stopped", sentence="Stopped after step 2.")
    dead = SimpleNamespace(
        job_id="7", exception=lambda: RuntimeError("node lost"), paths=SimpleNamespace(stderr="7_log.err")
    )
    slurm._settle(slurm._Job(run, dead, run.status["updated"]))
    assert run.state == "failed" and "Its job 7 ended without training it: node lost." in run.status["sentence"]
    with lab.runs.Writer(run) as writer:
        writer.describe({"worker": Worker("another-machine", 1, 1.0).as_dict()})
        writer.status("running", sentence="")  # a moment before its node was lost
    slurm._settle(slurm._Job(run, dead, 0.0))
    assert run.state == "failed" and "node lost" in run.status["sentence"]


def test_workers_of_a_cluster_read_a_part_of_a_gallery_each_with_the_same_bits(cluster, tmp_path):
    import numpy as np

    from lab.core.results import EmbeddingSet
    from lab.galleries import shards

    random = np.random.default_rng(0)
    images = EmbeddingSet(random.normal(size=(90, 8)).astype(np.float32), np.arange(90) % 9, np.arange(90))
    writer = shards.Writer(tmp_path / "gallery", {})
    writer.add(images, [""] * 90)
    index = lab.search.create("streamed", k=7).build(writer.finish())
    there = index.rank_over(lab.launchers.create("ray", address=cluster[0].address).map, 4, images, True)
    here = lab.search.create("exact", k=7).build(images).rank(images, True)
    np.testing.assert_array_equal(there.neighbours, here.neighbours)
    np.testing.assert_array_equal(there.positive_ranks, here.positive_ranks)
