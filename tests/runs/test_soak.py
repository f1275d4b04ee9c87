"""A few trials of the soak scripts, so that none of them rots; docs/reliability.md tells of the long ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


def test_a_few_kills_survive():
    """At random moments: the two others of its kind, before every operation and on full disks, are `make soak`."""
    words = [sys.executable, str(SOAK / "kills.py"), "--seed", "1", "--trials", "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    columns = [column.strip() for column in done.stdout.splitlines()[-1].split("|")]
    assert columns[2:4] == ["2", "2"], done.stdout
