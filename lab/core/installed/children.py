"""Python processes that this one starts: they load this very package, and nothing that lies where they are started.

Python looks for modules in the current folder first. A person's own `lab.py`, `app.py` or `torch.py` there would be run
in place of ours; `-P` forbids it.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

HOME = str(Path(__file__).parents[3])
"""The folder in which the package `lab` lies."""


def python(*words: str) -> list[str]:
    """The words of a command: this Python, with these arguments.

    Example:
        >>> from lab.core.installed import children
        >>> children.python("-m", "lab", "--version")[1:]
        ['-P', '-m', 'lab', '--version']
    """
    return [sys.executable, "-P", *words]


def application(module: str, *words: str) -> list[str]:
    """The words of a command that runs a module of the dashboard's folder `app`, whatever else has that name."""
    return python(str(Path(__file__).with_name("application.py")), module, *words)


def environment(also: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's variables for such a command, and those of `also`.

    A package that was not installed, but is run from its checkout, is found by PYTHONPATH.
    """
    variables = {**os.environ, **(also or {})}
    paths = variables.get("PYTHONPATH", "").split(os.pathsep)
    found_anyway = {
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
        site.getusersitepackages(),
    }
    if HOME not in found_anyway and HOME not in paths:
        variables["PYTHONPATH"] = os.pathsep.join([HOME, *filter(None, paths)])
    return variables
