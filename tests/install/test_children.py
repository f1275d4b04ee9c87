"""What a person's folder holds is never taken for ours: `lab.py`, `app.py`, a folder `lab` or `app`, a `torch.py`."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lab.runs
from lab.__main__ import main
from lab.core.installed import children
from lab.launchers.background.queue import Queue

TRAP = "import pathlib\npathlib.Path(__file__).with_name('caught').touch()\nraise SystemExit('no Rankscope')\n"
PROGRAM = "import lab; print('rankscope', lab.__version__)"
NAMES = (
    "lab.py",
    "app.py",
    "torch.py",
    "streamlit.py",
    "lab/__init__.py",
    "lab/__main__.py",
    "app/__init__.py",
)


@pytest.fixture
def occupied(tmp_path, monkeypatch) -> Path:
    """The current folder: it holds modules with the names of ours, each of which leaves a trace when it is run."""
    folder = tmp_path / "occupied"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TRAP)
    monkeypatch.chdir(folder)
    return folder


def caught(folder: Path) -> list[Path]:
    return sorted(folder.rglob("caught"))


def test_the_traps_work(occupied):
    """What the other tests rely on: without our way to start a child, each of them is caught."""
    done = subprocess.run(
        [sys.executable, "-m", "lab", "--version"], capture_output=True, text=True
    )
    assert done.returncode and caught(occupied)


@pytest.mark.parametrize("words", [("-m", "lab", "--version"), ("-c", PROGRAM)])
def test_a_child_runs_this_package(occupied, words):
    done = subprocess.run(
        children.python(*words), env=children.environment(), capture_output=True, text=True
    )
    assert done.stdout == f"rankscope {lab.__version__}\n", done.stderr
    assert not caught(occupied)


def test_the_queue_trains_in_a_folder_that_holds_lab(occupied, tiny, tmp_path):
    """The queue's worker and the training that it starts are processes of their own, with this current folder."""
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({**tiny, "training": {**tiny["training"], "steps": 2}}))
    main(
        [
            "train",
            "--config",
            str(config),
            "--runs",
            str(tmp_path / "runs"),
            "--name",
            "waits",
            "--queue",
        ]
    )
    deadline = time.monotonic() + 300
    run, queue = lab.runs.open("waits", tmp_path / "runs"), Queue(tmp_path / "runs")
    while (
        run.state in ("queued", "running")
        and (queue.worker or run.snapshot().launched)
        and time.monotonic() < deadline
    ):
        time.sleep(0.2)
    log = tmp_path / "runs" / ".queue.log"
    assert run.state == "finished", f"{run.status}\n{log.read_text()}"
    assert not caught(occupied)
