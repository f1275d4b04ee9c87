"""Damaged files of a run folder: a sentence that names the file, and the rest of the run works."""

import shutil

import pytest

import lab.runs
from lab.core.records import Note
from lab.runs import Run, RunConfig, check, management, marks
from lab.runs.execute import execute


@pytest.fixture
def copied(whole, tmp_path):
    run = Run(shutil.copytree(whole.path, tmp_path / "runs" / "run"))
    management.annotate(run, "worth a look", ["first"])
    marks.mark(run, "class00/1.png", "skip")
    return run


def test_an_untouched_run_has_no_findings(copied):
    assert check.check(copied) == []


@pytest.mark.parametrize("file", ["status.json", "meta.json", "images.json", "remarks.json", "marks.json"])
def test_a_torn_file_is_a_finding_and_a_repair_keeps_it_beside_the_rest(copied, file):
    (copied.path / file).write_text('{"step": NaN}' if file == "meta.json" else '{"step": 4')
    assert [f.file for f in check.check(copied)] == [file]
    list(check.repair(copied))
    assert check.check(copied) == [] and copied.state == "finished"
    assert (copied.path / f"{file}.damaged").exists() == (file != "status.json")


def test_a_damaged_meta_does_not_stop_a_run(copied):
    (copied.path / "meta.json").write_text("{")
    with pytest.raises(ValueError, match="has begun"):
        copied.reconfigure(RunConfig.of())
    list(execute(copied))
    assert copied.state == "finished" and check.check(copied) == []


def test_marks_are_not_lost_with_a_damaged_file(copied):
    (copied.path / "marks.json").write_text('{"a.png": "skip"')
    with pytest.raises(ValueError, match=r"marks\.json is no JSON object"):
        marks.mark(copied, "b.png", "duplicate")
    assert (copied.path / "marks.json").read_text() == '{"a.png": "skip"'
    assert marks.read(copied) == {} and lab.runs.open(copied.path).state == "finished"


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
        said = [record.sentence for record in execute(Run(copied.path)) if isinstance(record, Note)]
        told = [one for one in said if "goes on by the checkpoint, and it is written anew" in one]
        assert (sentence in told[0]) if sentence else not told
        again = Run(copied.path)
        assert again.state == "finished" and again.status["step"] == 8 and check.check(again) == []
        assert again.config.training.knobs.steps == 8
    assert again.config.data.knobs.root == str(moved)
