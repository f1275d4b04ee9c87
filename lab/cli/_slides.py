"""A notebook as slides: one file of HTML with live figures, which asks no other host for anything.

A cell's metadata `slide` holds its lines on a slide: of a text, which then stands below them as the speaker's notes, or
of a prediction, whose answer they are. In a notebook without any, each headed part is a slide. Each figure is one, too;
code stays in the notebook. Arrow keys turn the pages, the key n shows notes.
"""

from __future__ import annotations

import ast
import base64
import gzip
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.core.files import write_text
from lab.core.web_page import filled

if TYPE_CHECKING:
    from lab.figures import Figure

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+(?:\n[^$\n]+)?)\$", re.DOTALL)
STOPS = (13, 5)
"""Positions of a figure's first slider and of its second; a talk has several figures in one file."""


def write(originals: Path, name: str) -> Path:
    """Write `NAME.slides.html` into the current folder; returns its path.

    Raises:
        ValueError: there is no such notebook.
    """
    import nbformat

    matches = sorted(originals.glob(f"{Path(name).stem}*.ipynb"))
    if len(matches) != 1:
        titles = ", ".join(path.stem for path in sorted(originals.glob("*.ipynb")))
        raise ValueError(f"There is no notebook {name!r}; there are {titles}.")
    target = Path(f"{matches[0].stem}.slides.html")
    write_text(target, page(nbformat.read(matches[0], as_version=4)))
    return target


def page(notebook: Any) -> str:
    """The slides of a notebook, without its solutions."""
    import lab.figures
    from lab.figures import live_page

    slides: list[str] = []
    data: list[str] = []
    written = any("slide" in cell.metadata for cell in notebook.cells)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("<details>"):
            continue
        if "slide" in cell.metadata:
            slides.append(_talk(cell))
        elif cell.cell_type == "markdown":
            if not written:  # each headed part is a slide
                slides += [
                    _words(part) for part in re.split(r"(?m)^(?=## )", cell.source) if part.strip()
                ]
        elif figure := shown(cell.source):
            drawn = lab.figures.create(figure.name, **figure.knobs)
            data.append(live_page.packed_pictures(drawn, most=STOPS)[0].decode())
            slides.append(_place(drawn, len(data) - 1))
        else:
            slides += filter(None, map(_picture, cell.get("outputs", ())))
    # The page is one file: its scripts, styles and pictures are within it.
    blanks = {
        "TITLE": escape(notebook.cells[0].source.split("\n")[0].removeprefix("# ")),
        "SLIDES": "\n".join(
            f"<section>{slide}</section>" for slide in slides if "Solutions" not in slide[:20]
        ),
        "DATA": "\n".join(
            f'<script class="pictures" type="text/plain">{packed}</script>' for packed in data
        ),
        "LIVE": live_page.script(),
        "STYLE": live_page.DRAG_CSS.read_text(encoding="utf-8"),
        "PLOTLY": base64.b64encode(
            gzip.compress(live_page.plotly_js(()).encode(), 9, mtime=0)
        ).decode(),
    }
    return filled(Path(__file__).with_name("slides.html"), blanks)


class Shown(NamedTuple):
    """A figure in a cell: its name, and where its knobs start."""

    name: str
    knobs: dict[str, Any]


def shown(source: str) -> Shown | None:
    """Return the figure that a cell ends with; None if there is none, or if its settings exist in the kernel only."""
    try:
        last = ast.parse(source).body[-1:]
    except SyntaxError:
        return None
    if not last or not isinstance(last[0], ast.Expr):
        return None
    call = last[0].value
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "show" and call.args):
        return None
    try:
        knobs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return Shown(ast.literal_eval(call.args[0]), knobs)
    except ValueError:  # of runs that only the notebook has
        return None


def _place(figure: Figure, number: int) -> str:
    from lab.figures.live_page import trained_words

    kind = type(figure)
    return (
        f'<h2>{escape(kind.question)}</h2><div class="live fits" data-number="{number}"><form class="knobs"></form>'
        f'<div class="picture"></div><p class="words"></p><code class="code"></code></div>'
        f"<p>{escape(kind.origin())}. {trained_words(figure)}</p>"
    )


def _talk(cell: Any) -> str:
    """Return the slide of a cell: for a text its words as notes below the lines, for a prediction the answer folded."""
    lines = _words(cell.metadata["slide"])
    if cell.cell_type == "markdown":
        heading = re.search(r"(?m)^##? .+$", cell.source)
        top = _words(heading[0]) if heading else ""
        return f'{top}{lines}<aside class="notes">{_words(cell.source)}</aside>'
    call: Any = ast.parse(cell.source).body[0]
    question = ast.literal_eval(call.value.args[0])
    return f"<h2>Predict</h2>{_words(question)}<details><summary>Answer</summary>{lines}</details>"


def _words(text: str) -> str:
    """Markdown as HTML, formulas as MathML, which browsers draw without a script."""
    from nbconvert.filters import markdown2html

    formulas: list[str] = []

    def kept(match: re.Match[str]) -> str:
        formulas.append(mathml(match[1] or match[2], "block" if match[1] else "inline"))
        return f"FORMULA{len(formulas) - 1}END"

    html = markdown2html(FORMULA.sub(kept, text)).replace("&#182;", "")
    return re.sub(r"FORMULA(\d+)END", lambda match: formulas[int(match[1])], html)


def mathml(text: str, display: str) -> str:
    """A formula in LaTeX as MathML, `inline` or `block`, which browsers draw without any script or font of ours."""
    from latex2mathml.converter import convert

    return convert(text.strip(), display=display)


def _picture(output: Any) -> str:
    data = output.get("data", {})
    if "image/png" not in data:
        return ""
    return f'<img src="data:image/png;base64,{data["image/png"].strip()}" alt="{escape(data.get("text/plain", ""))}">'
