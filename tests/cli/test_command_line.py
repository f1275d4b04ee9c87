"""What holds for the command line as a whole: flags anywhere, exit statuses, tables, pipes, completion, speed."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import _catalogued, _flags, _kept, _output, rearranged
from lab.core.explain import explain
from lab.core.knobs import Knobs, describe, knob


def refused(words, capsys):
    """The last line of what is said, of words that end with status 2."""
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr().err
    assert status == 2 and "Traceback" not in said, said
    return said.splitlines()[-1]


@pytest.fixture
def terminal(monkeypatch):
    """Standard output as a terminal of so many columns."""

    def of(columns):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")

    return of


def test_flags_may_stand_before_the_command(capsys):
    assert main(["--json", "metrics"]) == 0
    assert json.loads(capsys.readouterr().out)
    with pytest.raises(ValueError, match="There is no metric 'nope'"):
        main(["--debug", "metrics", "nope"])
    assert rearranged(["--json", "--debug", "runs", "x"]) == ["runs", "x", "--json", "--debug"]
    assert "--loss=smooth_ap must come after the command" in refused(["--loss=smooth_ap", "train"], capsys)


@pytest.mark.parametrize("words", [["help"], ["help", "stop"], ["help", "measure"], ["-V"]])
def test_help_and_version(words, capsys):
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
    told = capsys.readouterr().out
    assert status == 0 and ("usage: lab" in told or "rankscope" in told)
    assert words != ["help", "stop"] or "usage: lab stop" in told
    assert words != ["help", "measure"] or "to train" not in told, "--on says what this command does there"


def test_a_second_value_is_told_to_be_one_too_many(capsys):
    said = refused(["train", "--loss", "roadmap", "--loss.lam", "0.3", "0.4"], capsys)
    assert "--loss.lam takes one value, and 0.4 is one more" in said


class Some(Knobs):
    steps: int = knob(5, "Steps.", ge=1)


def test_whole_numbers_may_be_written_short():
    (steps,) = describe(Some)
    assert _flags._one(steps, "1e3", "steps") == 1000
    for word in ("1.5", "1e-3", "many", "1e999"):
        with pytest.raises(ValueError, match=f"--steps must be a whole number, 1 <= steps, got '{word}'"):
            _flags._one(steps, word, "steps")


LONG = [{"run": "a-name-that-is-copied-and-has-forty-letters", "purpose": "word " * 40, "score": 0.123456}]


def test_a_table_fits_the_terminal_and_cuts_no_name(terminal, capsys, monkeypatch):
    terminal(70)
    monkeypatch.setenv("NO_COLOR", "1")
    _output.show(LONG, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 70 and any(LONG[0]["run"] in line for line in lines)


def test_a_pipe_gets_a_line_a_row(capsys):
    _output.show([*LONG, {"run": "b", "purpose": "two\nlines", "score": None}], as_json=False, title="not in a pipe")
    head, first, second = capsys.readouterr().out.splitlines()
    assert head == "run\tpurpose\tscore" and second == "b\ttwo lines\t-"
    assert first.split("\t") == [LONG[0]["run"], ("word " * 40).strip(), "0.1235"]


def test_what_is_kept_is_made_anew_in_another_state_and_where_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    made = []
    for state in ("one", "one", "two", "two"):
        assert _kept.kept("thing", state, lambda: made.append(1) or [len(made)]) == [len(made)]
    assert len(made) == 2
    (tmp_path / "thing.json").write_text("{damaged")
    assert _kept.kept("thing", "two", lambda: [3]) == [3] == _kept.kept("thing", "two", lambda: [4])
    monkeypatch.setenv("LAB_CACHE", "/dev/null/nowhere")
    assert _kept.kept("thing", "two", lambda: [5]) == [5], "a place that cannot be written is no failure"


def test_a_changed_file_is_another_state_of_a_listing(tmp_path):
    package = type(sys)("lab.things")
    package.__path__ = [str(tmp_path)]
    (tmp_path / "one.py").write_text("1")
    before = _catalogued._state(package)
    (tmp_path / "one.py").write_text("12")
    assert _catalogued._state(package) != before


def test_work_whose_result_has_no_place_is_not_begun(capsys, tmp_path):
    lost = tmp_path / "none" / "x.html"
    assert "There is no folder" in refused(["figures", "h_minus", "--save", str(lost)], capsys)
    assert "There is no folder" in refused(["bench", "losses", "--output", str(lost.with_suffix(".json"))], capsys)
    (tmp_path / "x.json").mkdir()
    assert "is a folder; name a file" in refused(["bench", "losses", "--output", str(tmp_path / "x.json")], capsys)


def test_a_full_disk_is_told_without_wrong_advice():
    full = OSError(errno.ENOSPC, "No space left on device")
    assert explain(full) == "The disk is full: free some space."
    assert "goes on with --resume" in explain(full, resumable=True)
    assert "cannot be made in that place" in explain(FileNotFoundError(errno.ENOENT, "no", "/proc/nope"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_one_sentence(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", open("/dev/full", "w"))  # noqa: SIM115 (the command closes it)
        assert main(["metrics", "--json"]) == 1
    assert capsys.readouterr().err == "lab: The disk is full: free some space.\n"


def test_an_unknown_run_is_told_with_the_nearest(tmp_path, capsys):
    assert f"the folder {tmp_path} holds no runs yet." in refused(["runs", "x", "--runs", str(tmp_path)], capsys)
    lab.runs.create(lab.runs.RunConfig.of({"loss": "contrastive"}), tmp_path, "demo-contrastive")
    said = refused(["runs", "demo-contrastiv", "--runs", str(tmp_path)], capsys)
    assert "did you mean 'demo-contrastive'?" in said


def test_the_shell_completes_commands_and_knobs(capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "lab.bash").write_text(capsys.readouterr().out)
    ask = "source lab.bash; COMP_WORDS=(lab {}); COMP_CWORD={}; _shtab_lab; echo ${{COMPREPLY[@]}}"
    for words, place, expected in (("los", 1, "losses"), ("train --training.st", 2, "--training.steps")):
        done = subprocess.run(
            ["bash", "-c", ask.format(words, place)], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert expected in done.stdout.split()


def test_quiet_leaves_results_and_failures(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    for words in (["-q", "runs"], ["runs", "--quiet"], ["metrics", "-q"]):
        assert main(words) == 0
        told = capsys.readouterr()
        assert told.out and not told.err
    assert "There is no run" in refused(["-q", "logs", "nope"], capsys), "failures are told all the same"
    _output.be_quiet(False)


def test_a_training_that_never_began_leaves_no_run(capsys, tmp_path):
    words = ["train", "--runs", str(tmp_path), "--training.steps", "2"]
    assert "no device cuda:99" in refused([*words, "--training.device", "cuda:99"], capsys)
    assert "There is no folder" in refused([*words, "--data", "class_folders", "--data.root", "/nowhere"], capsys)
    assert not [path for path in tmp_path.iterdir() if path.name != ".lock"]
