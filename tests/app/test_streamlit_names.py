"""The dashboard starts when a newer Streamlit has renamed a private name that the dashboard uses."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from app import streamlit_names
from app.__main__ import FEW_SESSIONS
from tests.dashboards import Dashboard

CHANGES = (FEW_SESSIONS,)

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

PRIVATE = sorted({name.rpartition(":")[2].rpartition(".")[2] for change in CHANGES for name in change.names})


@pytest.mark.parametrize("name", [*PRIVATE, "_main_script_path"])
def test_the_dashboard_starts_without_a_private_name(name, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(RENAME)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("RENAMED", name)
    lost = [change.loss for change in CHANGES if any(one.endswith((f".{name}", f":{name}")) for one in change.names)]
    token = "what-this-test-chose"
    dashboard = Dashboard(tmp_path / "runs", tmp_path, token)
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
    assert [loss for loss in lost if f"{name}, so {loss}." in log] == lost
    assert log.count("Streamlit 1.") == len(lost)


def test_this_version_of_streamlit_has_every_name():
    assert [name for change in CHANGES for name in change.names if not streamlit_names.has(name)] == []
    assert not streamlit_names.has("runtime.fragment:MemoryFragmentStorage._no_such_name")
    assert not streamlit_names.has("no_such_module:name")
