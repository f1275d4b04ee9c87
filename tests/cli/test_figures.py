"""`lab papers figure` draws; `lab list figures` lists."""

import json

import pytest

import lab.figures
from lab.__main__ import main


def test_every_figure_is_listed(capsys):
    assert main(["list", "figures", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(lab.figures.names())
    assert all(row["purpose"] for row in rows)


def test_a_figure_is_drawn_with_its_knobs(tmp_path, capsys):
    target = tmp_path / "h.html"
    words = ["papers", "figure", "h_minus", "--save", str(target), "--slide", "lift_ties"]
    assert main([*words, "--figure.offset", "released"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(target) and "needs neither Python nor a network" in said.err
    page = target.read_text()
    assert "plotly" in page and "cdn." not in page


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["embeddings_2d", "--figure.steps", "0"], "Training at every stop beforehand: up to half a minute."),
        (["embeddings_2d", "--slide", "noise"], "Training what the page shows"),
        (["embeddings_2d", "--figure.steps", "0", "--slide", "noise"], None),
        (["tau1_sweep"], "Training what the page shows"), (["tau1_sweep", "--figure.data", "Emoji-7"], None),
        (["h_minus"], None),
    ],
)  # fmt: skip
def test_a_page_says_beforehand_what_it_trains(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lab.figures.live_page.live_page", lambda *_: "a page")
    assert main(["papers", "figure", *words, "--save", str(tmp_path / "a.html")]) == 0
    told = capsys.readouterr().err
    assert says in told if says else "Training" not in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--save", "x.html"], "arguments are required: FIGURE"), (["h_minos"], "Did you mean 'h_minus'"),
        (["h_minus", "--save", "x.html", "--figure.tau", "7"], "0.001 <= tau <= 0.2"),
        (["h_minus", "--save", "x.gif"], "gif"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(words, says, capsys):
    try:
        status = main(["papers", "figure", *words])
    except SystemExit as end:
        status = end.code
    assert status == 2
    told = capsys.readouterr().err
    assert told.count("\n") <= 2 and says in told
