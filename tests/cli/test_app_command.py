"""`lab app` looks where every other command looks."""

import pytest

from lab.__main__ import main


@pytest.mark.parametrize(
    ("words", "runs", "ray"),
    [([], "those", "from the shell"), (["--runs", "elsewhere", "--ray", "head:6379"], "elsewhere", "head:6379")],
)
def test_what_is_given_comes_before_what_the_shell_says(words, runs, ray, monkeypatch):
    begun = {}
    monkeypatch.setattr("os.execve", lambda program, given, variables: begun.update(words=given, variables=variables))
    monkeypatch.setenv("LAB_RUNS", "those")
    monkeypatch.setenv("RAY_ADDRESS", "from the shell")
    main(["app", *words])
    assert begun["words"][begun["words"].index("--runs") + 1] == runs and begun["variables"]["RAY_ADDRESS"] == ray
