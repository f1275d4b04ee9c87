"""The file of a person's own settings: below variables, which are below flags."""

from pathlib import Path

import pytest

import lab.runs
from lab.core import files


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes the file and hides what variables say."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for key in files.SETTINGS:
        monkeypatch.delenv(f"LAB_{key.upper()}", raising=False)

    def write(text):
        files.settings_file().parent.mkdir(exist_ok=True)
        files.settings_file().write_text(text)
        files._in_file.cache_clear()

    yield write
    files._in_file.cache_clear()


def test_variables_win_over_the_file_and_the_file_over_defaults(written, monkeypatch):
    assert lab.runs.default_root() == Path("runs")
    written("runs: ~/mine\ncache: /somewhere\n")
    assert lab.runs.default_root() == Path.home() / "mine" and files.cache_folder() == Path(
        "/somewhere"
    )
    monkeypatch.setenv("LAB_RUNS", "theirs")
    assert lab.runs.default_root() == Path("theirs")
