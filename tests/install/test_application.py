"""Which `app` is run: the one beside this very lab, and no other of that name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_children import NAMES, TRAP, caught

from lab.core.installed import application, children


@pytest.fixture
def traps(tmp_path) -> Path:
    """A folder of modules with names of ours, each of which leaves a trace when it is run."""
    for name in (*NAMES, "main.py", "views.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TRAP)
    return tmp_path


def test_a_persons_modules_in_the_folder_and_on_the_path_are_left_alone(traps):
    command = children.application("app", "--help")
    done = subprocess.run(
        command,
        cwd=traps,
        env={**os.environ, "PYTHONPATH": str(traps)},
        capture_output=True,
        text=True,
    )
    assert "Rankscope dashboard" in done.stdout and not caught(traps), done.stderr


def test_a_strangers_script_does_not_find_ours(tmp_path):
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    look = [sys.executable, "-c", "import app"]
    done = subprocess.run(look, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert "No module named 'app'" in done.stderr


@pytest.mark.parametrize("inside", ["", "lab/_shipped"])
def test_each_checkout_and_each_installation_takes_its_own(tmp_path, inside):
    folder = tmp_path / inside / "app"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text("print(__file__)")
    (tmp_path / "lab" / "core" / "installed").mkdir(parents=True)
    runner = shutil.copy(application.__file__, tmp_path / "lab" / "core" / "installed")
    done = subprocess.run([sys.executable, "-P", runner, "app"], capture_output=True, text=True)
    assert done.stdout.strip() == str(folder / "__main__.py"), done.stderr


def test_a_package_without_its_dashboard_says_so(tmp_path):
    (tmp_path / "lab" / "core" / "installed").mkdir(parents=True)
    runner = shutil.copy(application.__file__, tmp_path / "lab" / "core" / "installed")
    done = subprocess.run([sys.executable, "-P", runner, "app"], capture_output=True, text=True)
    assert (
        done.returncode
        and "install Rankscope again" in done.stderr
        and "Traceback" not in done.stderr
    )
