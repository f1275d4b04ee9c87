"""Bad inputs over every command and every flag of a declared knob; each must end in one sentence.

    python scripts/soak/bad_inputs.py --trials 1000

The command's `main` is called in this process. What would begin real work (a run, a server) is taken away first, so an
input that is believed counts as a failure, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from lab.__main__ import main as command
from lab.core.knobs import Knob, describe
from lab.runs.config import SECTIONS

JUNK = [
    "", " ", "nosuch", "../..", "a/b", "é", "💥", "none of these", "x" * 300, "NaN", "0x10", "1e999", "\x1b[31m",
    "%s{}",
]  # fmt: skip
NUMBERS = [
    "",
    "x",
    "-1",
    "1.5.2",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "9" * 400,
    "0x10",
    "①",
    "--",
    "true",
]
NOT_A_SENTENCE = re.compile(
    r"Traceback|object at 0x|NoneType|<class|\b__\w+__\b|positional argument|unexpected keyword|Errno|site-packages"
    r"|invalid literal|not subscriptable|has no attribute|codec can't|null byte"
)
LONGEST = 1_500

COMMANDS: list[list[str]] = [
    ["{junk}"],
    ["train", "--{junk}"],
    ["train", "--loss", "{junk}"],
    ["train", "--config", "{junk}"],
    ["train", "--resume", "{junk}"],
    ["train", "--wrappers", "{junk}"],
    ["train", "--loss.{junk}", "1"],
    ["evaluate", "{junk}", "--evaluation.batch_size", "{number}"],
    ["query", "{junk}", "{junk}"],
    ["embed", "{junk}", "test"],
    ["runs", "report", "{junk}", "--format", "{junk}"],
    ["runs", "report", "nosuch", "--split", "{junk}"],
    ["papers", "figure", "h_minus", "--width", "{number}", "--save", "x.png"],
    ["papers", "figure", "h_minus", "--save", "x.{junk}"],
    ["list", "losses", "{junk}"],
    ["list", "{junk}"],
    ["list", "data", "{junk}", "nowhere"],
    ["list", "data", "{junk}", "nowhere", "--download"],
    ["runs", "queue", "add", "{junk}"],
    ["runs", "queue", "move", "nosuch", "{number}"],
    ["runs", "stop", "{junk}"],
    ["list", "recipes", "{junk}"],
    ["runs", "show", "{junk}"],
    ["doctor", "bench", "{junk}"],
    ["papers", "claims", "run", "--only", "{junk}"],
    ["papers", "claims", "run", "--seeds", "{number}"],
    ["papers", "protocol", "{junk}"],
    ["app", "--port", "{number}"],
    ["demo", "--steps=-{number}"],
    ["doctor", "--{junk}"],
]


class Believed(Exception):
    """A bad input was taken for a good one: real work would have begun."""


@contextlib.contextmanager
def no_work() -> Iterator[None]:
    """Nothing is trained, served or measured meanwhile, and what is written goes into a folder of its own."""

    def believed(*_, **__):
        raise Believed("it was believed")

    before = Path.cwd()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for name in (
            "lab.runs.create",
            "lab.runs.execute",
            "os.execv",
            "lab.evaluation.pixels.embed_pixels",
        ):
            stack.enter_context(mock.patch(name, believed))
        stack.callback(os.chdir, before)
        os.chdir(folder)
        yield


def bad_words(knob: Knob, chance: random.Random) -> str | None:
    """A word that no value of the knob is written as; None where every word is one."""
    if knob.choices:
        return chance.choice(["nosuch", "None ", "\n", "0", knob.choices[0] + "x"])
    if knob.kind is bool:
        return chance.choice(["maybe", "2", "", "yes no", "TrueFalse", "true"])
    if knob.kind not in (int, float):
        return None
    return chance.choice(
        [*_outside(knob), "x", "", "1.5.2", "NaN", "inf", "1e999", "0x1z", "①", "9" * 400 + "x"]
    )


def _outside(knob: Knob) -> list[str]:
    low, high = (
        knob.ge if knob.ge is not None else knob.gt,
        knob.le if knob.le is not None else knob.lt,
    )
    return [
        str(edge)
        for edge in (None if low is None else low - 1, None if high is None else high + 1)
        if edge is not None
    ]


def inputs(seed: int) -> Iterator[list[str]]:
    """Bad words for the command without end, the same for the same seed."""
    chance = random.Random(seed)
    while True:
        if chance.random() < 0.5:
            junk, number = chance.choice(JUNK), chance.choice(NUMBERS)
            yield [
                word.replace("{junk}", junk).replace("{number}", number)
                for word in chance.choice(COMMANDS)
            ]
        elif words := _flag(chance):
            yield words


def _flag(chance: random.Random) -> list[str] | None:
    """`lab train` with a bad word for one declared knob."""
    section = chance.choice(list(SECTIONS.values()))
    name = chance.choice(section.names()) if section.package else None
    knobs = describe(section.knobs_of(name))
    knob = chance.choice(knobs) if knobs else None
    word = knob and bad_words(knob, chance)
    if knob is None or word is None:
        return None
    chosen = [f"--{section.name}", name] if name else []
    prefix = f"{section.name}.{name}" if section.many else section.name
    return ["train", *chosen, f"--{prefix}.{knob.name}={word}"]


def _said(words: list[str]) -> str:
    """What the command says of these words on its way out with status 2 (or 1).

    Raises:
        AssertionError: it ends well, or with another status.
    """
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = command(words)
        except SystemExit as end:
            status = end.code
    assert status in (1, 2), f"ended with {status}; said {said.getvalue()[:200]!r}"
    return said.getvalue().strip("\n")


def trouble(words: list[str]) -> str | None:
    """What is wrong with the answer to bad words; None for one sentence."""
    try:
        said = _said(words)
    except AssertionError as error:
        return str(error)
    except BaseException as error:  # anything but a sentence is what is looked for
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    if not said:
        return "said nothing"
    if "it was believed" in said:
        return "was believed"
    if "\n" in said:
        return f"said {said.count(chr(10)) + 1} lines: {said[:200]!r}"
    if len(said) > LONGEST:
        return f"said {len(said):,} characters: {said[:100]!r}"
    if found := NOT_A_SENTENCE.search(said):
        return f"said {found[0]!r}: {said[:300]}"
    return f"said half a sentence: {said[-200:]}" if said[-1] in ",:;(" else None


def campaign(count: int, seed: int) -> list[tuple[str, str]]:
    """Try `count` bad inputs; returns those that did not end in a sentence, with what is wrong."""
    with no_work():
        tried = (
            (words, trouble(words)) for words, _ in zip(inputs(seed), range(count), strict=False)
        )
        return [(f"lab {words}", wrong) for words, wrong in tried if wrong]


def main() -> None:
    from common import (  # which chooses kernels, and is no matter of the tests that import this
        arguments,
        conclude,
    )

    asked, began = arguments(__doc__.splitlines()[0], 1000), time.monotonic()
    failed = [f"{words[:300]}: {wrong}" for words, wrong in campaign(asked.trials, asked.seed)]
    conclude("bad inputs", asked.trials, failed, asked.seed, began, "commands and flags")


if __name__ == "__main__":
    main()
