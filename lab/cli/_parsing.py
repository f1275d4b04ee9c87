"""Parse the command line: find the command and its arguments, print the help, and report a mistake in one sentence."""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import lab
from lab.core.explain import near, need

ANYWHERE = ("--json", "--debug", "--quiet", "-q", "--no-color")
"""Flags that may stand before the command."""

SPELT: dict[object, str] = {"?": "[{}]", "*": "[{} ...]", "+": "{} ..."}
"""How a line of usage spells a positional argument, by its `nargs`."""


def names(group: str = "") -> tuple[str, ...]:
    """Return every command, or every verb of a group, sorted; none if the command is not a group."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent / group)])
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


def load(*path: str) -> ModuleType:
    """Import the module of a command, or of a group and a verb."""
    return importlib.import_module(".".join(("lab.cli", *path)))


class Parser(argparse.ArgumentParser):
    """Argument parser that reports a mistake in one sentence with the nearest flag, not with a list of every flag.

    words: the words that the command was given. usual: the flags that --help shows, where it does not show all.
    """

    words: Sequence[str] = ()
    usual: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        from lab.core.explain import shortened
        from lab.core.formats import visible

        unknown = re.search(r"unrecognized arguments: (.*)", message)
        switch = re.match(r"argument (--[^/:]*).*: ignored explicit argument", message)
        if unknown:
            message = self._unknown(unknown[1].split())
        elif switch:
            message = self._too_many_values(switch[1], "")
        self.exit(
            2, f"{self.prog}: {visible(shortened(message.rstrip('.')))} (see {self.prog} --help).\n"
        )

    def _unknown(self, extra: list[str]) -> str:
        """Return what to do about words that this command does not take."""
        flags = list(self._option_string_actions)
        unknown = [word.split("=")[0] for word in extra if word.startswith("--")]
        if not unknown:  # a word too many: name the flag that stands before it
            word = extra[0]
            position = self.words.index(word) if word in self.words else 0
            for earlier in reversed(self.words[:position]):
                if earlier.startswith("--") and earlier in flags:
                    return self._too_many_values(earlier, word)
            return f"there is no {word} here"
        # The flag may lack its section: --tau1 is then --loss.tau1.
        knob = unknown[0].removeprefix("--").replace("-", "_")
        with_section = [
            flag
            for flag in flags
            if flag.rpartition(".")[2] == knob and not flag.startswith("--no-")
        ]
        meant = " or ".join(with_section) or near(unknown[0], flags, 0.5)
        hint = f"; did you mean {meant}" if meant else ""
        return f"there is no {unknown[0]} here{hint}"

    def _too_many_values(self, flag: str, word: str) -> str:
        action = self._option_string_actions[flag]
        if action.nargs != 0:
            return f"{flag} takes one value, and {word} is one more"
        if isinstance(action, argparse.BooleanOptionalAction):
            return f"{flag} is a switch: write {flag} for yes or {action.option_strings[-1]} for no, without a value"
        return f"{flag} is a switch: write it without a value"

    def format_help(self) -> str:
        """Return the help: all flags, or if there are very many, the most used and those of the entries chosen."""
        if not self.usual or "--help-all" in self.words:
            return super().format_help()
        few = Parser(
            self.prog,
            self.usage,
            self.description,
            formatter_class=self.formatter_class,
            add_help=False,
        )
        few._positionals._group_actions += self._get_positional_actions()
        shown = few.add_argument_group("most used flags")
        # --loss X: and the flags of X
        prefixes = tuple(f"{word}." for word in self.words if word.startswith("--"))
        flags = []
        for flag in self._option_string_actions:
            if flag in self.usual or (prefixes and flag.startswith(prefixes)):
                flags.append(flag)
        for flag in flags:
            shown._add_action(self._option_string_actions[flag])
        few.epilog = (
            f"{len(self._get_optional_actions()) - len(flags)} more: {self.prog} --help-all"
        )
        return few.format_help()


def parse(words: list[str]) -> tuple[ModuleType | None, argparse.Namespace]:
    """Return the command that the words name, and its arguments. A mistake exits with status 2 and a sentence."""
    words, path = rearranged(words)
    if path:
        module = load(*path)
        parser = filled(Parser(f"lab {' '.join(path)}", **described(*path)), module, words)
        return module, parser.parse_args(words)
    top = top_parser()
    parsed, unknown = top.parse_known_args(words)
    if unknown:
        top.error(no_command(unknown))
    if parsed.completion:
        print(completion(parsed.completion))
    else:
        top.print_help()
    return None, parsed


def rearranged(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the words behind the command, and the command with its verb if it has one.

    `lab help COMMAND` becomes `lab COMMAND --help`, and flags before the command are moved behind it.
    """
    rest = list(words)
    early: list[str] = []
    path: tuple[str, ...] = ()
    for _ in range(3):  # before the command, before its verb, and before what follows
        taken = list(itertools.takewhile(ANYWHERE.__contains__, rest))
        early += taken
        rest = rest[len(taken) :]
        if not path and rest[:1] == ["help"]:
            rest = [*rest[1:], "--help"]
        if len(path) < 2 and rest[:1] and rest[0] in names(*path):
            path = (*path, rest.pop(0))
    return [*rest, *early], path


def top_parser() -> Parser:
    """Return the parser of `lab` without a command; its help lists the commands under their headings."""
    modules = {name: load(name) for name in names()}

    def position(name: str) -> tuple[int, str]:
        return getattr(modules[name], "PLACE", 99), getattr(modules[name], "HEADING", "More")

    text = "See what a ranking loss sees: train, evaluate and browse image-retrieval models."
    for heading, group in itertools.groupby(
        sorted(modules, key=position), lambda name: position(name)[1]
    ):
        text += f"\n\n{heading}:\n{listing({name: modules[name] for name in group})}"
    epilog = (
        "`lab COMMAND --help` explains a command. The exit status is 0 when all is done, 1 after a failure,\n2 "
        "after a mistake in what was asked, and 128 plus the signal when something stopped it (130 for Ctrl-C)."
    )
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser(
        "lab", "lab COMMAND ...", text, formatter_class=raw, allow_abbrev=False, epilog=epilog
    )
    top.add_argument("-V", "--version", action="version", version=f"rankscope {lab.__version__}")
    shells = ("bash", "zsh", "tcsh")
    help = "print a script that completes commands and flags in this shell"
    top.add_argument("--completion", choices=shells, help=help)
    return top


def listing(modules: dict[str, ModuleType]) -> str:
    """Return one line per command: its name, and the first line of its docstring."""
    lines = []
    for name, module in modules.items():
        purpose = (module.__doc__ or "").strip().splitlines()[0]
        lines.append(f"  {name:11}{purpose}")
    return "\n".join(lines)


def described(*path: str) -> dict:
    """Return the keyword arguments with which the parser of a command is made."""
    text = inspect.cleandoc(load(*path).__doc__ or "")
    verbs = names(path[0]) if len(path) == 1 else ()
    if verbs:
        text += f"\n\nverbs:\n{listing({verb: load(*path, verb) for verb in verbs})}"
    return {
        "description": text,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def filled(parser: Parser, module: ModuleType, words: list[str]) -> Parser:
    """Add the flags of a command to its parser, as far as the words behind its name decide them, and return it."""
    parser.words = words
    flag = parser.add_argument
    flag("--debug", action="store_true", help="show the traceback of a failure")
    flag("-q", "--quiet", action="store_true", help="show results and failures only, no progress")
    flag("--no-color", action="store_true", help="print no colours and no bold letters")
    wants_words = len(inspect.signature(module.add_arguments).parameters) > 1
    if wants_words:
        module.add_arguments(parser, words)
    else:
        module.add_arguments(parser)
    verbs = names(parser.prog.split()[-1])
    usual = getattr(module, "USUAL", ())
    if usual:
        flag("--help-all", action="help", help="show every flag")
        parser.usual = usual
    if usual or verbs:  # a short usage: argparse would write all of very many flags, and no verb
        usage = [parser.prog]
        for action in parser._get_positional_actions():
            usage.append(SPELT.get(action.nargs, "{}").format(action.dest.upper()))
        parser.usage = " ".join([*usage, "[FLAG ...]"])
        if verbs:
            parser.usage += f"\n       {parser.prog} VERB ..."
    return parser


def no_command(words: list[str]) -> str:
    """Return what to do about words that begin with no command: the nearest command, verb or catalogue."""
    word = words[0]
    commands = {name: name for name in names()}
    if word.startswith("-"):
        if commands.keys() & set(words):
            return f"{word} must come after the command"
        return f"there is no {word} here"
    candidates = {kind: f"list {kind}" for kind in load("list").KINDS}
    for group in commands:
        candidates |= {verb: f"{group} {verb}" for verb in names(group)}
    candidates |= commands
    candidates["version"] = "--version"
    meant = near(word, candidates)
    hint = f"; did you mean `lab {candidates[meant]}`" if meant else ""
    return f"there is no command {word!r}{hint}"


def completion(shell: str) -> str:
    """Return the script that completes commands, verbs and flags in a shell.

    Raises:
        ValueError: shtab is not installed.
    """
    need("Completion", "app", "shtab")
    import shtab

    top = top_parser()
    commands = top.add_subparsers()
    for name in names():
        parser = commands.add_parser(name, help=name, **described(name))
        verbs = names(name)
        if verbs:
            below = parser.add_subparsers()
            for verb in verbs:
                filled(
                    below.add_parser(verb, help=verb, **described(name, verb)), load(name, verb), []
                )
        filled(parser, load(name), [])
    return shtab.complete(top, shell)
