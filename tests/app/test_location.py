"""Where a run is at work, and what a cluster has free, in words."""

import json

import lab.runs
from app.shared import location
from lab.runs.process import Worker


def test_the_machine_of_a_run_is_named(tmp_path, tiny):
    run = lab.runs.create(lab.runs.RunConfig.of(tiny), tmp_path, "one")
    assert location.words(run) == ""
    here = Worker.this()
    (run.path / "meta.json").write_text(json.dumps({"worker": run.signed(here)}))
    assert location.words(run) == f"Running on this machine, process {here.pid}."
    (run.path / "meta.json").write_text(json.dumps({"worker": run.signed(Worker("far", 7, 1.0))}))
    assert location.words(run) == "Running on far, process 7."


def test_a_cluster_says_what_is_free(monkeypatch):
    class Cluster:
        def free(self):
            return {"processors": (3.0, 8.0), "GPUs": (0.0, 0.0)}

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert location.cluster() == ""
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    monkeypatch.setattr("lab.launchers.create", lambda name, address: Cluster())
    location._cluster.clear()
    assert location.cluster() == "Cluster head:6379: 3 of 8 processors free."
    location._cluster.clear()
