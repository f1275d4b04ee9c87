"""A report as Markdown or LaTeX. Names are data: whatever a format would read as a command is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lab.core.formats import markdown_table

if TYPE_CHECKING:
    from lab.report._facts import ReportLine
    from lab.report._lines import Report

NOTHING = "-"


def write(report: Report, form: str = "markdown") -> str:
    """The table, how to read it, and the warnings.

    Raises:
        ValueError: there is no such format.
    """
    if form not in FORMATS:
        raise ValueError(f"There is no format {form!r}; there are {', '.join(FORMATS)}.")
    return FORMATS[form](report)


def cells_of(report: Report) -> tuple[list[str], list[list[str]]]:
    """Head and body of the table, unescaped; scores in percent."""
    several = len({line.data for line in report.lines}) > 1  # data sets
    head = ["method", "source"]
    if several:
        head.append("data")
    head += ["encoder", "width", "pixels", "n", *report.columns]

    rows = []
    for line in report.lines:
        row = [line.name]
        row.append(f"published: {line.source}" if line.published else "own")
        if several:
            row.append(line.data)
        for fact in (line.facts.encoder, line.facts.dim, line.facts.size):
            row.append(NOTHING if fact is None else str(fact))
        row.append(NOTHING if line.published else str(len(line.runs)))
        for column in report.columns:
            row.append(_score(line, column))
        rows.append(row)
    return head, rows


def _score(line: ReportLine, column: str) -> str:
    """A score in percent, with half of its interval, or with the deviation that a paper prints."""
    estimate = line.scores.get(column)
    if estimate is None:
        return NOTHING
    text = f"{100 * estimate.mean:.1f}"
    if estimate.half is not None:
        text += f" ± {100 * estimate.half:.1f}"
    if column in line.spread:
        text += f" ± {100 * line.spread[column]:.1f} sd"
    return text


def caption_of(report: Report) -> str:
    """What the table is of, in a sentence."""
    data = list(dict.fromkeys(line.data for line in report.lines))
    return f"Results on {', '.join(data)}."


def _markdown(report: Report) -> str:
    head, body = cells_of(report)
    plain_body = [[_plain_markdown(cell) for cell in row] for row in body]
    lines = [markdown_table([_plain_markdown(cell) for cell in head], plain_body), ""]
    for note in (caption_of(report), *report.notes):
        lines.append(_plain_markdown(note))
    if report.warnings:
        lines += ["", "Not directly comparable:", ""]
        lines += [f"- {_plain_markdown(sentence)}" for sentence in report.warnings]
    return "\n".join(lines) + "\n"


def _latex(report: Report) -> str:
    head, body = cells_of(report)
    numbers = ("width", "pixels", "n", *report.columns)
    alignment = "".join("r" if name in numbers else "l" for name in head)
    notes = [_plain_latex(note) for note in (caption_of(report), *report.notes)]

    def row(cells: Sequence[str]) -> str:
        return " & ".join(map(_plain_latex, cells)) + r" \\"

    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\begin{tabular}{" + alignment + "}",
        r"\toprule",
        row(head),
        r"\midrule",
        *map(row, body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{" + " ".join(notes) + "}",
    ]
    if report.warnings:
        lines.append(r"\begin{flushleft}\footnotesize")
        lines.append("Not directly comparable:")
        for sentence in report.warnings:
            lines.append(r"\\ -- " + _plain_latex(sentence))
        lines.append(r"\end{flushleft}")
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


_LATEX = {
    **{letter: f"\\{letter}" for letter in "{}&%$#_"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
}  # fmt: skip


def _plain_latex(text: str) -> str:
    """A text on one line, with what LaTeX would read as a command escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _plain_markdown(text: str) -> str:
    """An underscore inside a word is none of Markdown's business, so names of losses stay legible."""
    text = re.sub(r"([\\|*`<\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


FORMATS: dict[str, Callable[[Report], str]] = {"markdown": _markdown, "latex": _latex}
