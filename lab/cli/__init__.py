"""The commands of `lab`, one file each. A file's name is the command; its docstring's first line is the help.

A command defines `add_arguments(parser)` and `run(arguments)`; what is heavy it imports inside `run`, so that
`lab --help` stays quick. A command that knows its flags only after some of them were read (`lab train --loss ...`)
defines `add_arguments(parser, words)` and looks at the words itself.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import pkgutil
import re
from types import ModuleType

import lab


def names() -> tuple[str, ...]:
    """Every command, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


class Parser(argparse.ArgumentParser):
    """Says a mistake in one sentence, with the nearest flag, instead of repeating every flag there is."""

    def error(self, message: str):
        unknown = re.search(r"unrecognized arguments: (.*)", message)
        if unknown:
            flag = next((w for w in unknown[1].split() if w.startswith("--")), unknown[1])
            near = difflib.get_close_matches(flag.split("=")[0], self._flags(), n=1, cutoff=0.5)
            message = f"there is no {flag} here" + (f"; did you mean {near[0]}" if near else "")
        from lab.core.explain import shortened

        self.exit(2, f"{self.prog}: {shortened(message.rstrip('.'))} (see {self.prog} --help).\n")

    def _flags(self) -> list[str]:
        children = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        inner = [flag for a in children for parser in a.choices.values() for flag in parser._option_string_actions]
        return [*self._option_string_actions, *inner]


def parse(words: list[str]) -> tuple[ModuleType | None, argparse.Namespace]:
    """The command that the words name, and its arguments. Exits with status 2 and a sentence on a mistake."""
    top = Parser(
        prog="lab",
        description="See what a ranking loss sees: train, evaluate and browse image-retrieval models.",
        epilog="`lab COMMAND --help` explains a command.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"rankscope {lab.__version__}")
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
        if name == chosen:
            wants_words = len(inspect.signature(module.add_arguments).parameters) > 1
            module.add_arguments(parser, words) if wants_words else module.add_arguments(parser)
    parsed = top.parse_args(words)
    if parsed.command is None:
        top.print_help()
        return None, parsed
    return modules[parsed.command], parsed
