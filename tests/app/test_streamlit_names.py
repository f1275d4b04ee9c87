"""The dashboard starts when a newer Streamlit has renamed an internal name that the dashboard uses."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from app.__main__ import LACKING
from tests.dashboards import Dashboard

RENAME = '''
"""Load Streamlit with one name replaced in all of its source files, as a newer version may have it."""

import os
import re
from importlib.machinery import SourceFileLoader

name = os.environ["RENAMED"]
get_code = SourceFileLoader.get_code


def renamed(loader, module):
    if module.partition(".")[0] == "streamlit":
        path = loader.get_filename(module)
        source = loader.get_data(path).decode()
        if re.search(rf"\\b{name}\\b", source):
            return compile(re.sub(rf"\\b{name}\\b", f"{name}_of_later", source), path, "exec")
    return get_code(loader, module)


SourceFileLoader.get_code = renamed
'''
"""What Python runs before the dashboard."""

REPOSITORY = Path(__file__).parents[2]
DRAW = """
from tests.headless import session

page = session("runs", 300).run()
print(len(page.exception), page.header[0].value)
"""


@pytest.fixture
def rename(tmp_path, monkeypatch):
    """Have every Python that is started from now on load a Streamlit that lacks a name."""
    (tmp_path / "sitecustomize.py").write_text(RENAME)

    def lacking(name: str) -> None:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(REPOSITORY))))
        monkeypatch.setenv("RENAMED", name)

    return lacking


@pytest.mark.parametrize("name", ["MemorySessionStorage", "_main_script_path"])
def test_the_dashboard_starts_without_a_name(name, rename, tmp_path):
    rename(name)
    dashboard = Dashboard(tmp_path / "runs", tmp_path, "what-this-test-chose")
    try:
        dashboard.wait()
        with urllib.request.urlopen(f"{dashboard.url}/_stcore/health", timeout=60) as answer:
            assert answer.status == 200
        # The configuration beside main.py was read: Streamlit's own allows every name of this machine.
        foreign = urllib.request.Request(f"{dashboard.url}/", headers={"Host": "elsewhere.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign, timeout=60)
    finally:
        dashboard.stop()
    log = dashboard.log()
    assert "Traceback" not in log
    assert log.count(LACKING) == (name in LACKING)


@pytest.mark.parametrize("name", ["intended_page_name", "is_history_navigation"])
def test_pages_are_drawn_without_a_name(name, rename, runs):
    rename(name)
    done = subprocess.run(
        [sys.executable, "-c", DRAW], capture_output=True, text=True, cwd=REPOSITORY, timeout=600
    )
    assert done.stdout == "0 Runs\n", done.stderr[-3_000:]
