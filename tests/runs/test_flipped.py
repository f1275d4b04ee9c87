"""Damaged files of a run folder: a sentence that names the file, and the rest of the run works."""

import shutil

import pytest

from lab.core.records import Note
from lab.runs import Run, check, management
from lab.runs.execute import execute


@pytest.fixture
def copied(whole, tmp_path):
    run = Run(shutil.copytree(whole.path, tmp_path / "runs" / "run"))
    management.annotate(run, "worth a look", ["first"])
    return run


def test_an_untouched_run_has_no_findings(copied):
    assert check.check(copied) == []


@pytest.mark.parametrize("file", ["status.json", "meta.json", "images.json", "remarks.json"])
def test_a_torn_file_is_a_finding_and_nothing_else_needs_it(copied, file):
    (copied.path / file).write_text('{"step": NaN}' if file == "meta.json" else '{"step": 4')
    assert [f.file for f in check.check(copied)] == [file]
    if file != "status.json":
        (copied.path / file).unlink()
        assert check.check(copied) == [] and copied.state == "finished"


def test_a_training_goes_on_by_the_configuration_of_its_checkpoint(copied, tmp_path):
    """Whatever a hand has done to config.yaml since; only where data lies, and the device, are believed."""
    path, moved = copied.path / "config.yaml", tmp_path / "moved"
    whole, root = path.read_text(), copied.config.data.knobs.root
    shutil.copytree(root, moved)
    for changed, sentence in {
        whole.replace("steps: 8", "steps: 6"): "training.steps is 6 there and 8 in the checkpoint",
        whole[: whole.index("training:")]: "training.steps is 400 there and 8 in the checkpoint",
        "a: [": "config.yaml cannot be used",
        whole.replace(root, str(moved)): "",
    }.items():
        path.write_text(changed)
        said = [
            record.sentence
            for record in execute(Run(copied.path, allow="paths"))
            if isinstance(record, Note)
        ]
        told = [one for one in said if "goes on by the checkpoint, and it is written anew" in one]
        assert (sentence in told[0]) if sentence else not told
        again = Run(copied.path)
        assert again.state == "finished" and again.status["step"] == 8 and check.check(again) == []
        assert again.config.training.knobs.steps == 8
    assert Run(copied.path, allow="paths").config.data.knobs.root == str(moved)
