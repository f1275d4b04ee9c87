"""`lab app` looks where every other command looks."""

import pytest

from lab.__main__ import main


@pytest.mark.parametrize(("words", "runs"), [([], "those"), (["--runs", "elsewhere"], "elsewhere")])
def test_what_is_given_comes_before_what_the_shell_says(words, runs, monkeypatch):
    begun = []
    monkeypatch.setattr("os.execve", lambda program, given, variables: begun.extend(given))
    monkeypatch.setenv("LAB_RUNS", "those")
    main(["app", *words])
    assert begun[begun.index("--runs") + 1] == runs
