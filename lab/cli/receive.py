"""Unpack and check what somebody sent, and list what it asks for.

ARCHIVE is a ZIP or a tar (.tar.gz, .tgz, ...) of one run folder or one model folder. It is unpacked into the folder
of runs. Links, programs, damaged files and paths that lead elsewhere are refused, and nothing is left behind then.
Nothing of it is run or fetched. What the folder names outside itself (paths, addresses, downloads, programs) is listed
with what a person types to allow it.
"""

from __future__ import annotations

import argparse
import shlex

from lab.cli._output import add_flags, print_json, show

HEADING = "Search and exchange"
PLACE = 25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("archive", metavar="ARCHIVE", help="ZIP or tar of a run folder or a model folder")
    into = "folder of runs that it is put into (default $LAB_RUNS, else runs)"
    flag("--into", metavar="FOLDER", help=into)
    flag("--name", help="name of the new folder (default that of the packed one)")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    from lab.runs.receiving import receive

    received = receive(arguments.archive, arguments.into, arguments.name)
    path = str(received.run.path)
    # List what the run names outside its folder, and the flags that allow it.
    wishes = []
    rights = []
    for reference in received.references:
        permission = "allowed" if reference.allowed else reference.right
        wishes.append(
            {
                "names": reference.value,
                "kind": reference.kind,
                "in": reference.knob,
                "to allow it": permission,
            }
        )
        if not reference.allowed and reference.kind != "program" and reference.right not in rights:
            rights.append(reference.right)
    # Suggest the next command.
    words = ["lab", "runs", shlex.quote(path)]
    if received.published:
        words = ["lab", "query", shlex.quote(path), "photo.jpg", "--gallery", "FOLDER", *rights]
    following = " ".join(words)
    if arguments.json:
        facts = {
            "path": path,
            "holds": received.holds,
            "references": wishes,
            "left_out": received.left_out,
        }
        print_json({**facts, "next": following})
        return
    print(f"Received {path}:")
    for sentence in received.holds:
        print(f"  {sentence}")
    if received.left_out:
        listed = ", ".join(received.left_out[:5])
        if len(received.left_out) > 5:
            listed += ", ..."
        print(f"Left out, as no part of a run: {listed}")
    if wishes:
        print("It would like to read what lies outside its folder:")
    show(wishes, as_json=False, empty="It names nothing outside its folder.")
    print(f"Next: {following}")
