"""What a stranger's run, a stranger's names or an odd word cannot do: read other files, act in a table or a terminal,
or end in words of Python's."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil

import pytest

import lab
import lab.exporters
import lab.runs
from lab.__main__ import main
from lab.core.formats import visible
from lab.core.knobs import Knobs, describe
from lab.runs import lock
from lab.runs.process import Worker

HIDDEN = "\u202eevil\x1b[31m"


@pytest.fixture
def run(train_tiny, tiny, tmp_path):
    return train_tiny(tmp_path, "theirs", **tiny)


@pytest.mark.parametrize("key", ["../secret.png", "/etc/hostname", "class00/../../secret.png"])
def test_a_list_that_leads_out_of_its_folder_is_refused(run, key):
    path = run.path / "images.json"
    listed = json.loads(path.read_text())
    listed["keys"][0] = key
    path.write_text(json.dumps(listed))
    with pytest.raises(ValueError, match="is not below the images' folder.*read them anew"):
        lab.runs.open(run.path).dataset()


def test_a_manifest_may_name_images_anywhere_and_is_read_anew(pictures, tiny, train_tiny, tmp_path):
    rows = [f"{one.resolve()},{one.parent.name}" for one in sorted(pictures.rglob("*.png"))]
    (tmp_path / "mine.csv").write_text("\n".join(["path,label", *rows]))
    data = {"name": "manifest", "path": str(tmp_path / "mine.csv"), "validation": 0.5, "test": 0.25}
    run = train_tiny(tmp_path, "mine", **{**tiny, "data": data})
    assert not (run.path / "images.json").exists() and run.dataset().load(0).size == (20, 20)


def test_only_images_are_copied_into_an_export(run, pictures, tmp_path):
    secret = pictures / run.dataset().keys[int(run.embeddings("test").items[0])]
    content = secret.read_bytes()
    try:
        secret.write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----")
        with pytest.raises(ValueError, match="not an image"):
            lab.exporters.create("fiftyone", splits=run.splits).export(run, tmp_path / "out")
    finally:
        secret.write_bytes(content)
    assert not (tmp_path / "out").exists()


def test_what_a_killed_export_left_goes_with_the_next(run, tmp_path):
    (tmp_path / ".rows.csv.0a1b2c3d.tmp").write_text("half")
    (tmp_path / ".rows.csv.more.0a1b2c3d").write_text("another's")
    lab.exporters.create("csv").export(run, tmp_path / "rows.csv")
    assert [one.name for one in tmp_path.glob(".rows*")] == [".rows.csv.more.0a1b2c3d"]


def test_no_more_processes_read_ahead_than_there_can_be(pictures, tmp_path, capsys):
    words = ["embed", str(pictures), "--encoder", "small_cnn", "--workers", "1" + "0" * 60, "--runs", str(tmp_path)]
    assert main(words) == 2 and "Up to 1,000 processes" in capsys.readouterr().err


def test_mlflow_writes_into_a_folder(run, tmp_path):
    from mlflow import MlflowClient

    place = lab.exporters.create("mlflow").export(run, tmp_path / "tracked")
    assert place == f"sqlite:///{tmp_path / 'tracked' / 'mlflow.db'}"
    assert MlflowClient(place).get_experiment_by_name("rankscope")


def test_hidden_characters_of_names_are_shown(pictures, tiny, tmp_path):
    root = tmp_path / "odd"
    for folder in sorted(pictures.iterdir()):
        (root / folder.name).mkdir(parents=True)
        for one in folder.iterdir():
            (root / folder.name / one.name).write_bytes(one.read_bytes())
    (root / "class00").rename(root / "\u202eevil")
    images = lab.runs.RunConfig.of({**tiny, "data": {**tiny["data"], "root": str(root)}}).data.create()
    assert "\\u202eevil" in images.class_names and "\u202eevil" not in images.class_names


@pytest.mark.parametrize("words", [["stop", HIDDEN], ["query", HIDDEN, "y.png"], ["runs", "--" + HIDDEN]])
def test_sentences_of_the_command_show_hidden_characters(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        assert main(words) != 0
    except SystemExit as ended:
        assert ended.code == 2
    said = capsys.readouterr().err
    assert "\u202e" not in said and "\x1b" not in said and visible(HIDDEN) in said


def knobs_of_many() -> list[tuple[type[Knobs], str]]:
    """Every declared knob that takes several values."""
    for module in pkgutil.walk_packages(lab.__path__, "lab."):
        if not module.name.startswith(("lab._shipped", "lab.cli")) and "__main__" not in module.name:
            importlib.import_module(module.name)
    kinds, found = [Knobs], {}
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        for knob in describe(kind):
            if knob.many and kind.__module__.startswith("lab."):
                found[f"{kind.__module__}.{kind.__qualname__}.{knob.name}"] = (kind, knob)
    return [found[name] for name in sorted(found)]


def test_a_knob_of_several_values_takes_or_refuses_none_one_and_thousands():
    knobs = knobs_of_many()
    assert len(knobs) > 20
    for kind, knob in knobs:
        one = knob.options[0] if knob.options else {int: 2, float: 0.5}.get(knob.kind, "recall_at_k")
        for value in ([], None, one, [one], [one] * 5000):
            try:
                kind(**{knob.name: value})
            except ValueError as refused:
                assert knob.name in str(refused), (kind, refused)
            else:
                assert value is not None or knob.optional, (kind, knob.name)
                assert value != [] or knob.default == () or knob.options, (kind, knob.name, "is empty")
                assert value is None or len(value) < 5000, (kind, knob.name)


def test_no_scales_are_refused_before_anything_is_trained(tiny):
    with pytest.raises(ValueError, match=r"scales must hold at least one value"):
        lab.runs.RunConfig.of({**tiny, "evaluation": {"scales": []}})


@pytest.mark.parametrize("harm", ["lost", "cut", "edited"])
def test_a_run_that_lost_its_configuration_is_told_and_mended_from_the_checkpoint(run, harm, capsys, tmp_path):
    path = run.path / "config.yaml"
    whole = path.read_text()
    if harm == "lost":
        path.unlink()
    else:
        path.write_text(whole[: whole.index("training:")] if harm == "cut" else whole.replace("steps: 8", "steps: 800"))
    there = ["--runs", str(tmp_path)]
    assert main(["runs", *there]) == 0 and "theirs" in capsys.readouterr().out
    assert main(["runs", "check", "theirs", *there]) == 1
    said = capsys.readouterr().out
    assert "config.yaml" in said and ("made anew from the checkpoint" in said) == (harm == "lost")
    assert ("steps is 800 there and 8 in the checkpoint" in said) == (harm == "edited")
    if harm == "lost":
        with pytest.raises(ValueError, match="lost its config.yaml; `lab runs check theirs --repair`"):
            _ = lab.runs.open(run.path).config
        assert main(["runs", "check", "theirs", "--repair", *there]) == 0 and path.read_text() == whole
        path.unlink()
    assert main(["train", "--resume", "theirs", *there]) == 0
    assert path.read_text() == whole and lab.runs.open(run.path).status["steps"] == 8


def test_a_run_goes_on_by_another_configuration_where_it_is_told_to(run, capsys, tmp_path):
    edited = tmp_path / "longer.yaml"
    text = (run.path / "config.yaml").read_text()
    resume = ["train", "--resume", "theirs", "--runs", str(tmp_path), "--config", str(edited)]
    edited.write_text(text.replace("batch_size: 8", "batch_size: 16"))
    assert main(resume) == 2
    assert "sampler.batch_size is 8 in the run and 16 in the file" in capsys.readouterr().err
    edited.write_text(text.replace("steps: 8", "steps: 6"))
    assert main(resume) == 2 and "the run made 8 already" in capsys.readouterr().err
    edited.write_text(text.replace("steps: 8", "steps: 10").replace("  lr: 0.001", "  lr: 0.002"))
    assert main(resume) == 0
    run = lab.runs.open(run.path)
    assert run.status["step"] == 10 and run.config.optimiser.knobs.lr == 0.002
    rates = [one["lr"] for one in run.metrics("stepped")]
    factor = run.config.schedule.create().factor(10, 10)
    assert len(rates) == 10 and rates[-1] == pytest.approx(0.002 * factor)


def test_a_deleted_lock_lets_nobody_else_in_and_stops_who_held_it(run):
    with lab.runs.Writer(run) as holder:
        holder.describe({"worker": run.signed(Worker.of(os.getppid())), "started": 0})  # a process that lives
        holder.status("running")
        (run.path / ".lock").unlink()
        assert run.state == "running"
        with pytest.raises(lock.Held):
            lab.runs.Writer(run)
        with pytest.raises(FileNotFoundError, match="moved or deleted.*lock"):
            holder.sync()
