"""What holds for the command line as a whole: flags anywhere, exit statuses, tables, pipes, completion, speed."""

import json
import subprocess
import sys

import pytest

import lab.runs
from lab.__main__ import main
from lab.cli import _output, rearranged


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
    assert main(["--json", "list", "metrics"]) == 0
    assert json.loads(capsys.readouterr().out)
    with pytest.raises(ValueError, match="There is no metric 'nope'"):
        main(["--debug", "list", "metrics", "nope"])
    assert rearranged(["--json", "--debug", "runs", "x"]) == (["x", "--json", "--debug"], ("runs",))
    assert rearranged(["-q", "runs", "--json", "watch", "x"]) == (
        ["x", "-q", "--json"],
        ("runs", "watch"),
    )
    assert "--loss=smooth_ap must come after the command" in refused(
        ["--loss=smooth_ap", "train"], capsys
    )


@pytest.mark.parametrize(
    "words", [["help"], ["help", "runs", "stop"], ["help", "evaluate"], ["-V"]]
)
def test_help_and_version(words, capsys):
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
    told = capsys.readouterr().out
    assert status == 0 and ("usage: lab" in told or "rankscope" in told)
    assert words != ["help", "runs", "stop"] or "usage: lab runs stop" in told
    assert words != ["help", "evaluate"] or "to train" not in told, (
        "--on says what this command does there"
    )


LONG = [
    {
        "run": "a-name-that-is-copied-and-has-forty-letters",
        "purpose": "word " * 40,
        "score": 0.123456,
    }
]


def test_a_table_fits_the_terminal_and_cuts_no_name(terminal, capsys, monkeypatch):
    terminal(70)
    monkeypatch.setenv("NO_COLOR", "1")
    _output.show(LONG, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 70 and any(LONG[0]["run"] in line for line in lines)


def test_a_pipe_gets_a_line_a_row(capsys):
    _output.show(
        [*LONG, {"run": "b", "purpose": "two\nlines", "score": None}],
        as_json=False,
        title="not in a pipe",
    )
    head, first, second = capsys.readouterr().out.splitlines()
    assert head == "run\tpurpose\tscore" and second == "b\ttwo lines\t-"
    assert first.split("\t") == [LONG[0]["run"], ("word " * 40).strip(), "0.1235"]


def test_an_unknown_run_is_told_with_the_nearest(tmp_path, capsys):
    assert f"the folder {tmp_path} holds no runs yet." in refused(
        ["runs", "x", "--runs", str(tmp_path)], capsys
    )
    lab.runs.create(lab.runs.RunConfig.of({"loss": "contrastive"}), tmp_path, "demo-contrastive")
    said = refused(["runs", "demo-contrastiv", "--runs", str(tmp_path)], capsys)
    assert "did you mean 'demo-contrastive'?" in said


def test_the_shell_completes_commands_and_knobs(capsys, tmp_path):
    assert main(["--completion", "bash"]) == 0
    (tmp_path / "lab.bash").write_text(capsys.readouterr().out)
    ask = "source lab.bash; COMP_WORDS=(lab {}); COMP_CWORD={}; _shtab_lab; echo ${{COMPREPLY[@]}}"
    for words, place, expected in (
        ("tra", 1, "train"),
        ("runs wat", 2, "watch"),
        ("train --training.st", 2, "--training.steps"),
    ):
        done = subprocess.run(
            ["bash", "-c", ask.format(words, place)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert expected in done.stdout.split()


def test_quiet_leaves_results_and_failures(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    for words in (["-q", "runs"], ["runs", "--quiet"], ["list", "metrics", "-q"]):
        assert main(words) == 0
        told = capsys.readouterr()
        assert told.out and not told.err
    assert "There is no run" in refused(["-q", "runs", "logs", "nope"], capsys), (
        "failures are told all the same"
    )
    _output.quiet.set(False)


def test_a_training_that_never_began_leaves_no_run(capsys, tmp_path):
    words = ["train", "--runs", str(tmp_path), "--training.steps", "2"]
    assert "no device cuda:99" in refused([*words, "--training.device", "cuda:99"], capsys)
    assert "There is no folder" in refused(
        [*words, "--data", "class_folders", "--data.root", "/nowhere"], capsys
    )
    assert not [path for path in tmp_path.iterdir() if path.name != ".lock"]
