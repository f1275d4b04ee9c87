"""What a stranger's run, a stranger's names or an odd word cannot do: read other files, act in a table or a terminal,
or end in words of Python's."""

from __future__ import annotations

import importlib
import json
import pkgutil

import pytest

import lab
import lab.exporters
import lab.runs
from lab.__main__ import main
from lab.core.formats import visible
from lab.core.knobs import Knobs, describe

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
        lab.runs.open(run.path, allow="paths").dataset()


def test_a_manifest_may_name_images_anywhere_and_is_read_anew(pictures, tiny, train_tiny, tmp_path):
    rows = [f"{one.resolve()},{one.parent.name}" for one in sorted(pictures.rglob("*.png"))]
    (tmp_path / "mine.csv").write_text("\n".join(["path,label", *rows]))
    data = {"name": "manifest", "path": str(tmp_path / "mine.csv"), "validation": 0.5, "test": 0.25}
    run = train_tiny(tmp_path, "mine", **{**tiny, "data": data})
    assert not (run.path / "images.json").exists() and run.dataset().load(0).size == (20, 20)


@pytest.mark.parametrize(
    "words", [["runs", "stop", HIDDEN], ["query", HIDDEN, "y.png"], ["runs", "--" + HIDDEN]]
)
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
        if (
            not module.name.startswith(("lab._shipped", "lab.cli"))
            and "__main__" not in module.name
        ):
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
        one = (
            knob.options[0] if knob.options else {int: 2, float: 0.5}.get(knob.kind, "recall_at_k")
        )
        for value in ([], None, one, [one], [one] * 5000):
            try:
                kind(**{knob.name: value})
            except ValueError as refused:
                assert knob.name in str(refused), (kind, refused)
            else:
                assert value is not None or knob.optional, (kind, knob.name)
                assert value != [] or knob.default == () or knob.options, (
                    kind,
                    knob.name,
                    "is empty",
                )
                assert value is None or len(value) < 5000, (kind, knob.name)


@pytest.mark.parametrize("harm", ["lost", "cut", "edited"])
def test_a_run_that_lost_its_configuration_is_told_and_mended_from_the_checkpoint(
    run, harm, capsys, tmp_path
):
    path = run.path / "config.yaml"
    whole = path.read_text()
    if harm == "lost":
        path.unlink()
    else:
        path.write_text(
            whole[: whole.index("training:")]
            if harm == "cut"
            else whole.replace("steps: 8", "steps: 800")
        )
    there = ["--runs", str(tmp_path)]
    assert main(["runs", *there]) == 0 and "theirs" in capsys.readouterr().out
    assert main(["runs", "check", "theirs", *there]) == 1
    said = capsys.readouterr().out
    assert "config.yaml" in said and ("--resume RUN" in said) == (harm == "lost")
    assert ("steps is 800 there and 8 in the checkpoint" in said) == (harm == "edited")
    if harm == "lost":
        with pytest.raises(ValueError, match="lost its config.yaml; `lab train --resume theirs`"):
            _ = lab.runs.open(run.path).config
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
