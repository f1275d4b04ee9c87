"""Print a script that completes commands and flags in your shell.

bash: `lab completion bash > ~/.local/share/bash-completion/completions/lab`; zsh: `lab completion zsh > _lab`, in a
folder of $fpath; tcsh: `lab completion tcsh`, to be sourced. Flags of another choice than the default (`--loss NAME`)
are in `lab train --loss NAME --help`.
"""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="shell to print the script for")


def run(arguments: argparse.Namespace) -> int:
    from lab.cli import parser_of

    try:
        import shtab
    except ImportError:
        raise ValueError("Completion needs shtab: pip install shtab, or 'rankscope[app]'.") from None
    print(shtab.complete(parser_of([], complete=True)[0], arguments.shell))
    return 0
