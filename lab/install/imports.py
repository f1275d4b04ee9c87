"""What each command's imports cost: seconds, modules, and whose they are; measured in a process of its own."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.install import children

COMMANDS = Path(__file__).parents[1] / "cli"

HEAVIEST = 3


@dataclass(frozen=True)
class ImportCost:
    """seconds: of all imports, by the clock; heaviest: the packages whose own modules take most of them."""

    command: str
    seconds: float
    modules: int
    heaviest: str


def costs(commands: Iterable[str]) -> Iterator[ImportCost]:
    """One command after another, as it is measured.

    Raises:
        ValueError: there is no such command.
        RuntimeError: its imports fail; the last line of what was said.
    """
    for command in commands:
        yield cost(command)


def cost(command: str) -> ImportCost:
    """Everything that the command's file imports, at its top and inside its functions; see `costs`.

    Example:
        >>> from lab.install.imports import cost
        >>> cost("stop").modules > 0
        True
    """
    file = COMMANDS / f"{command}.py"
    if command.startswith("_") or not file.is_file():
        raise ValueError(f"There is no command {command!r}.")
    program = "\n".join(["import lab.__main__, lab.cli", *statements(file)])
    words = children.python("-X", "importtime", "-c", program)
    done = subprocess.run(words, env=children.environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"The imports of {command} fail: {done.stderr.strip().splitlines()[-1]}")
    return _read(command, done.stderr)


def statements(file: Path) -> list[str]:
    """The import statements of a file, in their order."""
    tree = ast.parse(file.read_text("utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = [ast.unparse(node) for node in sorted(nodes, key=lambda node: node.lineno)]
    return [line for line in lines if "__future__" not in line]


def _read(command: str, output: str) -> ImportCost:
    """From lines as `import time:      self [us] |  cumulative | package`."""
    spent: Counter[str] = Counter()
    modules = 0
    for line in output.splitlines():
        cost, _, rest = line.removeprefix("import time:").partition("|")
        if line.startswith("import time:") and cost.strip().isdigit():
            spent[rest.rpartition("|")[2].strip().split(".")[0]] += int(cost)
            modules += 1
    heaviest = ", ".join(f"{name} {micros / 1e6:.2f} s" for name, micros in spent.most_common(HEAVIEST))
    return ImportCost(command, round(spent.total() / 1e6, 2), modules, heaviest)
