"""Notebooks as pages: stored outputs, live figures in the place of stills, formulas as MathML."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path
from typing import Any

from lab.cli._slides import FORMULA, mathml, shown
from scripts.website import places

CODE = re.compile(r"(`[^`\n]+`)")


def formulas(text: str) -> str:
    """The text with its formulas as MathML."""

    def drawn(match: re.Match[str]) -> str:
        if match[1]:
            return f'\n\n<div class="formula">{mathml(match[1], "block")}</div>\n\n'
        return mathml(match[2], "inline")

    def change(part: str) -> str:
        bits = CODE.split(part)
        return "".join(bit if i % 2 else FORMULA.sub(drawn, bit) for i, bit in enumerate(bits))

    return places.outside_code(text, change)


def page_of(path: Path, figures: Any) -> tuple[str, dict[str, bytes]]:
    """A notebook's page, and the pictures that it shows by name.

    `figures.live(name, knobs)` gives the place of a live figure.
    """
    import nbformat

    source, page = f"notebooks/{path.name}", f"lessons/{path.stem}.md"
    parts, pictures = [], {}
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            text = re.sub(r"<details>", '<details markdown="1">', cell.source)
            parts.append(formulas(places.rewritten(text, source, page)))
            continue
        if not cell.metadata.get("jupyter", {}).get("source_hidden"):  # a prediction's source holds its answer
            parts.append(f"```python\n{cell.source}\n```")
        figure = shown(cell.source)
        if figure:
            parts.append(figures.live(*figure))
            continue
        for output in cell.outputs:
            text, picture = _output(output, f"{path.stem}-{number}.png")
            parts.append(text)
            pictures |= picture
    return "\n\n".join(filter(None, parts)) + "\n", pictures


def _output(output: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """One output of a cell as Markdown, and its picture."""
    if output.output_type == "stream":
        return f'<pre class="output">{escape(output.text.rstrip())}</pre>', {}
    data = output.get("data", {})
    words = "".join(data.get("text/plain", ""))
    if "image/png" in data:
        alt = "What the cell above draws." if words.startswith("<") else words
        return f'<img class="output" src="../images/lessons/{name}" alt="{escape(alt)}" loading="lazy">', {
            name: base64.b64decode(data["image/png"])
        }
    if "text/html" in data:
        return f'<div class="output">{_flat("".join(data["text/html"]))}</div>', {}
    return (f'<pre class="output">{escape(words)}</pre>', {}) if words else ("", {})


def _flat(html: str) -> str:
    """Without blank lines, at which Markdown would take over again."""
    return re.sub(r"\n\s*\n", "\n", html)
