"""What the light installation has beside torch: `python scripts/light_requirements.py app` prints pip's lines.

pyproject.toml is the one list. Here faiss-cpu stands in for faiss-gpu, which brings 1.3 GB of CUDA libraries,
and torch and torchvision are left out: they come first, from an index of builds without CUDA. Runs before anything is
installed, so it needs nothing but Python.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

FIRST = {"torch", "torchvision"}
"""What `make` installs before these lines."""


def lines(extras: list[str]) -> list[str]:
    """Requirements of the project and of these extras, each once.

    Raises:
        SystemExit: there is no such extra.
    """
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted, open_ = list(project["dependencies"]), list(extras)
    while open_:
        extra = open_.pop()
        if extra not in project["optional-dependencies"]:
            sys.exit(
                f"There is no extra {extra!r}; there are {', '.join(project['optional-dependencies'])}."
            )
        for line in project["optional-dependencies"][extra]:
            more = re.fullmatch(rf"{project['name']}\[(.*)\]", line)
            open_ += more[1].split(",") if more else []
            wanted += [] if more else [line]
    return sorted({light(line) for line in wanted if name(line) not in FIRST | {"faiss-gpu"}})


def light(line: str) -> str:
    """A requirement as it stands, but faiss-cpu for every machine."""
    return line.partition(";")[0] if name(line) == "faiss-cpu" else line


def name(line: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", line)[0]


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1:])))
