"""Notebooks as pages: stored outputs, live figures in the place of stills, formulas as MathML, questions to answer."""

from __future__ import annotations

import ast
import base64
import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from lab.cli._classroom import answers
from lab.cli._slides import FORMULA, mathml, shown
from scripts.website import places

NOTEBOOKS = places.ROOT / "notebooks"
CODE = re.compile(r"(`[^`\n]+`)")
PLACE = r'data-figure="([^"]+)"'
NUMBERS = re.compile(r"[\w, ]+ = [\d.,*+/() -]+")
"""A solution that is nothing but numbers: its exercise can be answered in the page."""
SEARCHES = (
    "A search a row: who asks, and what was found, nearest first, with right and wrong marked."
)


def formulas(text: str) -> str:
    """The text with its formulas as MathML."""

    def drawn(match: re.Match[str]) -> str:
        if match[1]:
            block = mathml(match[1], "block").replace(
                'columnalign="left"', 'style="text-align: left"'
            )
            return f'\n\n<div class="formula" tabindex="0">{block}</div>\n\n'
        return f"<span>{mathml(match[2], 'inline')}</span>"  # at the start of a line a bare one would be a block

    def change(part: str) -> str:
        bits = CODE.split(part)
        return "".join(bit if i % 2 else FORMULA.sub(drawn, bit) for i, bit in enumerate(bits))

    return places.outside_code(text, change)


def with_doors(page: str, path: Path, repository: str = "") -> str:
    """The page with what else one can do with its notebook, below the title."""
    doors = [
        f"{minutes()[path.stem]} minutes",
        f'<a href="{path.name}" download>Download the notebook</a>',
    ]
    if repository:
        colab = (
            f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{path.name}"
        )
        doors.append(
            f'<a href="{colab}">Open in Colab</a> (<a href="classroom.html#binder-and-colab">untried</a>)'
        )
    title, rest = page.split("\n", 1)
    return f'{title}\n\n<p class="doors">{" · ".join(doors)} · in Python: <code>lab learn</code></p>\n{rest}'


def card(page: str, path: Path, figures: Any) -> str:
    """A lesson among the others: its first figure, its question, and how long it takes."""
    title = escape(page.split("\n", 1)[0].removeprefix("# "))
    (question,), name = (
        re.findall(r"(?s)\*\*Question\.\*\* (.+?)\n\n", page),
        re.findall(PLACE, page)[0].split("-")[0],
    )
    picture = (
        f'<img src="../images/figures/{name}.webp" alt="" loading="lazy">'
        if figures.thumbnail(name)
        else ""
    )
    words = f"<strong>{title}</strong>{question}<span>{minutes()[path.stem]} minutes</span>"
    return f'<a href="{path.stem}.html" class="card">{picture}{words}</a>'


@cache
def minutes() -> dict[str, str]:
    """Of each notebook, by the syllabus."""
    told = re.findall(
        r"(?m)^\| [1-9A-Z] \| .* \| (\d+) \|", (NOTEBOOKS / "SYLLABUS.md").read_text("utf-8")
    )
    return dict(zip(sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")), told, strict=True))


def page_of(path: Path, figures: Any) -> tuple[str, dict[str, bytes]]:
    """A notebook's page, and the pictures that it shows by name.

    `figures.live(name, knobs)` gives the place of a live figure.
    """
    import nbformat

    source, page = f"notebooks/{path.name}", f"lessons/{path.stem}.md"
    notebook = nbformat.read(path, as_version=4)
    parts, pictures, solutions = [], {}, answers(notebook)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            text = re.sub(r"<details>", '<details markdown="1">', cell.source)
            parts.append(formulas(places.rewritten(text, source, page)))
            continue
        if "answer" in cell.metadata:
            parts.append(_prediction(cell))
            continue
        exercise = next((tag for tag in cell.metadata.get("tags", ()) if tag in solutions), "")
        if NUMBERS.fullmatch(solutions.get(exercise, "")) and "..." in cell.source:
            parts.append(_exercise(solutions[exercise]))
            continue
        if all(line.startswith(("import ", "from ")) for line in cell.source.split("\n") if line):
            parts += [
                '<details markdown="1"><summary>Imports</summary>',
                f"```python\n{cell.source}\n```",
                "</details>",
            ]
        elif not cell.metadata.get("jupyter", {}).get(
            "source_hidden"
        ):  # what holds hints and answers
            parts.append(f"```python\n{cell.source}\n```")
        figure = shown(cell.source)
        if figure:
            parts.append(figures.live(*figure))
            continue
        for output in cell.outputs:
            text, picture = _output(output, cell.source, f"{path.stem}-{number}.png")
            parts.append(text)
            pictures |= picture
    # in which words that set something lead to the next figure
    text = "\n\n".join(filter(None, parts)) + "\n"
    return re.sub(
        "<a (?=data-set=)", lambda at: f"<a href='#{re.findall(PLACE, text[at.end() :])[0]}' ", text
    ), pictures


def _prediction(cell: Any) -> str:
    """A question that is answered once, with the answer that the notebook computes."""
    call: Any = ast.parse(cell.source).body[0]
    told = {one.arg: ast.literal_eval(one.value) for one in call.value.keywords}
    unit = f" {told['unit']}" if "unit" in told else ""
    told |= {
        "right": [cell.metadata["answer"]],
        "within": [told["within"]],
        "once": True,
        "unit": unit,
    }
    return _asked(
        f"<b>Predict:</b> {escape(ast.literal_eval(call.value.args[0]))}", ["I predict"], told
    )


def _exercise(solution: str) -> str:
    """Numbers to fill in, as often as one likes; a hundredth of each may be rounded away."""
    solved: dict[str, float] = {}
    exec(solution, {}, solved)  # a line of ours, of numbers
    right = list(solved.values())
    return _asked("", list(solved), {"right": right, "within": [abs(one) / 100 for one in right]})


def _asked(question: str, labels: list[str], told: dict[str, Any]) -> str:
    """Fields and buttons that site.js answers; coded, so that nobody reads the answer in the page's source."""
    coded = base64.b64encode(json.dumps(told).encode()).decode()
    field = '<label>{0} <input type="number" step="any" required aria-label="{0}"></label>'
    fields = "".join(field.format(name) for name in labels) + escape(told.get("unit", ""))
    hints = "".join(
        f"<details><summary>Hint</summary>{escape(hint)}</details>"
        for hint in told.get("hints", ())
    )
    press = f"<button>{'Lock and reveal' if 'once' in told else 'Check'}</button> <output></output>"
    return (
        f'<form class="asked" data-told="{coded}"><p>{question}</p>{fields} {press}{hints}</form>'
    )


def _output(output: Any, drawn_by: str, name: str) -> tuple[str, dict[str, bytes]]:
    """One output of a cell as Markdown, and its picture."""
    if output.output_type == "stream":
        return f'<pre class="output">{escape(output.text.rstrip())}</pre>', {}
    data = output.get("data", {})
    words = "".join(data.get("text/plain", ""))
    if "image/png" in data:
        drawn = (
            SEARCHES if "contact_sheet(" in drawn_by else f"What {drawn_by.splitlines()[-1]} draws."
        )
        alt = words if words and not words.startswith("<") else drawn
        return (
            f'<img class="output" src="../images/lessons/{name}" alt="{escape(alt)}" loading="lazy">',
            {name: base64.b64decode(data["image/png"])},
        )
    if "text/html" in data and not words.startswith("○"):
        return f'<div class="output">{_flat("".join(data["text/html"]))}</div>', {}
    if words.startswith("○ Nothing to check yet"):
        words = "Python checks this one: in the notebook, which `lab learn` opens."
    return (f'<pre class="output">{escape(words)}</pre>', {}) if words else ("", {})


def _flat(html: str) -> str:
    """Without blank lines, at which Markdown would take over again."""
    return re.sub(r"\n\s*\n", "\n", html)
