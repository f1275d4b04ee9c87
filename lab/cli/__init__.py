"""The commands of `lab`, one file each. A file's name is the command; its docstring's first line is the help.

A command defines `add_arguments(parser)` and `run(arguments)`; what is heavy it imports inside `run`, so that
`lab --help` stays quick. A command that knows its flags only after some of them were read (`lab train --loss ...`)
defines `add_arguments(parser, words)` and looks at the words itself.

Flags that mean the same everywhere may stand before the command, too: `lab --json runs`.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import lab

ANYWHERE = ("--json", "--debug", "--quiet", "-q", "--no-color")
"""Flags that may stand before the command."""


def names() -> tuple[str, ...]:
    """Every command, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


class Parser(argparse.ArgumentParser):
    """Says a mistake in one sentence, with the nearest flag, instead of repeating every flag there is."""

    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (.*)", message)
        if unknown:
            message = self._unknown(unknown[1].split())
        from lab.core.explain import shortened
        from lab.core.formats import visible

        self.exit(2, f"{self.prog}: {visible(shortened(message.rstrip('.')))} (see {self.prog} --help).\n")

    def _unknown(self, extra: list[str]) -> str:
        """What to do about words that no command takes in this place."""
        flag = next((word for word in extra if word.startswith("--")), None)
        known = self._flags()
        if flag is None:
            at = self.words.index(extra[0]) if extra[0] in self.words else 0
            owner = next((w for w in reversed(self.words[:at]) if w.startswith("--") and w in known), None)
            return f"{owner} takes one value, and {extra[0]} is one more" if owner else f"there is no {extra[0]} here"
        if flag.split("=")[0] in known:
            return f"{flag} must come after the command"
        near = difflib.get_close_matches(flag.split("=")[0], known, n=1, cutoff=0.5)
        return f"there is no {flag} here" + (f"; did you mean {near[0]}" if near else "")

    def _flags(self) -> list[str]:
        children = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        inner = [flag for a in children for parser in a.choices.values() for flag in parser._option_string_actions]
        return [*self._option_string_actions, *inner]


def parse(words: list[str]) -> tuple[ModuleType | None, argparse.Namespace]:
    """The command that the words name, and its arguments. Exits with status 2 and a sentence on a mistake."""
    words = rearranged(words)
    top, modules = parser_of(words)
    parsed = top.parse_args(words)
    if parsed.command is None:
        top.print_help()
        return None, parsed
    return modules[parsed.command], parsed


def rearranged(words: list[str]) -> list[str]:
    """The words with `lab help COMMAND` as `lab COMMAND --help`, and with flags before the command behind it."""
    before = next((i for i, word in enumerate(words) if word not in ANYWHERE), len(words))
    words = [*words[before:], *words[:before]]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    return words


def parser_of(words: list[str], complete: bool = False) -> tuple[Parser, dict[str, ModuleType]]:
    """The parser for these words, and the commands' modules; only the flags of the command that they name are read.

    complete: read those of every command.
    """
    top = Parser(
        prog="lab",
        description="See what a ranking loss sees: train, evaluate and browse image-retrieval models.",
        epilog="`lab COMMAND --help` explains a command. The exit status is 0 when all is done, 1 after a failure, 2 "
        "after a mistake in what was asked, and 128 plus the signal when something stopped it (130 for Ctrl-C).",
        allow_abbrev=False,
    )
    top.words = words
    top.add_argument("-V", "--version", action="version", version=f"rankscope {lab.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    chosen = next((word for word in words if not word.startswith("-")), None)
    modules = {}
    for name in names():
        modules[name] = module = importlib.import_module(f"lab.cli.{name}")
        summary = (module.__doc__ or "").strip().splitlines()[0]
        parser = commands.add_parser(
            name,
            help=summary,
            description=inspect.cleandoc(module.__doc__ or ""),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
        parser.add_argument("-q", "--quiet", action="store_true", help="show results and failures only, no progress")
        parser.add_argument("--no-color", action="store_true", help="print no colours and no bold letters")
        if complete or name == chosen:
            wants_words = len(inspect.signature(module.add_arguments).parameters) > 1
            module.add_arguments(parser, words) if wants_words else module.add_arguments(parser)
    return top, modules
