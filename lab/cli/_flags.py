"""Declared knobs as command-line flags, and back."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any

from lab.core.knobs import Knob, Knobs, describe


def add_knobs(
    parser: argparse.ArgumentParser,
    prefix: str,
    knobs: type[Knobs] | Sequence[Knob],
    title: str | None = None,
    without: Collection[str] = (),
) -> None:
    """Add one flag `--prefix.name` per knob not in `without`, with range, unit, default and source in its help.

    A yes-or-no knob is a switch: the flag alone means yes, `--no-` before it means no. `none` is an empty list.
    """
    group = parser.add_argument_group(title or prefix)
    for declared in describe(knobs) if isinstance(knobs, type) else knobs:
        if declared.name in without:
            continue
        options: dict[str, Any] = {}
        if declared.kind is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif declared.choices:
            options["metavar"] = "{" + ",".join(declared.choices) + "}"
        else:
            options["metavar"] = {int: "N", float: "X"}.get(declared.kind, "TEXT")
        if declared.many and declared.kind is not bool:
            options["nargs"] = "+"
        flag = f"{prefix}.{declared.name}"
        help = _help(declared).replace("%", "%%")
        group.add_argument(f"--{flag}", dest=flag, default=argparse.SUPPRESS, help=help, **options)


def early(words: Sequence[str], **actions: Any) -> argparse.Namespace:
    """Return the values of some flags among the words, before all flags are known; None where one is not given.

    actions: flag to what it does: store, or extend where it takes several.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name, action in actions.items():
        parser.add_argument(f"--{name}", action=action, nargs="+" if action == "extend" else None)
    try:
        return parser.parse_known_args(words)[0]
    except argparse.ArgumentError:
        return parser.parse_args([])  # a flag without its value; the full parser will say so


def collect(arguments: argparse.Namespace, prefix: str, knobs: type[Knobs]) -> dict[str, Any]:
    """Return the values that were given for these knobs, in the types they declare.

    Raises:
        ValueError: a value is not of the knob's type.
    """
    values = {}
    for declared in describe(knobs):
        flag = f"{prefix}.{declared.name}"
        # a list of them for a knob of many values, yes or no, else one
        words = getattr(arguments, flag, None)
        if words is None:
            continue
        if not declared.many:
            values[declared.name] = (
                words if isinstance(words, bool) else _one(declared, words, flag)
            )
        elif [word.lower() for word in words] == ["none"]:
            values[declared.name] = None if declared.optional else ()
        else:
            split = " ".join(words).replace(",", " ").split()
            values[declared.name] = tuple(_one(declared, word, flag) for word in split)
            if not split:
                raise ValueError(f"--{flag} is empty; `none` is an empty list.")
    return values


def _one(declared: Knob, word: str, flag: str) -> Any:
    if declared.optional and word.lower() in ("none", "null"):
        return None
    if declared.kind in (int, float):
        try:
            if declared.kind is int and "e" in word.lower() and float(word).is_integer():
                return int(float(word))  # a whole number may be written as 1e3
            return declared.kind(word)
        except (ValueError, OverflowError):
            whole = "a whole number, " if declared.kind is int else ""
            raise ValueError(f"--{flag} must be {whole}{declared.range}, got {word!r}.") from None
    return word


def _help(declared: Knob) -> str:
    facts = []
    if declared.kind in (int, float) and not declared.range.startswith("any"):
        facts.append(declared.range)
    if declared.unit:
        facts.append(declared.unit)
    default = {"True": "yes", "False": "no"}.get(declared.default, declared.default)
    facts.append("required" if declared.required else f"default {default}")
    if declared.source:
        facts.append(declared.source)
    return f"{declared.help.removesuffix('.')} ({'; '.join(facts)})"
