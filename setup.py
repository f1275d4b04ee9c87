"""What pyproject.toml cannot say: notebooks and documents go into the wheel, and README's links to files do not."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent

SHIPPED = {"notebooks": "*.*", "docs": "*.md"}
"""Folders beside the package that an installation holds inside it, and which of their files: lab.install.shipped."""


class BuildWithTutorials(build_py):
    """Puts the tutorials and documents into the package; an editable installation reads them where they are."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for folder, files in SHIPPED.items():
            target = Path(self.build_lib) / "lab" / folder
            shutil.rmtree(target, ignore_errors=True)  # what an earlier build left
            target.mkdir(parents=True)
            for source in sorted((HERE / folder).glob(files)):
                shutil.copyfile(source, target / source.name)


def description() -> str:
    """README as a page of its own: without the pictures, and with the names of files where it has links to them."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    pictures = r"!\[[^\]]*\]\((?!https?:)[^)]*\)"
    text = re.sub(rf"^{pictures}\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(pictures, "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)


setup(
    cmdclass={"build_py": BuildWithTutorials},
    long_description=description(),
    long_description_content_type="text/markdown",
)
