"""`tests/gpu/check.sh` as far as a machine without a GPU can try it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "gpu" / "check.sh"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "gpu" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(*words):
    environment = os.environ | {
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )


def test_the_script_is_sound_and_covers_everything_in_one_call():
    assert run("bash", "-n", str(SCRIPT)).returncode == 0
    text = SCRIPT.read_text()
    assert all(name in text for name in ("triton_checks.py", "gpu_checks.py", "gpu_bench.py"))


@pytest.mark.skipif(
    torch.cuda.is_available(), reason="there is a GPU, so the script would measure it"
)
def test_without_a_gpu_it_says_so_and_claims_nothing(tmp_path):
    done = run("bash", str(SCRIPT), str(tmp_path / "gpu.json"))
    assert done.returncode == 1 and "nothing was checked" in done.stderr
    assert not (tmp_path / "gpu.json").exists()


def test_the_measurements_can_be_rehearsed_on_a_cpu(tmp_path, capsys):
    target = tmp_path / "rehearsed.json"
    assert load("gpu_bench").command([str(target), "--device", "cpu"]) == 0
    told = json.loads(target.read_text())
    sections = {"losses", "large batches", "recipes", "forecast", "search"}
    assert told["device"] == "cpu" and {row["section"] for row in told["rows"]} == sections
    assert not [row for row in told["rows"] if "refused" in row]
    timed = [row for row in told["rows"] if "ms" in row]
    assert {row["section"] for row in timed} == sections - {"forecast"} and all(
        row["ms"] > 0 for row in timed
    )
    table = capsys.readouterr().out.partition("### losses")[2]
    assert "| rsk_sop_r50_512 | 8 | 32 | 4 |" in table and "### forecast" in table
