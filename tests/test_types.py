"""Types: mypy finds nothing to say, and an editor knows the parts of `lab` and what their catalogues make."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import lab

ROOT = Path(__file__).parent.parent

WHAT_AN_EDITOR_KNOWS = """
import lab

reveal_type(lab.losses.create("smooth_ap", tau=0.02))
reveal_type(lab.losses.names())
reveal_type(lab.metrics.create("map_at_r"))
reveal_type(lab.runs.open("a run").scores())
"""


def test_the_library_is_sound_and_completes(tmp_path):
    """One call for both, which reads everything once, and keeps what it read for the next time and for `make lint`."""
    (tmp_path / "an_editor.py").write_text(WHAT_AN_EDITOR_KNOWS)
    command = [sys.executable, "-m", "mypy", "-p", "lab", "-p", "app", "-m", "an_editor"]
    asked = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MYPYPATH": str(tmp_path)}, capture_output=True, text=True
    )
    told = asked.stdout + asked.stderr
    assert asked.returncode == 0, told
    kinds = re.findall(r'Revealed type is "(.*)"', told)
    expected = (r"lab\..*\.Loss", r"tuple\[.*str, \.\.\.\]", r"lab\..*\.Metric", r"dict\[.*str, Any\] \| None")
    assert len(kinds) == len(expected) and all(map(re.fullmatch, expected, kinds)), told


def test_type_checkers_see_every_room():
    tree = ast.parse((ROOT / "lab" / "__init__.py").read_text(encoding="utf-8"))
    seen = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    # Nobody calls these from Python, and they import `lab` themselves.
    commands = {"bench", "cli", "doctor"}
    assert set(lab._parts()) - commands <= seen, "lab/__init__.py imports each subpackage below TYPE_CHECKING, too"
    assert (ROOT / "lab" / "py.typed").is_file()
