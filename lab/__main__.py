"""The command `lab`: finds the command's file, reads its flags, turns every expected failure into one sentence."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed or the command's own no, 2 a mistake in what was
    asked, 128 and the signal's number (130 for Ctrl-C) when it was stopped."""
    try:
        import lab.core  # noqa: F401 (refuses to load where another package named lab was installed over this one)
    except ImportError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    from lab.cli import parse
    from lab.cli._output import complain, quiet

    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the shell, with >&-
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115 (for the life of the process)
        elif hasattr(
            getattr(sys, stream), "reconfigure"
        ):  # a class may have a name that the terminal cannot show
            getattr(sys, stream).reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--no-color" in words:
        os.environ["NO_COLOR"] = "1"
    command = None
    try:
        try:
            command, parsed = parse(words)
            quiet.set(getattr(parsed, "quiet", False))
            return 0 if command is None else command.run(parsed) or 0
        finally:
            _flush()
    except KeyboardInterrupt:
        complain("Interrupted.")
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nobody is left to tell
        return 0
    except Exception as error:
        if "--debug" in words:
            raise
        from lab.core.arrays import Damaged
        from lab.core.explain import explain

        complain(
            explain(error, resumable=command is not None and command.__name__ == "lab.cli.train")
        )
        return 2 if isinstance(error, ValueError) and not isinstance(error, Damaged) else 1


def _flush() -> None:
    """Write what is left of the output now, while somebody can still be told that it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            sys.stdout.close()  # or Python tries it once more at the end, and complains in words of its own
        raise


if __name__ == "__main__":
    # what is loaded stays: looking through it for garbage, again and again, takes .3 s
    gc.set_threshold(5_000)
    sys.exit(main())
