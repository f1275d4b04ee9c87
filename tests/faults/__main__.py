"""Which planted faults do the tests find? `python -m tests.faults [NAME ...] [--tree FOLDER] [--table FILE]`.

Each fault of `faults.toml` is planted in a copy of the tree, and its tests run until the first that fails. In the end
all these run without a fault, where they have to pass. Half an hour of one processor core for all sixty.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT = 900
"""Seconds after which a fault that makes the tests wait for ever counts as found."""


def faults(tree: Path) -> dict[str, dict]:
    """Every fault by its name, as it is for a tree: version 0.2 has some texts and tests elsewhere."""
    listed = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["fault"]
    old = (tree / "lab" / "dashboard").is_dir()
    return {one["name"]: one | (one.get("at_0_2", {}) if old else {}) for one in listed}


def place(fault: dict, tree: Path) -> Path:
    """The file that holds the fault's text.

    Raises:
        ValueError: the text does not stand exactly once below lab and app.
    """
    files = [path for part in ("lab", "app") for path in (tree / part).rglob("*.py")]
    matching = [
        path for path in files if PurePath(path.relative_to(tree)).match(fault.get("file", "*.py"))
    ]
    held = {path: path.read_text(encoding="utf-8").count(fault["find"]) for path in matching}
    if sum(held.values()) != 1:
        where = [str(path.relative_to(tree)) for path, count in held.items() if count]
        raise ValueError(
            f"{fault['name']}: {fault['find']!r} must stand once in the code, it does in {where}."
        )
    return next(path for path, count in held.items() if count)


@contextmanager
def planted(fault: dict, tree: Path) -> Iterator[None]:
    """Within the block the tree has the fault."""
    path = place(fault, tree)
    before, text = path.stat(), path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault["find"], fault["put"]), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        # so that compiled kernels stay good
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def run(tests: list[str], tree: Path, kernels: str, *options: str) -> tuple[int, list[str]]:
    """pytest's status, and the tests that failed. kernels: folder of the compiled kernels."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "NUMBA_CACHE_DIR": kernels,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = ["-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *options, *tests]
    command = [sys.executable, "-m", "pytest", *words]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return 1, ["it waits for ever"]
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    named = [line.partition(" ")[2].split(" - ")[0] for line in failed]
    return done.returncode, named or [(done.stdout + done.stderr)[-300:].strip()]


def judged(fault: dict, tree: Path) -> tuple[str, str]:
    """Whether the tests find a fault (yes, no, or what is wrong with them), and by which test."""
    with planted(fault, tree), tempfile.TemporaryDirectory() as fresh:
        kernels = fresh if fault.get("kernels") else str(tree / ".kernels")
        status, failed = run(shlex.split(fault["tests"]), tree, kernels, "-x")
    return {0: ("no", "-"), 1: ("yes", failed[0]), 2: ("yes", failed[0])}.get(
        status, ("tests do not run", failed[0])
    )


def written(table: Path | None, rows: list[list[str]]) -> None:
    if table:
        table.write_text(
            "\n".join("\t".join(row) for row in [["fault", "family", "found", "by"], *rows]) + "\n"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="faults to plant (default all)")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="checkout that is copied (default this one)"
    )
    parser.add_argument(
        "--copy", type=Path, help="where the copy is kept, with its compiled kernels"
    )
    parser.add_argument(
        "--table", type=Path, help="TSV file; what stands there is not tried again unless named"
    )
    arguments = parser.parse_args()
    listed = faults(arguments.tree)
    copy = arguments.copy or Path(tempfile.mkdtemp())
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=arguments.tree, capture_output=True, text=True, check=True
    )
    for name in filter(None, tracked.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(arguments.tree / name, copy / name)
    rows: dict[str, list[str]] = {}
    if arguments.table and arguments.table.exists():
        rows = {
            line.split("\t")[0]: line.split("\t")
            for line in arguments.table.read_text().splitlines()[1:]
        }
    names = arguments.names or [name for name in listed if name not in rows]
    for name in names:
        began = time.monotonic()
        found, by = judged(listed[name], copy)
        rows[name] = [name, listed[name]["family"], found, " ".join(by.split())]
        print(*rows[name], f"{time.monotonic() - began:.0f} s", sep="\t", flush=True)
        written(arguments.table, [rows[one] for one in listed if one in rows])
    finders = {rows[name][3] for name in names if "::" in rows[name][3]}
    wrong = (
        set(run(sorted(finders), copy, str(copy / ".kernels"))[1]) & finders if finders else set()
    )
    for name in names:
        if rows[name][3] in wrong:
            rows[name][2] = "fails without it, too"
            print(*rows[name], sep="\t")
    written(arguments.table, [rows[one] for one in listed if one in rows])
    if arguments.copy is None:
        shutil.rmtree(copy)
    return int(any(row[2] != "yes" for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
