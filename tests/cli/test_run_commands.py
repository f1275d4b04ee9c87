"""train, evaluate, embed, query, runs, queue and stop: what they do, and the one sentence when they cannot."""

import argparse
import io
import json
import sys
from types import SimpleNamespace

import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import _config
from lab.runs import RunConfig


@pytest.fixture(scope="module")
def trained(train_tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return train_tiny(root, "one", loss={"name": "contrastive"})


MISTAKES = [
    (["train", "--loss", "recal_at_k"], "Did you mean 'recall_at_k'"),
    (["train", "--loss.tau1", "-1"], "0 < tau1"),
    (
        ["train", "--loss.simix", "perhaps"],
        "--loss.simix is a switch: write --loss.simix for yes or --no-loss.simix for no",
    ),
    (["train", "--loss.simix=perhaps"], "--loss.simix is a switch"),
    (["train", "--los", "x"], "there is no --los here; did you mean --loss"),
    (["train", "--lr", "0.1"], "there is no --lr here; did you mean --optimiser.lr"),
    (["train", "--steps", "9"], "did you mean --training.steps"),
    (
        ["train", "--batch-size=9"],
        "there is no --batch-size here; did you mean --sampler.batch_size",
    ),
    (["train", "--training.steps"], "expected one argument"),
    (["train", "--config", "nowhere.yaml"], "cannot be read"),
    (["train", "--name", "../escape", "--training.steps", "1"], "letters, digits"),
    (["train", "--name", "one"], "already"),
    (["train", "--resume", "nope"], "There is no run 'nope'"),
    (
        ["train", "--resume", "one", "--loss.tau1", "1"],
        "keeps its configuration; leave out --loss.tau1",
    ),
    (["train", "--sampler.batch_size", "4096", "--name", "large"], "4096"),
    (["evaluate", "one", "--split", "tests"], "no split 'tests'"),
    (["evaluate", "one", "--metrics", "map"], "There is no metric 'map'"),
    (["embed", "nowhere", "--encoder", "one"], "There is no folder"),
    (["query", "one", "nowhere.png"], "nowhere.png"),
    (["runs", "one", "one", "one"], "at most two"),
    (["runs", "queue", "add"], "Name a run"),
    (["runs", "queue", "add", "one"], "something left to do"),
    (["runs", "queue", "move", "one", "0"], "is not in the queue"),
    (["runs", "queue", "dance"], "invalid choice"),
    (["runs", "stop", "one", "--grace", "-1"], "--grace must be"),
]


@pytest.mark.parametrize(
    ("words", "sentence"), MISTAKES, ids=[" ".join(w)[:50] for w, _ in MISTAKES]
)
def test_a_mistake_is_one_sentence_and_status_two(words, sentence, trained, capsys):
    try:
        status = main([*words, "--runs", str(trained.path.parent)])
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr().err
    assert status == 2
    assert sentence in said.splitlines()[-1] and "Traceback" not in said


def test_runs_lists_shows_and_compares(trained, train_tiny, capsys):
    root = str(trained.path.parent)
    if not (trained.path.parent / "two").exists():
        train_tiny(trained.path.parent, "two", loss={"name": "contrastive", "neg_margin": 0.5})
    assert main(["runs", "--runs", root, "--json"]) == 0
    rows = {row["run"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["one"]["state"] == "finished" and 0 <= rows["one"]["MAP@R"] <= 1
    assert main(["runs", "one", "--runs", root, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["loss"]["name"] == "contrastive"
    assert main(["runs", "one", "two", "--runs", root, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"knob": "loss.neg_margin", "one": "1.0", "two": "0.5"}
    ]


def test_the_complete_configuration_is_printed_and_can_be_used(trained, tmp_path, capsys):
    assert main(["train", "--loss", "smooth_ap", "--loss.tau", "0.05", "--print-config"]) == 0
    (tmp_path / "c.yaml").write_text(capsys.readouterr().out)
    assert lab.runs.RunConfig.load(tmp_path / "c.yaml").loss.knobs.tau == 0.05


def test_another_loss_over_a_whole_configuration_decides_anew_about_lengths(tmp_path):
    parser = argparse.ArgumentParser()
    words = ["--config", str(tmp_path / "run.yaml"), "--loss", "class_anchor_margin"]
    (tmp_path / "run.yaml").write_text(RunConfig.of({"loss": "contrastive"}).as_yaml())
    _config.add_sections(parser, words)
    assert not _config.config_of(parser.parse_args(words)).encoder.knobs.normalise


def test_a_query_from_standard_input_and_a_least_score(trained, capsys, monkeypatch, tmp_path):
    images, stored = trained.dataset(), trained.embeddings()
    content = io.BytesIO()
    images.load(int(stored.items[0])).save(content, "png")
    words = ["query", str(trained.path), "-", "--k", "5", "--json"]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.getvalue())))
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 5 and rows[0]["score"] == pytest.approx(1, abs=1e-3)
    middle = (rows[0]["score"] + rows[4]["score"]) / 2
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.getvalue())))
    assert main([*words, "--least", str(middle)]) == 0
    near = json.loads(capsys.readouterr().out)
    assert near == [row for row in rows if row["score"] >= middle] and len(near) < 5
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"words")))
    assert main(words) == 2 and "Standard input is no picture" in capsys.readouterr().err


def test_a_report_goes_into_a_file_by_its_end(trained, capsys, tmp_path):
    run = str(trained.path)
    assert main(["runs", "report", run, "--output", str(tmp_path / "t.tex")]) == 0
    assert "tabular" in (
        tmp_path / "t.tex"
    ).read_text() and capsys.readouterr().out.strip().endswith("t.tex")
    assert (
        main(["runs", "report", run, "--output", str(tmp_path / "t.txt"), "--format", "markdown"])
        == 0
    )
    assert (tmp_path / "t.txt").read_text().startswith("|")
    for words, told in (
        (["--output", str(tmp_path / "t.doc")], "must end in .md or .tex"),
        (["--output", str(tmp_path / "no" / "t.md")], "There is no folder"),
        (["--html", str(tmp_path / "no" / "t.html")], "There is no folder"),
        (["--output", str(tmp_path / "t.md"), "--json"], "leave out --json"),
    ):
        assert main(["runs", "report", run, *words]) == 2 and told in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 2
