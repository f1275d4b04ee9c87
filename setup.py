"""What pyproject.toml cannot say: notebooks and documents go into the wheel, and README's links to files do not."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

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


def description() -> str:
    """README as a page of its own: without the pictures, and with the names of files where it has links to them."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    pictures = r"!\[[^\]]*\]\((?!https?:)[^)]*\)"
    text = re.sub(rf"^{pictures}\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(pictures, "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)


setup(
    cmdclass={"build_py": BuildWithShipped},
    long_description=description(),
    long_description_content_type="text/markdown",
)
