"""logs, watch, rename, trash, note, and what `lab runs` and `lab query` can choose from."""

import json

import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import _following
from lab.core.records import Stepped


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


def test_a_note_is_written_shown_and_removed(answer):
    assert answer("note", "one").out == "No note.\n"
    answer("note", "one", "the first", "--tag", "baseline")
    answer("note", "one", "--tag", "small")
    assert answer("note", "one").out == "the first\n#baseline #small\n"
    told = json.loads(answer("note", "one", "", "--no-tags", "--json").out)
    assert told == {"run": "one", "note": "", "tags": [], "group": ""}
    assert "at most 40 characters" in answer("note", "one", "--tag", "x" * 41, status=2).err


def test_runs_are_tagged_and_grouped_together(answer, root):
    assert "2 runs with the tag best" in answer("runs", "tag", "best", "one", "two").err
    answer("runs", "group", "first tries", "one", "two")
    assert listed(answer, "--tag", "best", "--group", "first tries") == listed(answer)
    assert listed(answer, "--tag", "nope") == [] and "first tries" in answer("runs").out
    assert answer("note", "one").out == "#best\ngroup first tries\n"
    assert "no run" in answer("runs", "tag", "other", "one", "x", status=2).err
    assert listed(answer, "--tag", "other") == [], "all runs are found before one is changed"
    answer("runs", "tag", "best", "one", "two", "--remove")
    answer("runs", "group", "another", "one", "--remove")
    assert listed(answer, "--tag", "best") == [] and len(listed(answer, "--group", "first tries")) == 2
    answer("runs", "group", "first tries", "one", "two", "--remove")
    assert "group" not in answer("runs").out.splitlines()[0], "a column of nothing"
    assert "lab runs tag TAG RUN" in answer("runs", "tag", "best", status=2).err
    assert "--remove belongs to" in answer("runs", "--remove", status=2).err


def test_a_run_is_renamed_thrown_away_and_brought_back(answer, root):
    answer("rename", "two", "three")
    assert "already" in answer("rename", "three", "one", status=2).err
    assert "lab trash --restore three" in answer("trash", "three").err
    assert listed(answer) == ["one"]
    assert "three" in answer("trash").out
    answer("trash", "--restore", "three")
    answer("rename", "three", "two")
    assert sorted(listed(answer)) == ["one", "two"] and answer("trash").out == "The trash is empty.\n"
    assert "no run 'x' in the trash" in answer("trash", "--restore", "x", status=2).err


def test_an_ended_run_is_watched_at_once(answer):
    captured = answer("watch", "one")
    assert "step 10/10" in captured.err and "one: finished." in captured.err
    lines = [json.loads(line) for line in answer("watch", "one", "--json").out.splitlines()]
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
    assert list(_following.lines_of(run, "log.txt", from_end=True)) == ["first", "second", "and on"]


def test_logs_shows_the_end(answer, root):
    assert "one has no log; `lab watch one`" in answer("logs", "one").err
    (root / "one" / "log.txt").write_text("\n".join(map(str, range(100))) + "\n")
    assert answer("logs", "one", "-n", "2").out == "98\n99\n"
    assert answer("logs", "one", "-f", "-n", "0").out == ""
    (root / "one" / "log.txt").unlink()


def test_a_line_of_another_version_is_passed_over():
    assert _following.record_of({"kind": "stepped", "step": 1}) is None
    assert _following.record_of({"kind": "dreamt"}) is None
    line = Stepped(1, 2, float("nan"), 0.1, 1.0, 1.0, 1.0, 1, 1.0).as_json()
    assert _following.record_of({**line, "at": 3.0}).step == 1


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
    rows = json.loads(answer("query", "one", *asked, "--together", "best", "--k", "2", "--json").out)
    assert [row["score"] for row in rows] == pytest.approx([1, 1], abs=1e-3) and "query" not in rows[0]
    away = json.loads(answer("query", "one", asked[0], "--unlike", asked[1], "--k", "1", "--json").out)
    assert 0 < away[0]["score"] < 1
    assert "has no text side" in answer("query", "one", "--text", "a cat", status=2).err
    assert "nothing to search with" in answer("query", "one", status=2).err
    rows = json.loads(answer("query", "one", *asked, "--gallery", folder, "--k", "1", "--json").out)
    assert [row["image"] for row in rows] == [str(path) for path in asked] and "class" not in rows[0]
    answer("embed", folder, "--encoder", "one", "--name", "embedded", "--quiet")
    rows = json.loads(answer("query", "one", *asked, "--gallery", "embedded", "--k", "1", "--json").out)
    assert [row["image"] for row in rows] == [str(path) for path in asked]
    answer("embed", folder, "--encoder", "small_cnn", "--size", "32", "--name", "foreign", "--quiet")
    assert "another encoder (small_cnn) than" in answer("query", "one", asked[0], "--gallery", "foreign", status=2).err
    vectors = gallery.vectors[:4]
    lab.runs.from_embeddings(vectors, name="unknown", runs=root)
    assert "is not written down" in answer("query", "one", asked[0], "--gallery", "unknown", "--k", "1").err
    assert "neither a folder of images nor a run" in answer("query", "one", asked[0], "--gallery", "x", status=2).err


def test_a_training_says_what_it_trains_before_the_first_step(tmp_path, capsys):
    words = (
        "train --loss contrastive --sampler.batch_size 32 --training.steps 2 --augmentation.size 16 --encoder.width 4"
    )
    words += (
        f" --data.test 0.04 --data.validation 0.04 --training.device cpu --evaluation.splits none --runs {tmp_path}"
    )
    main(words.split())
    said = capsys.readouterr().err
    line = next(line for line in said.splitlines() if line.startswith("Training "))
    assert said.index(line) < said.index("step 2/2")
    for part in ("small_cnn with contrastive on emoji7", "images of", "classes", "2 steps of 32 images", "on cpu"):
        assert part in line
