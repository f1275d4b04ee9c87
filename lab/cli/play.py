"""Open the ranking playground: losses that move pictures.

`lab play` writes one file and opens it; the page asks no host for anything, and can be mailed. With a run, images of
the run are handed over, in the space of its embeddings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.cli._output import add_flags, say

HEADING = "See and learn"
PLACE = 33


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", help="take images of this run, by default the bundled emoji"
    )
    add_flags(parser, "runs", "allow")
    parser.add_argument(
        "--split", default="test", help="split whose images are taken (default test)"
    )
    parser.add_argument(
        "--output", default="playground.html", help="file to write (default playground.html)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="write the file and do not open it"
    )


def run(arguments: argparse.Namespace) -> None:
    import webbrowser

    from lab import playground
    from lab.core.files import write_text

    if arguments.run:
        from lab import runs

        chosen = runs.open(arguments.run, arguments.runs, arguments.allow)
        html = playground.of_batch(chosen.embeddings(arguments.split), chosen.dataset())
    else:
        html = playground.page()
    path = Path(arguments.output)
    write_text(path, html)
    say(f"The playground is in {path}: open it in a browser.")
    if not arguments.no_browser:
        webbrowser.open(path.resolve().as_uri())
