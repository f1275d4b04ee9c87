"""A few trials of the soak scripts, so that none of them rots; docs/reliability.md tells of the long ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


def row(*words: str) -> list[str]:
    """The columns of the row that a trial prints when it survives."""
    done = subprocess.run(
        [sys.executable, str(SOAK / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [column.strip() for column in done.stdout.splitlines()[-1].split("|")]


def test_a_few_kills_survive():
    """At random moments: the two others of its kind, before every operation and on full disks, are `make soak`."""
    assert row("kills.py", "--seed", "1", "--trials", "2")[2:4] == ["2", "2"]


def test_two_guests_and_the_owner_for_ten_seconds():
    columns = row("guests.py", "--seed", "1", "--seconds", "10")
    assert columns[2] == columns[3] and "by guests" in columns[6] and "by the owner" in columns[6]
