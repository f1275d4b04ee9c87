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


@pytest.mark.parametrize(("words", "address"), [([], "from the shell"), (["--ray", "head:6379"], "head:6379")])
def test_runs_may_be_sent_to_the_cluster_that_is_named(words, address, monkeypatch):
    variables = {}
    monkeypatch.setattr("os.execve", lambda program, given, environment: variables.update(environment))
    monkeypatch.setenv("RAY_ADDRESS", "from the shell")
    main(["app", *words])
    assert variables["RAY_ADDRESS"] == address
