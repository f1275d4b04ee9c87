"""`tests/gpu/check.sh` as far as a machine without a GPU can try it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "gpu" / "check.sh"


def run(*words):
    environment = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)


def test_the_script_is_sound_and_covers_everything_in_one_call():
    assert run("bash", "-n", str(SCRIPT)).returncode == 0
    text = SCRIPT.read_text()
    assert "gpu_checks.py" in text and "gpu_bench.py" in text


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, so the script would measure it")
def test_without_a_gpu_it_says_so_and_claims_nothing(tmp_path):
    done = run("bash", str(SCRIPT), str(tmp_path / "gpu.json"))
    assert done.returncode == 1 and "nothing was checked" in done.stderr
    assert not (tmp_path / "gpu.json").exists()


def test_the_measurements_can_be_rehearsed_on_a_cpu(tmp_path):
    target = tmp_path / "rehearsed.json"
    done = run(sys.executable, "tests/gpu/gpu_bench.py", str(target), "--device", "cpu")
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(target.read_text())
    assert told["device"] == "cpu" and {row["section"] for row in told["rows"]} == {"losses", "large batches", "search"}
    assert not [row for row in told["rows"] if "refused" in row]
    timed = [row for row in told["rows"] if "ms" in row]
    assert {row["section"] for row in timed} == {"losses", "large batches", "search"}
    assert all(row["ms"] > 0 for row in timed)
