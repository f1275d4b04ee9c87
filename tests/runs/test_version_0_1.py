"""Run folders of version 0.1 stay readable for ever: two are kept beside this file, one finished, one killed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import lab.runs
from lab.__main__ import main
from lab.core import arrays
from lab.runs import management
from lab.runs.check import check
from lab.runs.execute import execute

KEPT = Path(__file__).parent / "version_0_1"


@pytest.fixture
def root(tmp_path):
    return Path(shutil.copytree(KEPT, tmp_path / "runs"))


def test_every_reader_reads_it():
    run = lab.runs.open(KEPT / "finished")
    assert (
        run.state == "finished" and run.config.loss.name == "recall_at_k" and run.snapshot().worker.host == "somewhere"
    )
    assert [r["step"] for r in run.metrics("stepped")] == [1, 2, 3, 4, 5, 6] and run.log_tail() == ""
    assert run.splits == ("test", "validation") and run.begun and run.failure is None
    test, scores = run.embeddings("test"), run.scores("test")
    assert test.vectors.shape == (scores["queries"], 8) and run.embeddings("test", "gallery") is None
    assert run.per_query("test")["r@1"].mean() == pytest.approx(scores["values"]["r@1"])
    assert run.config_of("test") == run.config and run.anchors("test") is None
    assert arrays.header(run.batches()[6])["step"] == 6 and arrays.read(run.batches()[6])["embeddings"].shape == (8, 8)
    assert arrays.header(run.frames()[6])["step"] == 6 and management.notes(run)["note"] == "made by version 0.1"
    assert check(run) == []


def test_a_killed_one_is_interrupted_and_goes_on_from_its_checkpoint(root):
    run = lab.runs.open(root / "interrupted")
    assert run.state == "interrupted" and "step 5" in run.status["sentence"]
    list(execute(run))
    assert run.state == "finished" and [r["step"] for r in run.metrics("stepped")] == [1, 2, 3, 4, 5, 6]
    assert check(run) == []


def test_the_commands_read_it(root, capsys):
    assert main(["runs", "--runs", str(root), "--json"]) == 0
    rows = {row["run"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["finished"]["state"] == "finished" and rows["interrupted"]["step"] == "5/6"
    assert main(["runs", "finished", "--runs", str(root)]) == 0
    assert main(["runs", "check", "--runs", str(root)]) == 0
    assert main(["report", str(root / "finished"), "--json"]) == 0
