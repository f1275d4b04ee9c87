"""The how-tos taken at their word: their files, and a scratch copy of the package to put them into and run them in."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def how_tos() -> dict[str, list[tuple[str, str, str]]]:
    """Heading to its blocks: language, file (or nothing) and text."""
    found = {}
    for page in ("CONTRIBUTING.md", "docs/extending.md"):
        sections = re.split(
            r"^## (.*)\n", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        found |= {
            title: BLOCK.findall(text)
            for title, text in zip(sections[1::2], sections[2::2], strict=True)
        }
    return found


def copied(root: Path) -> Path:
    """A copy of the package, its dashboard, scripts and tests, without what is stored beside the tests."""
    away = shutil.ignore_patterns("__pycache__", "golden", "notebooks")
    for part in ("lab", "app", "scripts", "tests"):
        shutil.copytree(ROOT / part, root / part, ignore=away)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def add_line(root: Path, path: str, line: str) -> None:
    """Add a line to the list of a package, at its place in the alphabet."""
    lines = (root / path).read_text(encoding="utf-8").splitlines(keepends=True)
    before = [number for number, one in enumerate(lines) if one.startswith("from ") and one < line]
    lines.insert(before[-1] + 1, line)
    (root / path).write_text("".join(lines), encoding="utf-8")


def run(copy: Path, *words: str, also: Path | None = None) -> str:
    """What Python says, started in the copy with these words. also: one more folder to import from."""
    # The kernels' plain path, for the compiled one would be compiled anew in every copy.
    path = os.pathsep.join(map(str, filter(None, (copy, also))))
    alone = {
        **os.environ,
        "PYTHONPATH": path,
        "LAB_KERNELS": "plain",
        "OMP_NUM_THREADS": "1",
        "LAB_RUNS": "runs",
    }
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, text=True, env=alone
    )
    assert not done.returncode, f"{words}\n{done.stderr[-3000:]}{done.stdout[-3000:]}"
    return done.stdout


FOLLOW = "import json, sys; from tests.scratch import heard; print(json.dumps(heard(json.loads(sys.argv[1]))))"


def heard(commands: list[list[str]]) -> list[str]:
    """What these commands of `lab`, pytest and `python -c` say, given one after the other in this process, which a
    command that fails ends."""
    import pytest

    from lab.__main__ import main

    mains, said = (
        {"lab": main, "pytest": pytest.main, "python": lambda words: exec(words[-1], {}) or 0},
        [],
    )
    for program, *words in commands:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = int(mains[program](words))
        if status:
            sys.exit(f"{program} {words} ended with {status}: {printed.getvalue()[-3000:]}")
        said.append(printed.getvalue())
    return said


def follow(copy: Path, commands: list[list[str]], also: Path | None = None) -> list[str]:
    """What each of these commands says (see `heard`), given in the copy one after the other. One process serves all,
    for torch takes longer to load than most of them do."""
    return (
        json.loads(run(copy, "-c", FOLLOW, json.dumps(commands), also=also).splitlines()[-1])
        if commands
        else []
    )


def installed(folder: Path, pyproject: str) -> None:
    """Make a folder importable as a distribution with these entry points, as pip would leave it."""
    import tomllib

    project = tomllib.loads(pyproject)["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    points = project["entry-points"].items()
    lines = [
        line
        for group, made in points
        for line in (f"[{group}]", *(f"{k} = {v}" for k, v in made.items()))
    ]
    put(info, "entry_points.txt", "\n".join(lines) + "\n")
    put(
        info,
        "METADATA",
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
    )
