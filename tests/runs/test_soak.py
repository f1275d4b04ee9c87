"""A few trials of each soak script, so that none of them rots; docs/reliability.md tells of the long ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


@pytest.mark.parametrize(("script", "trials"), [("kills", 3), ("points", 4), ("writers", 4), ("power", 4), ("disk", 4)])
def test_a_few_trials_survive(script, trials):
    words = [sys.executable, str(SOAK / f"{script}.py"), "--trials", str(trials), "--seed", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].split("|")[2:4] == [f" {trials} ", f" {trials} "]
