"""`--on WHERE`: the flag of every command that trains, and the launcher that it names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.launchers import Launcher
    from lab.runs.process import Sent

HERE = "here"


def add_on(parser: argparse.ArgumentParser, words: Sequence[str], default: str = HERE) -> None:
    """Add `--on`, and `--on.KNOB` for the launcher that the words name."""
    from lab import launchers
    from lab.cli import _flags

    place = "in this process" if default == HERE else "the queue of this machine"
    trains = f"where to train: {', '.join(launchers.names())}, or ray://HOST:PORT (default {place})"
    parser.add_argument("--on", default=default, metavar="WHERE", help=trains)
    name = (_flags.early(words, on="store").on or default).partition("://")[0]
    if name in launchers.names():
        _flags.add_knobs(parser, "on", launchers.get(name).Knobs, f"launcher ({name})")


def launcher_of(arguments: argparse.Namespace, before: Sent | None = None) -> Launcher | None:
    """Return the launcher that the flags name, or None for this process.

    Args:
        before: where the run was sent to the last time. Its knobs and address hold where the flags name that launcher
            again, each unless a flag gives another.

    Raises:
        ValueError: there is no such launcher, or a knob is out of range.
    """
    from lab import launchers
    from lab.cli import _flags

    if arguments.on == HERE:
        return None
    name, given_address, _ = arguments.on.partition("://")
    chosen = _flags.collect(arguments, "on", launchers.get(name).Knobs)
    if before is not None and before.launcher == name:
        stored = dict(before.knobs)
        if before.address and not given_address:
            stored["address"] = before.address
        chosen = {**stored, **chosen}
    return launchers.from_address(arguments.on, **chosen)
