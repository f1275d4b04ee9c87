"""Every page and command that shows embeddings or scores of a run says which checkpoint and step they are of."""

import json

import pytest

import lab.runs
from lab.__main__ import main
from lab.runs.folder import Origin


def words(root, name="recall") -> str:
    said = lab.runs.open(root / name).origin("test").words
    assert said.endswith(" of 10") and "checkpoint, step " in said
    return said


@pytest.mark.parametrize("page", ["check", "map", "inspect", "two_stage"])
def test_pages_say_which_weights_they_show(page, runs, open_page):
    shown = open_page(page, run="recall")
    assert shown.calm and words(runs) in shown.words()


def test_watch_and_runs_say_it(runs, open_page):
    assert f"scores: {words(runs)}" in open_page("watch", watched="recall").words().replace("\\", "")
    table = open_page("runs").test.dataframe[0].value
    assert dict(zip(table["run"], table["scores of"], strict=True))["recall"] == words(runs)


@pytest.mark.parametrize("command", [["runs", "recall"], ["runs"], ["evaluate", "recall", "--quiet"]])
def test_commands_say_it(command, runs, capsys):
    assert main(command) == 0
    assert words(runs) in capsys.readouterr().out


def test_json_and_query_say_it(runs, capsys, tmp_path):
    assert main(["evaluate", "recall", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["of"]["test"] == words(runs)
    picture = tmp_path / "one.png"
    lab.runs.open(runs / "recall").dataset().load(0).save(picture)
    assert main(["query", "recall", str(picture)]) == 0
    assert words(runs) in capsys.readouterr().err


def test_a_picture_is_not_embedded_by_other_weights_than_the_gallery(runs, capsys, tmp_path):
    from lab.training import checkpoint

    run = lab.runs.open(runs / "recall")
    path = run.checkpoint(run.origin("test").checkpoint)
    state = checkpoint.load(path)
    state["progress"]["step"] += 90
    checkpoint.save(path, state)
    picture = tmp_path / "one.png"
    run.dataset().load(0).save(picture)
    assert main(["query", "recall", str(picture)]) == 2
    said = capsys.readouterr().err
    assert words(runs) in said and "embed them again: lab evaluate" in said


def test_what_a_file_does_not_tell_is_unknown(runs):
    run = lab.runs.open(runs / "recall")
    assert Origin("best", 800, 1000).words == "best checkpoint, step 800 of 1,000"
    assert Origin("last", 1200, None).words == "last checkpoint, step 1,200"
    (run.path / "embeddings" / "test.safetensors").write_bytes(b"no tensors")
    assert run.origin("test").words == "of an unknown checkpoint"
