"""Where runs are trained: this machine's queue, a Ray cluster that loses a node, and submitit's executors."""

from __future__ import annotations

import importlib
import os
import re
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
from lab.launchers import _parcels, _post, _work, slurm
from lab.launchers import ray as ray_launcher
from lab.launchers._needs import needs_of
from lab.runs import lock, shelf
from lab.runs.folder import ENDED
from lab.runs.launching import detached, sent, wishes
from lab.runs.launching.queue import Queue
from lab.runs.process import Worker
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
    here = runs_of(longer, tmp_path / "here", range(2))
    for run in here:
        assert _work.train_here(str(run.path), 1).state == "finished"
    there = runs_of(longer, tmp_path / "there", range(2))
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
        steps = [record["step"] for record in other.metrics("stepped")]
        assert steps == list(range(1, 101))


def test_a_node_that_does_not_see_the_folder_sends_it_back(cluster, config, tmp_path, monkeypatch):
    """Its process is killed at work: another goes on from what had come back, and stops when it is asked to."""
    made, _ = cluster
    endless = config.changed("training.steps", 1_000_000).changed("training.checkpoint_every", 10)
    endless = endless.changed("training.validate_every", 100)
    (run,) = runs_of(endless, tmp_path / "here", [0])
    monkeypatch.setattr(ray_launcher, "_seen_as", lambda run: Path("/not/mounted") / run.name)
    launcher = lab.launchers.create("ray", address=made.address)
    launcher.submit([run])
    workers, ended = [], []
    for over in launcher.ended():
        ended += [over] if over is not None else []
        worker = (run.meta.get("worker") or {}).get("pid")
        if worker in (None, *workers) or run.checkpoint("last") is None:
            continue
        assert run.written_state == "running" and sent.under_way(run)
        workers.append(worker)
        if len(workers) == 1:
            os.kill(worker, signal.SIGKILL)
        else:
            assert detached.stop(run) == "asked"
    assert len(workers) == 2 and ended == [run]
    step = checkpoint.load(run.checkpoint("last"))["progress"]["step"]
    assert run.state == "stopped" and run.status["sentence"] == f"Stopped after step {step}."
    assert not wishes.left(run) and any("Resumed after step" in one["sentence"] for one in run.metrics("note"))
    assert [record["step"] for record in run.metrics("stepped")] == list(range(1, step + 1))
    (here,) = runs_of(endless.changed("training.checkpoint_every", 1_000_000), tmp_path / "there", [0])
    done = []
    done += (one.step for one in lab.runs.execute(here, lambda: len(done) >= step - 1) if one.kind == "stepped")
    assert done[-1] == step
    assert_same_bits(here, run)


class Direct:
    """A post that is no actor."""

    def __init__(self):
        self.post = _post.Post()

    def __call__(self, method, *values):
        return getattr(self.post, method)(*values)


def test_what_a_run_makes_comes_back_while_it_trains(config, tmp_path):
    """Checkpoints at once; what went from the copy goes from the folder, and what people wrote there stays."""
    (run,) = runs_of(config.changed("training.checkpoint_every", 2).changed("training.keep_frames", 1), tmp_path, [0])
    (run.path / "remarks.json").write_text("{}")
    call, steps = Direct(), []
    delivery = _post.Delivery(_parcels.Packer(run.path).parcel(), "key", call)
    leave = call.post.leave

    def left(key, parcel):
        leave(key, parcel)
        for name, arrived in call.post.fetch(frozenset()).items():
            assert name == "key"
            _parcels.unpack(arrived, run.path)
        path = run.checkpoint("last")
        steps.append(path and checkpoint.load(path)["progress"]["step"])

    call.post.leave = left
    outcome = _work.train_here(str(tmp_path / "not mounted" / run.name), 1, delivery)
    assert outcome.state == run.state == "finished" and run.scores("test") and run.checkpoint("best")
    assert {2, 4, 6, 8} <= set(steps) and len(run.frames()) == 1 and (run.path / "remarks.json").is_file()
    assert not list(run.path.rglob("*.tmp"))


def test_what_could_not_be_sent_is_in_the_next_parcel(tmp_path):
    arrived = []

    def call(method, key, parcel):
        if not arrived:
            arrived.append("lost")
            raise ConnectionError("the head is away")
        arrived.append(parcel.contents)

    courier = _post.Courier(tmp_path, _post.Delivery(_parcels.Parcel(frozenset(), {}), "key", call))
    (tmp_path / "log.txt").write_text("begun")
    with pytest.raises(ConnectionError):
        courier.send()
    courier.send()
    courier.send()
    assert arrived == ["lost", {"log.txt": b"begun"}, {}]


def test_parcels_that_nobody_fetched_become_one():
    post = _post.Post()
    post.leave("a", _parcels.Parcel(frozenset({"one", "two"}), {"one": b"1", "two": b"2"}))
    post.leave("a", _parcels.Parcel(frozenset({"two", "three"}), {"three": b"3"}))
    parcel = post.fetch(frozenset({"b"}))["a"]
    assert parcel.contents == {"two": b"2", "three": b"3"} and post.wished("b") and not post.wished("a")


@pytest.mark.parametrize("name", ["../stranger", "/stranger", ".lock", "sent.json", "checkpoints/.x.tmp", "linked/in"])
def test_nothing_that_comes_back_leaves_the_folder(name, config, tmp_path):
    (run,) = runs_of(config, tmp_path / "runs", [0])
    (tmp_path / "elsewhere").mkdir()
    (run.path / "linked").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="no file of its folder"):
        _parcels.unpack(_parcels.Parcel(frozenset({"good", name}), {"good": b"", name: b""}), run.path)
    assert sorted(tmp_path.rglob("*")) == before


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
    assert _work.train_here(str(run.path), 1).state == "finished"


def test_a_run_that_another_process_took_over_does_not_end_the_others(config, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    runs = runs_of(config, tmp_path, range(2))
    launcher = lab.launchers.create("ray")
    launcher._tasks = {object(): ray_launcher._Task(run, needs_of(config, False)) for run in runs}
    monkeypatch.setattr(type(launcher), "_connected", lambda self: ray)
    monkeypatch.setattr(ray, "wait", lambda tasks, timeout: (tasks[:1], tasks[1:]))
    monkeypatch.setattr(ray, "get", lambda task: _work.Outcome("there", "failed", "It is being written."))
    with lab.runs.Writer(runs[0]):
        assert [run.name for run in launcher.ended()] == ["seed-0", "seed-1"]
    assert [run.state for run in runs] == ["queued", "failed"]


def test_the_last_parcel_of_a_run_is_unpacked_once_its_folder_can_be_written(config, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    runs = runs_of(config, tmp_path, range(2))
    launcher = lab.launchers.create("ray")
    for number, run in enumerate(runs):
        sent.hand_over(run, launcher.place, Worker.this(), False)
        launcher._tasks[number] = ray_launcher._Task(run, needs_of(config, False), str(number))
        launcher._arrived[str(number)] = _parcels.Parcel(frozenset({"log.txt"}), {"log.txt": b"the last word"})
    monkeypatch.setattr(type(launcher), "_connected", lambda self: ray)
    monkeypatch.setattr(ray_launcher, "PAUSE", 0.01)
    monkeypatch.setattr(ray, "wait", lambda tasks, timeout: (tasks, []))
    monkeypatch.setattr(ray, "get", lambda task: _work.Outcome("there", "finished", ""))
    unpack, full = _parcels.unpack, [True]

    def on_a_full_disk(parcel, folder):
        if full and folder == runs[1].path:
            raise OSError(28, "No space left on device", full.pop())
        unpack(parcel, folder)

    monkeypatch.setattr(_parcels, "unpack", on_a_full_disk)
    ended = launcher.ended()
    with lab.runs.Writer(runs[0]):
        assert next(ended) is None and next(ended) == runs[1], "it was unpacked at the second look"
    assert [run for run in ended if run is not None] == runs[:1]
    assert all((run.path / "log.txt").read_text() == "the last word" for run in runs)


def test_what_fits_on_no_node_is_refused_before_anything_waits(cluster, config, tmp_path):
    made, _ = cluster
    (run,) = runs_of(config.changed("training.workers", 30), tmp_path, [0])
    with pytest.raises(ValueError, match="No node of the cluster can take seed-0: it needs 31 processors"):
        lab.launchers.create("ray", address=made.address).submit([run])
    assert run.state == "queued"


def test_a_cluster_that_is_not_there_is_a_sentence(config, tmp_path, monkeypatch):
    import ray

    def refuse(**_):
        raise ConnectionError("no route to host\nmore")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match="There is no Ray cluster at somewhere:6379: no route to host."):
        lab.launchers.create("ray", address="somewhere:6379").submit(runs_of(config, tmp_path, [0]))


def test_an_address_given_twice_is_a_sentence():
    with pytest.raises(ValueError, match="given twice, ray://one:1 and two:2"):
        lab.launchers.at("ray://one:1", address="two:2")


@pytest.mark.parametrize("name, library", [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_library_is_named_with_what_installs_it(name, library, config, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"rankscope\[{name}\]"):
        lab.launchers.create(name).submit(runs_of(config, tmp_path, [0]))


def test_the_queue_of_this_machine_trains_them_in_order(config, tmp_path):
    runs = runs_of(config, tmp_path, range(2))
    launcher = lab.launchers.at("local")
    launcher.submit(runs)
    ended = [run.name for run in launcher.ended() if run is not None]
    assert sorted(ended) == ["seed-0", "seed-1"] and all(run.state == "finished" for run in runs)


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
    shelf.trash(runs[1])
    assert [next(ended), next(ended)] == [runs[1], None]


@pytest.mark.parametrize(("cluster", "count"), [("local", 2), ("debug", 1)])
def test_submitit_runs_them_on_this_machine(cluster, count, config, tmp_path):
    pytest.importorskip("submitit")
    runs = runs_of(config, tmp_path, range(count))
    launcher = lab.launchers.create("slurm", cluster=cluster, gpus=0)
    launcher.submit(runs)
    assert all(sent.place_of(run) == sent.Sent("slurm") and sent.under_way(run) for run in runs)
    ended = [run.name for run in launcher.ended() if run is not None]
    assert sorted(ended) == [run.name for run in runs] and all(run.state == "finished" for run in runs)


def test_a_job_that_has_not_begun_is_taken_back(config, tmp_path):
    from types import SimpleNamespace

    (run,) = runs_of(config, tmp_path, [0])
    sent.hand_over(run, sent.Sent("slurm"), Worker.this(), True)
    cancelled = []
    job = SimpleNamespace(done=lambda: bool(cancelled), cancel=lambda check: cancelled.append(run.name))
    launcher = lab.launchers.create("slurm")
    launcher._jobs = [slurm._Job(run, job, run.status["updated"])]
    assert detached.stop(run) == "asked" and run.state == "queued"
    assert [one and one.name for one in launcher.ended()] == [None, "seed-0"] and cancelled == ["seed-0"]
    assert (
        run.state == "stopped" and run.status["sentence"] == "Taken back; nothing of it had come back from the cluster."
    )


def test_the_same_command_again_finds_the_jobs_of_one_that_was_interrupted(config, tmp_path, monkeypatch):
    pytest.importorskip("submitit")

    class Waiting(Done):
        over = False

        def done(self):
            return self.over

    (run,) = runs_of(config, tmp_path, [0])
    launcher, gone, job = lab.launchers.create("slurm"), Worker("login-2", 7, 1.0), Waiting()
    sent.hand_over(run, launcher.place, gone, True)
    sent.sign(run, launcher.place, gone, True, "12_0")
    monkeypatch.setattr(
        slurm, "_job_of", lambda *about: job if about == ("slurm", tmp_path / ".slurm", "12_0") else None
    )
    launcher.submit([run])  # without Slurm here, it would refuse to submit anything
    assert run.state == "queued" and run.sender == Worker.this() and sent.job_of(run) == "12_0"
    assert next(launcher.ended()) is None
    job.over = True
    with lab.runs.Writer(run) as writer:
        writer.status("finished")
    assert [one.name for one in launcher.ended()] == ["seed-0"]
    sent.hand_over(run, launcher.place, gone, True)
    sent.sign(run, launcher.place, gone, True, "12_0")
    with pytest.raises(ValueError, match="Submit from a machine of the cluster"):  # its job is over: it is sent anew
        lab.launchers.create("slurm").submit([run])


def test_a_stop_before_the_launcher_has_begun_is_kept(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    sent.hand_over(run, sent.Sent("slurm"), Worker.this(), True)  # as the page does
    assert detached.stop(run) == "asked"
    launcher = lab.launchers.create("slurm", cluster="debug", gpus=0)
    launcher.submit([run])  # says once more who sends it
    assert run.state == "stopped" and not launcher._jobs
    sent.hand_over(run, sent.Sent("slurm"), Worker.this(), True)
    with pytest.raises(ValueError, match="seed-0 is queued, so it cannot be sent"):
        lab.launchers.send([run], sent.Sent("slurm"))


@pytest.mark.parametrize("host", ["here", "elsewhere"])
def test_a_run_that_waits_is_taken_back_from_any_machine(host, config, tmp_path):
    """Its sender is gone, or cannot be seen from here: the node reads the wish before it begins."""
    (run,) = runs_of(config, tmp_path, [0])
    gone = Worker(Worker.this().host if host == "here" else "another-machine", 2**22 + 1, 1.0)
    sent.hand_over(run, sent.Sent("slurm"), gone, True)
    assert sent.under_way(run)
    if host == "here":
        with lock.take(run.path):  # somebody writes the folder, so that it cannot be said
            assert detached.stop(run) == "asked" and run.written_state == "queued" and wishes.left(run)
    if host == "elsewhere":  # somebody may be there who hears of it
        assert detached.stop(run) == "asked" and run.state == "queued"
        assert detached.stop(run) == "stopped"  # nobody did
    else:
        assert detached.stop(run) == "stopped"
    assert run.state == "stopped" and wishes.left(run)  # for a job that may begin yet
    for begin in (slurm.Training(), lambda path: _work.train_here(path, 1)):
        wishes.leave(run)
        begin(str(run.path))
        assert run.status["sentence"].startswith("Taken back;") and not wishes.left(run) and not run.begun
    sent.hand_over(run, sent.Sent("slurm"), gone, True)
    wishes.leave(run)  # after that look, before the training
    assert [record.step for record in lab.runs.execute(run) if record.kind == "stepped"] == [1]
    assert run.state == "stopped" and not wishes.left(run)


def test_a_run_goes_on_with_the_knobs_that_it_was_sent_with(config, tmp_path):
    import argparse

    from app.shared import location
    from lab.cli import _launching

    def named(*words):
        parser = argparse.ArgumentParser()
        _launching.add_on(parser, words)
        return _launching.launcher_of(parser.parse_args(words), sent.place_of(run)).knobs

    (run,) = runs_of(config, tmp_path, [0])
    launcher = lab.launchers.create("slurm", cluster="debug", gpus=0, minutes=90, partition="gpu")
    sent.hand_over(run, launcher.place, Worker.this(), True)
    before = sent.place_of(run)
    assert before == sent.Sent("slurm") and lab.launchers.of(before).knobs == launcher.knobs
    assert location.handed_to("slurm", run).knobs["minutes"] == 90 and location.handed_to("slurm").knobs == {}
    assert location.knobs_of(before) == "As before: partition gpu, minutes 90, gpus 0, cluster debug."
    assert named("--on", "slurm") == launcher.knobs
    assert named("--on", "slurm", "--on.minutes", "5") == launcher.knobs.model_copy(update={"minutes": 5})
    ray = lab.launchers.create("ray", address="h:1", retries=7)
    sent.hand_over(run, ray.place, Worker.this(), False)
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


def test_pages_say_what_stop_and_a_place_mean(config, tmp_path, monkeypatch):
    from app import speed
    from app.shared import location

    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    (run,) = runs_of(config, tmp_path, [0])
    sent.hand_over(run, sent.Sent("slurm"), Worker.this(), True)
    page = speed.session("watch", 60, watched=run.name).run()
    assert "before it begins" in next(one for one in page.button if one.label == "Stop").help
    for clusters, words in ({"slurm": "Slurm"}, ""), ({"ray": "Ray", "slurm": "Slurm"}, "A Ray cluster trains"):
        monkeypatch.setattr(location, "places", lambda clusters=clusters: {"here": "This machine", **clusters})
        page = speed.session("train", 60).run()
        told = next(one for one in page.selectbox if one.label == "Where it runs").help or ""
        assert told.startswith(words) and bool(told) == bool(words)


def test_what_cannot_be_sent_is_said_in_the_run(config, tmp_path, capfd):
    (run,) = runs_of(config, tmp_path, [0])
    assert main_of(run, {"launcher": "slurm"}) == 1  # there is no Slurm here
    assert run.state == "failed" and "Submit from a machine of the cluster" in run.status["sentence"]


def test_a_run_whose_sender_is_gone_waits_for_nobody(config, tmp_path):
    (run,) = runs_of(config, tmp_path, [0])
    gone = Worker(Worker.this().host, 2**22 + 1, 1.0)
    sent.hand_over(run, sent.Sent("ray", "h:1"), gone, False)
    assert run.state == "interrupted" and "had sent it to a cluster" in run.status["sentence"]
    assert not sent.under_way(run) and sent.place_of(run).words == "the Ray cluster at h:1"
    sent.hand_over(run, sent.Sent("slurm"), gone, True)
    assert run.state == "queued"


def until(true, patience=600.0):
    """Wait for what other processes do."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_pages_send_runs_to_a_cluster_and_stop_them_there(cluster, config, pictures, tmp_path, monkeypatch):
    from app import speed
    from app.shared import location, queueing

    made, _ = cluster
    for name, value in {"RAY_ADDRESS": made.address, "LAB_RUNS": tmp_path, "LAB_DATA": pictures}.items():
        monkeypatch.setenv(name, str(value))
    assert location.places()["ray"] == f"Ray cluster {made.address}"
    long = config.changed("training.steps", 1_000_000)
    names = queueing.enqueue(dict.fromkeys("abc", long), "far", (), "ray")  # more than there are processors
    runs = [lab.runs.open(name, tmp_path) for name in names]
    try:
        until(lambda: any(run.state == "running" and run.status["step"] for run in runs))
        waits = next(run for run in runs if run.state == "queued")
        page = speed.session("watch", 60, watched=waits.name).run()
        assert f"Waits for the Ray cluster at {made.address}." in [re.sub(r"\\", "", one.value) for one in page.caption]
        next(button for button in page.button if button.label == "Stop").click().run()
        until(lambda: waits.state == "stopped")
        assert waits.status[
            "sentence"
        ] == "Taken back; nothing of it had come back from the cluster." and not waits.checkpoint("last")
        assert next(one for one in page.run().selectbox if one.label == "Where to resume").value == "ray"
        for run in runs:
            detached.stop(run)
        until(lambda: all(run.state == "stopped" for run in runs) and not waits.sender.alive)
        assert any(run.checkpoint("last") for run in runs)
    finally:  # a run that goes on keeps the cluster's processors from the tests to come
        for run in runs:
            wishes.leave(run)


class Done:
    """A job that has ended."""

    def done(self):
        return True


@pytest.mark.parametrize("name", ["local", "slurm"])
def test_who_breaks_off_hears_of_the_other_runs_the_next_time(name, config, tmp_path, monkeypatch):
    runs = runs_of(config, tmp_path, range(3))
    for run in runs:
        with lab.runs.Writer(run) as writer:
            writer.status("finished")
    launcher = lab.launchers.create(name)
    if name == "local":
        launcher._runs = list(runs)
    else:
        launcher._jobs = [slurm._Job(run, Done(), before=0.0) for run in runs]
    told = []
    for _ in range(5):
        for run in launcher.ended():
            told.append(run.name)
            break
    assert told == ["seed-0", "seed-1", "seed-2"]


def test_a_job_near_its_time_limit_saves_itself_and_goes_on_later(config, tmp_path):
    from lab.launchers.slurm import Training

    pytest.importorskip("submitit")
    (whole,) = runs_of(config, tmp_path / "whole", [0])
    assert Training()(str(whole.path)) == 0 and whole.state == "finished"
    (run,) = runs_of(config, tmp_path / "cut", [0])
    job = Training()
    job._process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    again = job.checkpoint(str(run.path))
    assert job._process.poll() == -signal.SIGTERM
    assert run.state == "queued" and run.status["sentence"] == "Its time was up; it waits for Slurm."
    assert again.function(*again.args, **again.kwargs) == 0 and run.state == "finished"
    assert_same_bits(whole, run)
    wishes.leave(run)  # whoever asked to stop meanwhile does not find it in the queue again
    assert Training().checkpoint(str(run.path)) is None


@pytest.mark.parametrize(("state", "back"), [("stopped", True), ("finished", False), ("failed", False)])
def test_only_what_has_more_to_do_goes_back_into_the_queue(state, back, config, tmp_path, monkeypatch):
    """The signal comes while the job waits for the training, in the same thread."""
    pytest.importorskip("submitit")
    (run,) = runs_of(config, tmp_path, [0])
    with lab.runs.Writer(run) as writer:
        writer.status(state)
    monkeypatch.setattr(slurm.children, "python", lambda *_: [sys.executable, "-c", "import time; time.sleep(600)"])
    monkeypatch.setattr(slurm, "GRACE", 20.0)
    job, again = slurm.Training(), []
    before = signal.signal(signal.SIGUSR2, lambda *_: again.append(job.checkpoint(str(run.path))))
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        assert job(str(run.path)) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert [one is not None for one in again] == [back] and run.written_state == ("queued" if back else state)


def test_a_wish_to_stop_that_a_training_hears_at_its_time_limit_is_kept(config, tmp_path):
    pytest.importorskip("submitit")
    (run,) = runs_of(config, tmp_path, [0])

    class Ending:
        """Takes the wish down as it ends."""

        looks = 0

        def poll(self):
            self.looks += 1
            (wishes.leave, lambda run: None, wishes.clear)[min(self.looks, 3) - 1](run)
            return 0 if self.looks > 2 else None

        def terminate(self): ...
        def kill(self): ...
        def wait(self, timeout): ...

    job = slurm.Training()
    job._process = Ending()
    assert job.checkpoint(str(run.path)) is None and not wishes.left(run)


def test_slurm_without_slurm_is_a_sentence(config, tmp_path):
    pytest.importorskip("submitit")
    runs = runs_of(config, tmp_path, [0])
    with pytest.raises(ValueError, match="Submit from a machine of the cluster"):
        lab.launchers.create("slurm").submit(runs)


def test_needs_come_from_the_forecast_and_are_shared_by_runs_alike(config, tmp_path, monkeypatch):
    from types import SimpleNamespace

    from lab.data.images import ahead
    from lab.launchers import _needs

    small = needs_of(config, gpus=False)
    assert small.cpus == 1 and small.gpus == 0 and small.memory > _needs.PROCESS
    before = _needs._bytes_of.cache_info().misses
    assert needs_of(config.changed("training.seed", 9).changed("training.steps", 3), gpus=False) == small
    assert _needs._bytes_of.cache_info().misses == before
    large = needs_of(config.changed("sampler.batch_size", 12), gpus=False)
    assert large.memory > small.memory
    assert needs_of(config, gpus=True).gpus == 0  # device cpu asks for none
    on_gpu = needs_of(config.changed("training.device", "auto"), gpus=True)
    assert on_gpu.gpus == 1 and on_gpu.cpus == 1 + _needs.AHEAD and on_gpu.memory > on_gpu.cpus * _needs.PROCESS
    with monkeypatch.context() as patch:  # on a node of many cores, Ray keeps no process from those of others
        patch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
        patch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=64 * 10**9))
        patch.setattr(_work, "_trained", lambda *_: [ahead.num_workers(on, False, 0) for on in (True, False)])
        (run,) = runs_of(config, tmp_path, [0])
        assert _work.train_here(str(run.path), on_gpu.cpus) == [on_gpu.cpus - 1, 1]
        assert _work.train_here(str(run.path), small.cpus) == [0, 0]
    assert needs_of(config.changed("training.workers", 2), gpus=False).cpus == 3
    chosen = config.changed("training.decode", "gpu").changed("training.device", "cuda")
    chosen = chosen.changed("metrics", ["mean_average_precision"]).changed("training.select_by", "mAP")  # as in recipes
    assert needs_of(chosen, gpus=True).gpus == 1


def test_a_wish_in_the_folder_stops_a_run_and_is_taken_down(config, tmp_path):
    (run,) = runs_of(config.changed("training.steps", 100_000), tmp_path, [0])
    wishes.leave(run)  # meant for somebody before; taken down when the run begins
    for record in lab.runs.execute(run):
        if record.kind == "stepped" and record.step == 2:
            wishes.leave(run)
        assert time.monotonic() and (record.kind != "stepped" or record.step < 50_000)
    assert run.state == "stopped" and run.state in ENDED and not (run.path / wishes.FILE).exists()


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


@pytest.mark.parametrize("error", [RuntimeError("Version mismatch\nmuch more"), ValueError("no such address")])
def test_whatever_ray_cannot_do_at_the_beginning_is_a_sentence(error, monkeypatch):
    ray = pytest.importorskip("ray")

    def refuse(**_):
        raise error

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(
        ValueError, match=r"The Ray cluster at h:1 cannot be used: (Version mismatch|no such address)\.$"
    ):
        lab.launchers.create("ray", address="h:1").submit([])
