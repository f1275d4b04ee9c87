"""Open JupyterLab on a working copy of the lessons.

Your copy keeps what you write in it; the originals are never touched. Notebooks that it lacks, new ones and those that
you moved away, are added.
`lab learn --class FOLDER` prepares them for a class instead: without solutions for students, solved for the teacher.
`lab learn --slides 3` writes one as slides.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from lab.cli._output import say
from lab.core.explain import need
from lab.core.files import write_text

HEADING = "See and learn"
PLACE = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("--folder", default="my-notebooks", help="folder of your copy (default my-notebooks)")
    flag("--port", type=int, default=8888, help="port to listen on (default 8888)")
    flag("--no-browser", action="store_true", help="do not open a browser window")
    classroom = "open nothing: write student/ (without solutions), teacher/ (solved) and a syllabus into this folder"
    flag("--class", dest="classroom", metavar="FOLDER", help=classroom)
    repository = "with --class: your copy of Rankscope on GitHub, for links that open the notebooks in Colab and Binder"
    flag("--repository", metavar="OWNER/NAME", default="", help=repository)
    slides = "open nothing: write this notebook as slides, one HTML file with live figures"
    flag("--slides", metavar="NOTEBOOK", help=slides)


def run(arguments: argparse.Namespace) -> None:
    from lab.core.installed import children, shipped

    need("This", "notebooks", "nbformat", "jupyterlab")
    if arguments.classroom:
        from lab.cli._classroom import prepare

        names = prepare(
            shipped.folder("notebooks"), Path(arguments.classroom), arguments.repository
        )
        say(
            f"{len(names)} notebooks for students and for the teacher, and SYLLABUS.md, are in {arguments.classroom}."
        )
        return
    if arguments.slides:
        from lab.cli._slides import write

        print(write(shipped.folder("notebooks"), arguments.slides))
        return
    copy = Path(arguments.folder)
    originals = shipped.folder("notebooks")
    added = working_copy(originals, copy)
    say(f"Your notebooks are in {copy} ({len(added)} new). Stop JupyterLab with Ctrl-C.")
    words = children.python(
        "-m", "jupyterlab", f"--port={arguments.port}", f"--notebook-dir={copy}", "--ip=127.0.0.1"
    )
    # no network
    words += [
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")
    if arguments.no_browser:
        words.append("--no-browser")
    # These defaults come before the reader's own settings: JupyterLab would ask whether to fetch news.
    folders = [str(Path(__file__).parent / "jupyter")]
    if os.environ.get("JUPYTER_CONFIG_PATH"):
        folders.append(os.environ["JUPYTER_CONFIG_PATH"])
    os.execve(
        words[0], words, children.environment({"JUPYTER_CONFIG_PATH": os.pathsep.join(folders)})
    )


def working_copy(originals: Path, copy: Path) -> list[str]:
    """Copy every notebook that the copy lacks, and the whole lab in one file; returns their names.

    Raises:
        ValueError: the originals are not there, or the copy is the originals.
    """
    from lab.cli._classroom import copy_docs

    sources = sorted(originals.glob("*.ipynb"))
    if not sources:
        raise ValueError(f"There are no notebooks in {originals}; install Rankscope again.")
    if copy.resolve() == originals.resolve():
        raise ValueError(
            "The working copy must be another folder than the originals; give --folder another name."
        )
    copy.mkdir(parents=True, exist_ok=True)
    sources += originals.glob("whole_lab.py")
    added = [source.name for source in sources if not (copy / source.name).exists()]
    for name in added:  # links to `../docs` lead to the copy's own `docs`
        text = (originals / name).read_text(encoding="utf-8").replace("](../docs/", "](docs/")
        write_text(copy / name, text)
    copy_docs(originals, copy)
    return added
