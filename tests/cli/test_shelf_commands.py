"""logs, watch, rename, trash, mark, and what `lab runs` and `lab query` can choose from."""

import json

import numpy as np
import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import _following


@pytest.fixture(scope="module")
def root(train_tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    train_tiny(root, "one", loss={"name": "contrastive"})
    train_tiny(root, "two", loss={"name": "smooth_ap"}, evaluation={"splits": ["validation"]})
    return root


@pytest.fixture
def answer(root, capsys):
    """What a command prints on standard output, and what it says besides."""

    def of(*words, status=0):
        assert main([*map(str, words), "--runs", str(root)]) == status
        return capsys.readouterr()

    return of


def listed(answer, *words):
    return [row["run"] for row in json.loads(answer("runs", "--json", *words).out)]


def test_runs_are_filtered_and_sorted(answer):
    assert sorted(listed(answer)) == ["one", "two"]
    assert listed(answer, "--loss", "smooth_ap") == ["two"]
    assert listed(answer, "--state", "failed") == [] and listed(answer, "-n", "1") == ["two"]
    rows = json.loads(answer("runs", "--json", "--sort", "MAP@R").out)
    assert rows[0]["MAP@R"] >= rows[1]["MAP@R"]
    assert {row["run"]: row["split"] for row in rows} == {"one": "test", "two": "validation"}
    assert "r@2" in json.loads(answer("runs", "--json", "--scores", "r@2").out)[0]
    assert "There is no column 'x' to sort by" in answer("runs", "--sort", "x", status=2).err
    assert "No run matches." in answer("runs", "--loss", "nope").out


def test_runs_are_marked_together(answer, root):
    def marked(*words):
        return json.loads(answer("runs", "mark", *words, "--json").out)

    assert marked("one") == [{"run": "one", "note": "", "tags": [], "group": ""}]
    marked("one", "two", "--tag", "best", "small", "--group", "first tries")
    assert marked("one", "--note", "the first")[0]["note"] == "the first"
    assert listed(answer, "--tag", "best", "--group", "first tries") == listed(answer)
    assert listed(answer, "--tag", "nope") == [] and "first tries" in answer("runs").out
    assert "one\tthe first\tbest small\tfirst tries" in answer("runs", "mark", "one").out
    assert "no run" in answer("runs", "mark", "one", "x", "--tag", "other", status=2).err
    assert listed(answer, "--tag", "other") == [], "all runs are found before one is changed"
    assert "at most 40 characters" in answer("runs", "mark", "one", "--tag", "x" * 41, status=2).err
    marked("one", "two", "--tag", "best", "--remove")
    marked("one", "--group", "another", "--remove")
    assert (
        listed(answer, "--tag", "best") == [] and len(listed(answer, "--group", "first tries")) == 2
    )
    marked("one", "two", "--tag", "small", "--group", "first tries", "--note", "", "--remove")
    assert "group" not in answer("runs").out.splitlines()[0], "a column of nothing"


def test_a_run_is_renamed_thrown_away_and_brought_back(answer, root):
    answer("runs", "rename", "two", "three")
    assert "already" in answer("runs", "rename", "three", "one", status=2).err
    assert "lab runs trash --restore three" in answer("runs", "trash", "three").err
    assert listed(answer) == ["one"]
    assert "three" in answer("runs", "trash").out
    answer("runs", "trash", "--restore", "three")
    answer("runs", "rename", "three", "two")
    assert (
        sorted(listed(answer)) == ["one", "two"]
        and answer("runs", "trash").out == "The trash is empty.\n"
    )
    assert "no run 'x' in the trash" in answer("runs", "trash", "--restore", "x", status=2).err
    lab.runs.from_embeddings(np.eye(4, dtype=np.float32), name="thrown", runs=root)
    answer("runs", "trash", "thrown")
    assert "leave out the runs" in answer("runs", "trash", "one", "--empty", status=2).err
    assert (
        "1 run deleted." in answer("runs", "trash", "--empty").err
        and answer("runs", "trash").out == "The trash is empty.\n"
    )
    assert sorted(listed(answer)) == ["one", "two"]


def test_an_ended_run_is_watched_at_once(answer):
    captured = answer("runs", "watch", "one")
    assert "step 10/10" in captured.err and "one: finished." in captured.err
    lines = [json.loads(line) for line in answer("runs", "watch", "one", "--json").out.splitlines()]
    assert lines[-1]["kind"] == "evaluated"


def test_what_a_run_says_is_followed_until_it_ends(tmp_path, monkeypatch):
    run = lab.runs.create(lab.runs.RunConfig.of({"loss": "contrastive"}), tmp_path, "live")
    monkeypatch.setattr(_following, "PAUSE", 0)
    (run.path / "log.txt").write_text("before\n")
    steps = iter(
        [
            lambda: (run.path / "log.txt").write_text("before\nfirst\nsec"),
            lambda: (run.path / "log.txt").write_text("before\nfirst\nsecond\n"),
            lambda: (run.path / "log.txt").write_text("shorter\n"),
            lambda: (run.path / "log.txt").write_text("shorter\nand on\n"),
        ]
    )

    def going(_):
        act = next(steps, None)
        if act:
            act()
        return act is not None

    monkeypatch.setattr(_following, "at_work", going)
    assert list(_following.lines_of(run, "log.txt")) == ["first", "second", "and on"]


def test_logs_shows_the_end(answer, root):
    assert "one has no log; `lab runs watch one`" in answer("runs", "logs", "one").err
    (root / "one" / "log.txt").write_text("\n".join(map(str, range(100))) + "\n")
    assert answer("runs", "logs", "one", "-n", "2").out == "98\n99\n"
    assert answer("runs", "logs", "one", "-f", "-n", "0").out == ""
    (root / "one" / "log.txt").unlink()


def test_several_pictures_find_themselves_in_a_folder_a_run_and_the_split(answer, root, tmp_path):
    run = lab.runs.open("one", root)
    dataset, gallery = run.dataset(), run.embeddings("test")
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(4):
        dataset.load(int(gallery.items[i])).save(folder / f"{i}.png")
    asked = [folder / "1.png", folder / "3.png"]
    rows = json.loads(answer("query", "one", *asked, "--k", "2", "--json").out)
    assert [row["query"] for row in rows] == [str(path) for path in asked for _ in range(2)]
    rows = json.loads(
        answer("query", "one", *asked, "--together", "best", "--k", "2", "--json").out
    )
    assert [row["score"] for row in rows] == pytest.approx(
        [1, 1], abs=1e-3
    ) and "query" not in rows[0]
    away = json.loads(
        answer("query", "one", asked[0], "--unlike", asked[1], "--k", "1", "--json").out
    )
    assert 0 < away[0]["score"] < 1
    assert "has no text side" in answer("query", "one", "--text", "a cat", status=2).err
    assert "nothing to search with" in answer("query", "one", status=2).err
    rows = json.loads(answer("query", "one", *asked, "--gallery", folder, "--k", "1", "--json").out)
    assert [row["image"] for row in rows] == [str(path) for path in asked] and "class" not in rows[
        0
    ]
    answer("embed", folder, "--encoder", "one", "--name", "embedded", "--quiet")
    rows = json.loads(
        answer("query", "one", *asked, "--gallery", "embedded", "--k", "1", "--json").out
    )
    assert [row["image"] for row in rows] == [str(path) for path in asked]
    answer(
        "embed", folder, "--encoder", "small_cnn", "--size", "32", "--name", "foreign", "--quiet"
    )
    assert (
        "another encoder (small_cnn) than"
        in answer("query", "one", asked[0], "--gallery", "foreign", status=2).err
    )
    vectors = gallery.vectors[:4]
    lab.runs.from_embeddings(vectors, name="unknown", runs=root)
    assert (
        "is not written down"
        in answer("query", "one", asked[0], "--gallery", "unknown", "--k", "1").err
    )
    assert (
        "neither a folder of images nor a run"
        in answer("query", "one", asked[0], "--gallery", "x", status=2).err
    )
