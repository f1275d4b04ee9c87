"""A few trials of each soak script, so that none of them rots; docs/reliability.md tells of the long ones."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


def survived(script: str, *words: str) -> list[str]:
    """The row that a script printed, in its columns."""
    done = subprocess.run(
        [sys.executable, str(SOAK / f"{script}.py"), "--seed", "1", *words], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [column.strip() for column in done.stdout.splitlines()[-1].split("|")[1:-1]]


@pytest.mark.parametrize(
    ("script", "trials"),
    [("kills", 3), ("points", 4), ("writers", 4), ("power", 4), ("disk", 4), ("memory", 8), ("fuzz_losses", 26)],
)
def test_a_few_trials_survive(script, trials):
    assert survived(script, "--trials", str(trials))[1:3] == [str(trials), str(trials)]


def test_browsers_see_their_own_run_and_no_other():
    assert survived("browsers", "--sessions", "3", "--loads", "6", "--minutes", "0.05")[1:3] == ["6", "6"]


def test_files_of_the_guided_fuzzer_are_read_or_refused_in_a_sentence(tmp_path, monkeypatch):
    """Without atheris: its good files, then the same with a few bytes changed."""
    monkeypatch.syspath_prepend(str(SOAK))
    monkeypatch.setattr("lab.core.arrays.verify", lambda *_: None)
    fuzz_guided, fuzz_files = (importlib.import_module(name) for name in ("fuzz_guided", "fuzz_files"))
    (tmp_path / "corpus").mkdir()
    fuzz_guided.corpus(tmp_path / "corpus")
    read, chance = fuzz_guided.readers(tmp_path), random.Random(1)
    good = [path.read_bytes() for path in sorted((tmp_path / "corpus").iterdir())]
    assert {content[0] for content in good} == set(range(len(fuzz_guided.READERS)))
    for content in good:
        kind = fuzz_guided.READERS[content[0]]
        read[kind](content[1:])
        for _ in range(12):
            changed = bytearray(content[1:])
            for _ in range(chance.randint(1, 4)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            fuzz_files.check(kind, lambda kind=kind, changed=changed: read[kind](bytes(changed)))
