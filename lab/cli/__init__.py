"""The commands of `lab`, one file each. A file's name is the command; its docstring's first line is the help.

A folder is a group: its files are verbs (`lab runs watch RUN`), its `__init__` is what it does without one.

A command says where `lab --help` shows it, `HEADING, PLACE = "Train and measure", 10` (a verb says nothing, it is shown
by its group), and defines `add_arguments(parser)` and `run(arguments)`; what is heavy it imports inside `run`, so that
`lab --help` stays quick. A command that knows its flags only after some of them were read (`lab train --loss ...`)
defines `add_arguments(parser, words)` and looks at the words behind its name itself. `USUAL` names the flags that
`--help` shows of a command with very many; `--help-all` shows the rest.

Flags that mean the same everywhere may stand before the command, too: `lab --json runs`.
"""

from lab.cli._parsing import load, names, parse, rearranged

__all__ = ["load", "names", "parse", "rearranged"]
