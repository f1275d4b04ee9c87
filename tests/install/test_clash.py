"""Files of another distribution that is called `lab`, too, are told: by the command, by imports, by `lab doctor`."""

import shutil
import subprocess
import sys
from pathlib import Path

from lab import doctor

ROOT = Path(__file__).parents[2]


def test_the_doctor_says_what_to_do(monkeypatch, tmp_path):
    whole = list(doctor._files())
    assert [one.state for one in whole] == ["ok", "ok"] and "notebooks" in whole[1].detail
    (tmp_path / "lab-8.10.dist-info").mkdir()
    (tmp_path / "lab-8.10.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lab\nVersion: 8.10\n"
    )
    (tmp_path / "lab-8.10.dist-info" / "top_level.txt").write_text("lab\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = list(doctor._files())
    assert [one.state for one in found] == ["broken", "ok"] and found[0].advice.startswith(
        "pip uninstall lab. "
    )


def test_what_is_left_of_ours_refuses_to_work(tmp_path):
    away = shutil.ignore_patterns("__pycache__", "*.npz", "*.jsonl")
    shutil.copytree(ROOT / "lab", tmp_path / "lab", ignore=away)
    (tmp_path / "lab" / "__init__.py").write_text(
        '"""Of another package."""\n__version__ = "8.10"\n'
    )
    for words in (["-m", "lab", "--version"], ["-c", "import lab.losses; lab.losses.names()"]):
        variables = {"PYTHONPATH": str(tmp_path), "PATH": ""}
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert done.returncode == 1 and "of another package that is called lab" in done.stderr
        assert ("Traceback" in done.stderr) == (words[0] == "-c"), (
            "the command says it in a sentence"
        )
