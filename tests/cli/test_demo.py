"""The demo's two trainings in the queue; tests/install/test_distribution.py runs all of it, a short one, and
tests/browser/test_in_browser_first_minute.py with its dashboard."""

import contextlib
import os
import socket

import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import app, demo
from lab.launchers.background import detached, queue
from lab.launchers.background.queue import Queue
from lab.runs.examples import LOSSES
from lab.runs.execute import execute

SHORT = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 32},
    "sampler": {"name": "m_per_class", "batch_size": 32},
    "training": {"steps": 1, "device": "cpu"},
    "evaluation": {"batch_size": 64},
}


@pytest.fixture
def configs():
    return {loss: lab.runs.RunConfig.of({**SHORT, "loss": loss}) for loss in LOSSES}


@pytest.fixture
def ends(monkeypatch):
    """What becomes of a run that the queue starts, by its name; it happens at once, in this process."""
    ends = {}

    def work_off(self: Queue) -> None:
        for name in self.names:
            run = lab.runs.open(name, self.root)
            self.remove(name)
            ends.get(name, trained)(run)

    monkeypatch.setattr(Queue, "ensure_worker", work_off)
    monkeypatch.setattr(demo, "_raw_pixels", lambda config: {"model": "raw pixels"})
    return ends


def trained(run):
    list(execute(run))


def stopped(run):
    list(execute(run, stop=lambda: True))
    with lab.runs.Writer(run) as writer:
        writer.status("stopped", sentence="Stopped after step 1.")


def failed(run):
    with lab.runs.Writer(run) as writer:
        writer.status("failed", sentence="There was no room.")


def died(run):
    with lab.runs.Writer(run) as writer:
        writer.status("running", phase="training")


def moved(run):
    run.path.rename(run.path.with_name("elsewhere"))


def taken_out(run):
    pass


@pytest.mark.parametrize("end", [stopped, failed, died, moved, taken_out])
@pytest.mark.parametrize("which", ["cross_entropy", "recall_at_k"])
def test_whatever_becomes_of_a_run_the_other_is_trained_and_the_table_is_made(
    configs, ends, tmp_path, capsys, end, which
):
    ends[f"demo-{which}"] = end
    finished = []
    rows, lost = demo.compare(configs, tmp_path, finished.append)
    (other,) = set(LOSSES) - {which}
    assert [row["model"] for row in rows] == ["raw pixels", LOSSES[other]] and rows[1]["r@1"] >= 0
    assert [run.name for run in lost] == [f"demo-{which}"] and [run.name for run in finished] == [
        f"demo-{other}"
    ]
    assert "Go on with `lab train --resume" in capsys.readouterr().err


def test_an_error_while_it_is_shown_does_not_end_the_demo(
    configs, ends, tmp_path, monkeypatch, capsys
):
    def broken(run):
        raise RuntimeError("no trash here")

    monkeypatch.setattr(demo, "_raw_pixels", broken)
    rows, lost = demo.compare(configs, tmp_path, broken)
    assert [row["model"] for row in rows] == list(LOSSES.values()) and not lost
    said = capsys.readouterr().err
    assert (
        "The row of raw pixels is missing: " in said
        and "The example that demo-recall_at_k replaces stays" in said
    )


def test_without_a_dashboard_a_run_that_fails_is_the_exit_code(ends, tmp_path, capsys):
    ends.update({"demo-cross_entropy": failed, "demo-recall_at_k": failed})
    assert main(["demo", "--no-serve", "--steps", "1", "--runs", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "raw pixels" in told.out and "There was no room." in told.err


def test_a_training_does_not_end_the_dashboard(ends, tmp_path, monkeypatch, capsys):
    served = []

    class Server:
        def poll(self):
            return None

        def wait(self):
            served.append("until the end")
            return 0

    @contextlib.contextmanager
    def beside(*_, **__):
        yield Server()

    monkeypatch.setattr(app, "beside", beside)
    monkeypatch.setattr(os, "nice", lambda _: None)
    ends.update({"demo-cross_entropy": stopped, "demo-recall_at_k": died})
    assert main(["demo", "--steps", "1", "--runs", str(tmp_path), "--no-token"]) == 0
    assert served == ["until the end"] and "The dashboard stays open" in capsys.readouterr().err


def test_a_taken_port_is_told_before_anything_is_made(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["demo", "--port", port, "--runs", str(tmp_path / "runs")]) == 2
    assert f"Nothing can listen on 127.0.0.1, port {port}" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_takes_both_out_of_the_queue_and_stops_them(configs, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)
    monkeypatch.setattr(detached, "stop", lambda run: told.append(run.name))

    def pixels(config):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_raw_pixels", pixels)
    with pytest.raises(KeyboardInterrupt):
        demo.compare(configs, tmp_path)
    assert told == ["demo-cross_entropy", "demo-recall_at_k"] and Queue(tmp_path).names == ()


@pytest.mark.parametrize(("cores", "begun"), [(1, 1), (2, 2), (16, 2)])
def test_two_small_networks_share_a_processor_and_a_large_one_does_not(
    configs, tmp_path, monkeypatch, cores, begun
):
    started = []
    monkeypatch.setattr(queue, "usable_cores", lambda: cores)
    monkeypatch.setattr(queue, "launch", lambda run: started.append(run.name))
    monkeypatch.setattr(queue, "working", lambda run: run.name in started)
    waiting = Queue(tmp_path)
    small = configs["cross_entropy"]
    large = small.changed("encoder", {"name": "timm_model", "backbone": "resnet18"})
    for name, config in {"a": small, "b": small, "c": small, "d": large}.items():
        waiting.add(lab.runs.create(config, tmp_path, name))
    waiting.advance()
    assert started == ["a", "b", "c"][:begun]
    started.clear()
    waiting.move("d", 0)
    waiting.advance()
    assert started == ["d"], "it takes the whole processor"
