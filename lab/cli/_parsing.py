"""From words to a command and its arguments; the list of all commands; the help, and one sentence on a mistake."""

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
"""Arguments in a line of usage, by how many there may be."""


def names(group: str = "") -> tuple[str, ...]:
    """Every command, or every verb of a group, sorted; none of a command that is no group."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent / group)])
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


def load(*path: str) -> ModuleType:
    """The module of a command, or of a group and a verb."""
    return importlib.import_module(".".join(("lab.cli", *path)))


class Parser(argparse.ArgumentParser):
    """Says a mistake in one sentence, with the nearest flag, instead of repeating every flag there is.

    words: what the command was given. usual: the flags that --help shows, where it does not show all.
    """

    words: Sequence[str] = ()
    usual: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        if unknown := re.search(r"unrecognized arguments: (.*)", message):
            message = self._unknown(unknown[1].split())
        elif switch := re.match(r"argument (--[^/:]*).*: ignored explicit argument", message):
            message = self._one_too_many(switch[1], "")
        from lab.core.explain import shortened
        from lab.core.formats import visible

        self.exit(2, f"{self.prog}: {visible(shortened(message.rstrip('.')))} (see {self.prog} --help).\n")

    def _unknown(self, extra: list[str]) -> str:
        """What to do about words that this command does not take."""
        known = list(self._option_string_actions)
        flag = next((word.split("=")[0] for word in extra if word.startswith("--")), None)
        if flag is None:
            at = self.words.index(extra[0]) if extra[0] in self.words else 0
            owner = next((w for w in reversed(self.words[:at]) if w.startswith("--") and w in known), None)
            return self._one_too_many(owner, extra[0]) if owner else f"there is no {extra[0]} here"
        knob = flag.removeprefix("--").replace("-", "_")
        homes = [one for one in known if one.rpartition(".")[2] == knob and not one.startswith("--no-")]
        meant = " or ".join(homes) or near(flag, known, 0.5)
        return f"there is no {flag} here" + (f"; did you mean {meant}" if meant else "")

    def _one_too_many(self, flag: str, word: str) -> str:
        action = self._option_string_actions[flag]
        if action.nargs != 0:
            return f"{flag} takes one value, and {word} is one more"
        no = f"; {action.option_strings[-1]} says no" if isinstance(action, argparse.BooleanOptionalAction) else ""
        return f"{flag} takes no value: alone it says yes{no}"

    def format_help(self) -> str:
        """All flags, or where there are very many those that are used most and those of what the words choose."""
        if not self.usual or "--help-all" in self.words:
            return super().format_help()
        few = Parser(self.prog, self.usage, self.description, formatter_class=self.formatter_class, add_help=False)
        few._positionals._group_actions += self._get_positional_actions()
        shown = few.add_argument_group("most used flags")
        named = tuple(f"{word}." for word in self.words if word.startswith("--"))  # --loss X: and those of X
        flags = [flag for flag in self._option_string_actions if flag in self.usual or named and flag.startswith(named)]
        for flag in flags:
            shown._add_action(self._option_string_actions[flag])
        few.epilog = f"{len(self._get_optional_actions()) - len(flags)} more: {self.prog} --help-all"
        return few.format_help()


def parse(words: list[str]) -> tuple[ModuleType | None, argparse.Namespace]:
    """The command that the words name, and its arguments. Exits with status 2 and a sentence on a mistake."""
    words, path = rearranged(words)
    if path:
        module = load(*path)
        return module, filled(Parser(f"lab {' '.join(path)}", **described(*path)), module, words).parse_args(words)
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
    """The words behind the command, and the command, with its verb if it has one: `lab help COMMAND` is
    `lab COMMAND --help`, and flags before the command stand behind it."""
    rest, early = list(words), list[str]()
    path: tuple[str, ...] = ()
    for _ in range(3):  # before the command, before its verb, and before what follows
        taken = list(itertools.takewhile(ANYWHERE.__contains__, rest))
        early, rest = early + taken, rest[len(taken) :]
        if not path and rest[:1] == ["help"]:
            rest = [*rest[1:], "--help"]
        if len(path) < 2 and rest[:1] and rest[0] in names(*path):
            path = (*path, rest.pop(0))
    return [*rest, *early], path


def top_parser() -> Parser:
    """The parser of `lab` without a command; its help lists the commands under their headings."""
    modules = {name: load(name) for name in names()}
    where = {name: (getattr(m, "PLACE", 99), getattr(m, "HEADING", "More")) for name, m in modules.items()}
    text = "See what a ranking loss sees: train, evaluate and browse image-retrieval models."
    for heading, group in itertools.groupby(sorted(modules, key=where.__getitem__), lambda name: where[name][1]):
        text += f"\n\n{heading}:\n{listing({name: modules[name] for name in group})}"
    top = Parser(
        "lab", "lab COMMAND ...", text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        epilog="`lab COMMAND --help` explains a command. The exit status is 0 when all is done, 1 after a failure,\n2 "
        "after a mistake in what was asked, and 128 plus the signal when something stopped it (130 for Ctrl-C).",
    )  # fmt: skip
    top.add_argument("-V", "--version", action="version", version=f"rankscope {lab.__version__}")
    shells = ("bash", "zsh", "tcsh")
    top.add_argument(
        "--completion", choices=shells, help="print a script that completes commands and flags in this shell"
    )
    return top


def listing(modules: dict[str, ModuleType]) -> str:
    """One line a command: its name, and the first line of its docstring."""
    return "\n".join(f"  {name:11}{(module.__doc__ or '').strip().splitlines()[0]}" for name, module in modules.items())


def described(*path: str) -> dict:
    """What the parser of a command is made with."""
    text = inspect.cleandoc(load(*path).__doc__ or "")
    if len(path) == 1 and (verbs := names(path[0])):
        text += f"\n\nverbs:\n{listing({verb: load(*path, verb) for verb in verbs})}"
    return {"description": text, "formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}


def filled(parser: Parser, module: ModuleType, words: list[str]) -> Parser:
    """The parser with the flags of a command, as far as these words behind its name decide them."""
    parser.words = words
    flag = parser.add_argument
    flag("--debug", action="store_true", help="show the traceback of a failure")
    flag("-q", "--quiet", action="store_true", help="show results and failures only, no progress")
    flag("--no-color", action="store_true", help="print no colours and no bold letters")
    wants_words = len(inspect.signature(module.add_arguments).parameters) > 1
    module.add_arguments(parser, words) if wants_words else module.add_arguments(parser)
    verbs = names(parser.prog.split()[-1])
    if usual := getattr(module, "USUAL", ()):
        flag("--help-all", action="help", help="show every flag")
        parser.usual = usual
    if usual or verbs:  # and not all of very many flags, or none of the verbs
        places = [SPELT.get(one.nargs, "{}").format(one.dest.upper()) for one in parser._get_positional_actions()]
        parser.usage = " ".join((parser.prog, *places, "[FLAG ...]")) + f"\n       {parser.prog} VERB ..." * bool(verbs)
    return parser


def no_command(words: list[str]) -> str:
    """What to do about words that begin with no command: the nearest one, a verb or a catalogue by its own name."""
    word, known = words[0], {name: name for name in names()}
    if word.startswith("-"):
        return f"{word} must come after the command" if known.keys() & set(words) else f"there is no {word} here"
    verbs = {verb: f"{group} {verb}" for group in known for verb in names(group)}
    kinds = {kind: f"list {kind}" for kind in load("list").KINDS}
    every = kinds | verbs | known | {"version": "--version"}
    hint = f"; did you mean `lab {every[meant]}`" if (meant := near(word, every)) else ""
    return f"there is no command {word!r}{hint}"


def completion(shell: str) -> str:
    """The script that completes commands, verbs and flags in a shell.

    Raises:
        ValueError: shtab is not installed.
    """
    need("Completion", "app", "shtab")
    import shtab

    top = top_parser()
    commands = top.add_subparsers()
    for name in names():
        parser = commands.add_parser(name, help=name, **described(name))
        if verbs := names(name):
            below = parser.add_subparsers()
            for verb in verbs:
                filled(below.add_parser(verb, help=verb, **described(name, verb)), load(name, verb), [])
        filled(parser, load(name), [])
    return shtab.complete(top, shell)
