"""Bad inputs over every command and every declared knob; each must end in one sentence.

    python scripts/soak/bad_inputs.py --trials 1000

The command's `main` is called in this process, as Python callers call the catalogues. What would begin real work (a
run, a server) is taken away first, so an input that is believed counts as a failure, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import lab.data
import lab.encoders
import lab.losses
import lab.metrics
import lab.reranking
import lab.runs
import lab.samplers
import lab.search
import lab.training.optimisers
import lab.training.schedules
import lab.wrappers
from lab.__main__ import main as command
from lab.core.knobs import Knob, describe
from lab.runs.config import SECTIONS, RunConfig

CATALOGUES = {
    "losses": lab.losses,
    "metrics": lab.metrics,
    "samplers": lab.samplers,
    "encoders": lab.encoders,
    "data": lab.data,
    "search": lab.search,
    "reranking": lab.reranking,
    "wrappers": lab.wrappers,
    "optimisers": lab.training.optimisers,
    "schedules": lab.training.schedules,
}
JUNK = [
    "",
    " ",
    "nosuch",
    "../..",
    "a/b",
    "é",
    "💥",
    "none of these",
    "x" * 300,
    "NaN",
    "0x10",
    "1e999",
    "\x1b[31m",
    "%s{}",
]
NUMBERS = ["", "x", "-1", "1.5.2", "NaN", "inf", "-inf", "1e999", "9" * 400, "0x10", "①", "--", "true"]
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
    ["train", "--metrics", "{junk}"],
    ["train", "--wrappers", "{junk}"],
    ["train", "--loss.{junk}", "1"],
    ["evaluate", "{junk}"],
    ["evaluate", "{junk}", "--evaluation.batch_size", "{number}"],
    ["query", "{junk}", "{junk}"],
    ["embed", "{junk}", "test"],
    ["report", "{junk}"],
    ["report", "{junk}", "--format", "{junk}"],
    ["report", "nosuch", "--level", "{number}"],
    ["figures", "{junk}"],
    ["figures", "h_minus", "--width", "{number}", "--save", "x.png"],
    ["figures", "h_minus", "--save", "x.{junk}"],
    ["losses", "{junk}"],
    ["metrics", "{junk}"],
    ["data", "{junk}"],
    ["data", "check", "{junk}", "nowhere"],
    ["data", "download", "{junk}", "nowhere"],
    ["queue", "{junk}"],
    ["queue", "add", "{junk}"],
    ["queue", "move", "nosuch", "{number}"],
    ["queue", "remove", "{junk}"],
    ["stop", "{junk}"],
    ["recipes", "{junk}"],
    ["runs", "show", "{junk}"],
    ["runs", "{junk}"],
    ["bench", "{junk}"],
    ["claims", "{junk}"],
    ["claims", "run", "--only", "{junk}"],
    ["claims", "run", "--seeds", "{number}"],
    ["protocol", "{junk}"],
    ["app", "--port", "{number}"],
    ["demo", "--steps=-{number}"],
    ["doctor", "--{junk}"],
]


class Believed(Exception):
    """A bad input was taken for a good one: real work would have begun."""


@dataclass(frozen=True)
class Bad:
    """One bad input: what it is, in words, and how to try it. `call` returns what was said."""

    words: str
    call: Callable[[], str]


@contextlib.contextmanager
def no_work() -> Iterator[None]:
    """Nothing is trained, served or measured meanwhile, and what is written goes into a folder of its own."""

    def believed(*_, **__):
        raise Believed("it was believed")

    before = Path.cwd()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for name in ("lab.runs.create", "lab.runs.execute", "os.execv", "lab.evaluation.pixels.embed_pixels"):
            stack.enter_context(mock.patch(name, believed))
        stack.callback(os.chdir, before)
        os.chdir(folder)
        yield


def bad_words(knob: Knob, chance: random.Random) -> str | None:
    """A word that no value of the knob is written as; None where every word is one."""
    if knob.choices:
        return chance.choice(["nosuch", "None ", "\n", "0", knob.choices[0] + "x"])
    if knob.kind is bool:
        return chance.choice(["maybe", "2", "", "yes no", "TrueFalse"])
    if knob.kind not in (int, float):
        return None
    return chance.choice([*_outside(knob), "x", "", "1.5.2", "NaN", "inf", "1e999", "0x1z", "①", "9" * 400 + "x"])


def bad_value(knob: Knob, chance: random.Random) -> Any:
    """A value that the knob cannot have; None where there is none."""
    if knob.choices:
        return chance.choice(["nosuch", 7, ["a"], {"a": 1}])
    if knob.kind is bool:
        return chance.choice(["maybe", 2, [True], {}, 1.5])
    if knob.kind not in (int, float):
        return chance.choice([7, ["a", 1], {"a": "b"}, 1.5, True])
    return chance.choice(
        [*(knob.kind(float(word)) for word in _outside(knob)), "x", [[1]], {"a": 1}, float("nan"), float("inf")]
    )


def _outside(knob: Knob) -> list[str]:
    low, high = knob.ge if knob.ge is not None else knob.gt, knob.le if knob.le is not None else knob.lt
    return [
        str(edge) for edge in (None if low is None else low - 1, None if high is None else high + 1) if edge is not None
    ]


def inputs(seed: int) -> Iterator[Bad]:
    """Bad inputs without end, the same for the same seed."""
    chance = random.Random(seed)
    kinds = [_command, _flag, _section, _entry, _unknown_knob]
    while True:
        made = chance.choice(kinds)(chance)
        if made is not None:
            yield made


def _command(chance: random.Random) -> Bad:
    """A command with junk where a name, a file or a number belongs."""
    fill = {"junk": chance.choice(JUNK), "number": chance.choice(NUMBERS)}
    return _called(
        [word.replace("{junk}", fill["junk"]).replace("{number}", fill["number"]) for word in chance.choice(COMMANDS)]
    )


def _flag(chance: random.Random) -> Bad | None:
    """`lab train` with a bad word for one declared knob."""
    section, name, knob = _knob(chance)
    word = bad_words(knob, chance)
    if word is None:
        return None
    chosen = [f"--{section.name}", name] if name else []
    prefix = f"{section.name}.{name}" if section.many else section.name
    return _called(["train", *chosen, f"--{prefix}.{knob.name}={word}"])


def _section(chance: random.Random) -> Bad:
    """A configuration, as YAML gives it, with one bad value."""
    section, name, knob = _knob(chance)
    entry = ({"name": name} if name else {}) | {knob.name: bad_value(knob, chance)}
    given = {section.name: [entry] if section.many else entry}
    return Bad(f"RunConfig.of({given!r})", lambda: _refused(lambda: RunConfig.of(given)))


def _entry(chance: random.Random) -> Bad | None:
    """A loss, a metric, ... made in Python with one bad value."""
    kind = chance.choice(list(CATALOGUES))
    name = chance.choice(CATALOGUES[kind].names())
    knobs = [knob for knob in describe(CATALOGUES[kind].get(name).Knobs)]
    if not knobs:
        return None
    knob = chance.choice(knobs)
    value = bad_value(knob, chance)
    words = f"lab.{kind}.get({name!r}).Knobs({knob.name}={value!r})"
    return Bad(words, lambda: _refused(lambda: CATALOGUES[kind].get(name).Knobs(**{knob.name: value})))


def _unknown_knob(chance: random.Random) -> Bad:
    """An entry or a knob that there is not."""
    kind, word = chance.choice(list(CATALOGUES)), chance.choice([w for w in JUNK if w])
    if chance.random() < 0.5:
        return Bad(f"lab.{kind}.create({word[:60]!r})", lambda: _refused(lambda: CATALOGUES[kind].create(word)))
    name = chance.choice(CATALOGUES[kind].names())
    words = f"lab.{kind}.get({name!r}).Knobs(**{{{word[:60]!r}: 1}})"
    return Bad(words, lambda: _refused(lambda: CATALOGUES[kind].get(name).Knobs(**{word: 1})))


def _knob(chance: random.Random):
    while True:
        section = chance.choice(list(SECTIONS.values()))
        name = chance.choice(section.names()) if section.package else None
        knobs = describe(section.knobs_of(name))
        if knobs:
            return section, name, chance.choice(knobs)


def _called(words: list[str]) -> Bad:
    return Bad("lab " + " ".join(repr(word[:60]) for word in words), lambda: _said(words))


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


def _refused(make: Callable[[], Any]) -> str:
    try:
        made = make()
    except ValueError as error:
        return str(error)
    raise AssertionError(f"was believed: {str(made)[:100]}")


def trouble(bad: Bad) -> str | None:
    """What is wrong with the answer to a bad input; None for one sentence."""
    try:
        said = bad.call()
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
        tried = ((bad, trouble(bad)) for bad, _ in zip(inputs(seed), range(count), strict=False))
        return [(bad.words, wrong) for bad, wrong in tried if wrong]


def main() -> None:
    from common import arguments, conclude  # which chooses kernels, and is no matter of the tests that import this

    asked, began = arguments(__doc__.splitlines()[0], 1000), time.monotonic()
    failed = [f"{words[:300]}: {wrong}" for words, wrong in campaign(asked.trials, asked.seed)]
    conclude("bad inputs", asked.trials, failed, asked.seed, began, "commands, flags, YAML, catalogues")


if __name__ == "__main__":
    main()
