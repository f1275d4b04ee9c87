"""Every page and command that shows embeddings or scores of a run says which checkpoint and step they are of."""

import pytest

import lab.runs
from lab.__main__ import main


def words(root, name="recall") -> str:
    said = lab.runs.open(root / name).origin("test").words
    assert said.endswith(" of 10") and "checkpoint, step " in said
    return said


@pytest.mark.parametrize("page", ["check", "map"])
def test_pages_say_which_weights_they_show(page, runs, open_page):
    shown = open_page(page, run="recall")
    assert shown.calm and words(runs) in shown.words()


@pytest.mark.parametrize("command", [["runs", "recall"], ["evaluate", "recall", "--quiet"]])
def test_commands_say_it(command, runs, capsys):
    assert main(command) == 0
    assert words(runs) in capsys.readouterr().out


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
