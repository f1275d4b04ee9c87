"""`lab app` looks where every other command looks."""

import pytest

from lab.__main__ import main


@pytest.fixture
def started(monkeypatch):
    """The words of the program that takes this process over."""
    words = []
    monkeypatch.setattr("os.execve", lambda program, given, variables: words.extend(given))
    return words


def runs_of(words: list[str]) -> str:
    return words[words.index("--runs") + 1]


def test_the_dashboard_looks_into_lab_runs(started, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    main(["app"])
    assert runs_of(started) == str(tmp_path)


def test_a_folder_that_is_given_comes_first(started, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    main(["app", "--runs", "elsewhere"])
    assert runs_of(started) == "elsewhere"
