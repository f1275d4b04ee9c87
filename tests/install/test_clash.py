"""Files of another distribution that is called `lab`, too, are told: by the command, by imports, by `lab doctor`."""

import base64
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab import doctor
from lab.install import clash

ROOT = Path(__file__).parents[2]


def install(site: Path, name: str, files: dict[str, str]) -> None:
    """Lay a distribution into a folder, as pip does: its files, their digests in RECORD, its name."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{info.name}/RECORD,,"]
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(text)}")
    (info / "RECORD").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path) -> Path:
    """A folder in which Rankscope is installed, and something that is nobody's business."""
    install(tmp_path, "rankscope", {"lab/__init__.py": "ours", "lab/maps.py": "ours, too"})
    install(tmp_path, "labels", {"labels/__init__.py": ""})
    return tmp_path


def test_an_installation_of_ours_alone_is_whole(site):
    assert clash.strangers([str(site)]) == {} and clash.changed([str(site)]) == []


def test_another_distribution_of_that_name_is_found_with_what_it_overwrote(site):
    install(site, "lab", {"lab/__init__.py": "theirs", "lab/steps.py": "theirs"})
    assert clash.strangers([str(site)]) == {"lab 1.0": ["lab/__init__.py", "lab/steps.py"]}
    assert clash.changed([str(site)]) == ["lab/__init__.py"]


def test_what_its_removal_took_along_is_found(site):
    (site / "lab" / "__init__.py").unlink()
    assert clash.changed([str(site)]) == ["lab/__init__.py"]


def test_the_doctor_says_what_to_do(monkeypatch):
    whole = list(doctor._files())
    assert [one.state for one in whole] == ["ok", "ok"] and "notebooks" in whole[1].detail
    monkeypatch.setattr(clash, "strangers", lambda: {"lab 8.10": ["lab/__init__.py", "lab/steps.py"]})
    monkeypatch.setattr(clash, "changed", lambda: ["lab/__init__.py"])
    found = list(doctor._files())
    assert [one.state for one in found] == ["broken", "broken", "ok"] and "lab 8.10" in found[0].detail
    assert all("--force-reinstall" in one.advice for one in found[:2]) and "pip uninstall lab" in found[0].advice


@pytest.mark.parametrize("words", [["-m", "lab", "--version"], ["-c", "import lab.losses"]])
def test_what_is_left_of_ours_refuses_to_work(tmp_path, words):
    away = shutil.ignore_patterns("__pycache__", "*.npz", "*.jsonl")
    shutil.copytree(ROOT / "lab", tmp_path / "lab", ignore=away)
    (tmp_path / "lab" / "__init__.py").write_text('"""Of another package."""\n__version__ = "8.10"\n')
    variables = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 1 and "of another package that is called lab" in done.stderr
    assert ("Traceback" in done.stderr) == (words[0] == "-c"), "the command says it in a sentence"
