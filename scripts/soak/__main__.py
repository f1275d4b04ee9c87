"""`make soak`: trials of minutes to hours, by name. `python -m scripts.soak [NAME ...]` runs some, without names all.

Each prints a row of docs/reliability.md and fails if a trial did not survive. The suite has a few trials of each.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "soak or not soak")

TRIALS: dict[str, list[tuple[str, ...]]] = {
    "kills": [("kills.py", "--trials", "500"), ("kills.py", "--trials", "0", "--points")],
    "disk": [("disk.py", "--trials", "0")],
    "ranks": [(*PYTEST, "tests/training")],
    "files": [("damaged_files.py", "--trials", "6421", "--seed", str(seed)) for seed in (0, 1)],
    "inputs": [("bad_inputs.py", "--trials", "1000")],
    "guests": [("guests.py", "--seconds", "300")],
    "lessons": [(*PYTEST, "tests/notebooks", "tests/adaptation", "tests/cli/test_classroom.py")],
    "recipes": [(*PYTEST, "tests/papers")],
    "site": [(*PYTEST, "tests/site", "tests/browser")],
    "ray": [(*PYTEST, "tests/launchers")],
}
"""Name to commands: a file of this folder, or words for Python, and what they are given."""


def main(names: list[str]) -> int:
    if unknown := set(names) - set(TRIALS):
        sys.exit(f"There is no trial {', '.join(sorted(unknown))}; there are {', '.join(TRIALS)}.")
    failed = []
    for name in names or TRIALS:
        began = time.monotonic()
        for first, *words in TRIALS[name]:
            program = first if first.startswith("-") else str(HERE / first)
            if subprocess.run([sys.executable, program, *words], cwd=HERE.parents[1]).returncode:
                failed.append(name)
        print(
            f"{name}: {'failed' if name in failed else 'survived'}, {time.monotonic() - began:,.0f} s",
            flush=True,
        )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
