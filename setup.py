"""What pyproject.toml cannot say: notebooks and documents go into the wheel, README's links to files do not, and an
editable installation shows `lab` alone."""

import os
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

HERE = Path(__file__).parent

SHIPPED = {"notebooks": "*.*", "docs": "*.md", "app": "**/*.*"}
"""Folders beside the package that an installation holds below lab/_shipped, and which of their files."""


class BuildWithShipped(build_py):
    """Puts tutorials, documents and dashboard into the package; an editable installation reads them where they are."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for folder, files in SHIPPED.items():
            target = Path(self.build_lib) / "lab" / "_shipped" / folder
            shutil.rmtree(target, ignore_errors=True)  # what an earlier build left
            for source in sorted((HERE / folder).glob(files)):
                if source.is_file() and source.suffix != ".pyc":
                    made = target / source.relative_to(HERE / folder)
                    made.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, made)


class EditableLab(editable_wheel):
    """Puts a folder on the path that holds nothing but a link to `lab`; new files are seen at once.

    Type checkers follow a path, and no import hook. A path to the checkout would make `app`, `tests` and `scripts`
    importable everywhere.
    """

    def finalize_options(self):
        folder = HERE / ".editable"
        folder.mkdir(exist_ok=True)
        link = folder / "lab"
        if not link.exists():
            link.unlink(missing_ok=True)  # it leads nowhere: the checkout was moved or copied
            link.symlink_to(Path("..", "lab"), target_is_directory=True)
        self.distribution.package_dir = {"": folder.name}
        super().finalize_options()


def description() -> str:
    """README as a page of its own: without the pictures, and with the names of files where it has links to them.

    Where RANKSCOPE_FILES says below which address the files of this repository can be read, both stay, absolute.
    """
    text = (HERE / "README.md").read_text(encoding="utf-8")
    if files := os.environ.get("RANKSCOPE_FILES", "").rstrip("/"):
        return re.sub(r"\]\((?!https?:|#)([^)]*)\)", lambda link: f"]({files}/{link[1]})", text)
    pictures = r"!\[[^\]]*\]\((?!https?:)[^)]*\)"
    text = re.sub(rf"^{pictures}\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(pictures, "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)


setup(
    cmdclass={"build_py": BuildWithShipped, "editable_wheel": EditableLab},
    long_description=description(),
    long_description_content_type="text/markdown",
)
