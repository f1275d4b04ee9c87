"""Where a run is at work, in words."""

import json

import lab.runs
from app.shared import queueing
from lab.runs.process import Worker


def test_the_machine_of_a_run_is_named(tmp_path, tiny):
    run = lab.runs.create(lab.runs.RunConfig.of(tiny), tmp_path, "one")
    assert queueing.where(run) == ""
    here = Worker.this()
    (run.path / "meta.json").write_text(json.dumps({"worker": run.signed(here)}))
    assert queueing.where(run) == f"Running on this machine, process {here.pid}."
    (run.path / "meta.json").write_text(json.dumps({"worker": run.signed(Worker("far", 7, 1.0))}))
    assert queueing.where(run) == "Running on far, process 7."
