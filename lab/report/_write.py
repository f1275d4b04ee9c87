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
    several = len({line.data for line in report.lines}) > 1
    head = ["method", "source", *(["data"] if several else []), "encoder", "width", "pixels", "n", *report.columns]
    rows = []
    for line in report.lines:
        row = [line.name, f"published: {line.source}" if line.published else "own"]
        row += [line.data] * several
        facts = (line.facts.encoder, line.facts.dim, line.facts.size)
        row += [NOTHING if value is None else str(value) for value in facts]
        row += [NOTHING if line.published else str(len(line.runs))]
        rows.append([*row, *(_score(line, column) for column in report.columns)])
    return head, rows


def _score(line: ReportLine, column: str) -> str:
    estimate = line.scores.get(column)
    if estimate is None:
        return NOTHING
    text = f"{100 * estimate.mean:.1f}" + ("" if estimate.half is None else f" ± {100 * estimate.half:.1f}")
    return text + (f" ± {100 * line.spread[column]:.1f} sd" if column in line.spread else "")


def caption_of(report: Report) -> str:
    data = list(dict.fromkeys(line.data for line in report.lines))
    return f"Results on {', '.join(data)}."


def _markdown(report: Report) -> str:
    head, body = cells_of(report)
    table = markdown_table(list(map(_plain_markdown, head)), [list(map(_plain_markdown, row)) for row in body])
    notes = [_plain_markdown(note) for note in (caption_of(report), *report.notes)]
    listed = [f"- {_plain_markdown(sentence)}" for sentence in report.warnings]
    return "\n".join([table, "", *notes, *(["", "Not directly comparable:", "", *listed] if listed else [])]) + "\n"


def _latex(report: Report) -> str:
    head, body = cells_of(report)
    texts = sum(name not in ("width", "pixels", "n", *report.columns) for name in head)

    def row(cells: Sequence[str]) -> str:
        return " & ".join(map(_plain_latex, cells)) + r" \\"

    lines = [
        r"\begin{table}",
        r"\centering",
        r"\begin{tabular}{" + "l" * texts + "r" * (len(head) - texts) + "}",
        r"\toprule",
        row(head),
        r"\midrule",
        *map(row, body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{" + " ".join(map(_plain_latex, (caption_of(report), *report.notes))) + "}",
    ]
    if report.warnings:
        lines += [r"\begin{flushleft}\footnotesize", "Not directly comparable:"]
        lines += [r"\\ -- " + _plain_latex(sentence) for sentence in report.warnings]
        lines += [r"\end{flushleft}"]
    return "\n".join(["% needs \\usepackage{booktabs}", *lines, r"\end{table}"]) + "\n"


_LATEX = {
    **{letter: f"\\{letter}" for letter in "{}&%$#_"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
}  # fmt: skip


def _plain_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _plain_markdown(text: str) -> str:
    """An underscore inside a word is none of Markdown's business, so names of losses stay legible."""
    text = re.sub(r"([\\|*`<\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


FORMATS: dict[str, Callable[[Report], str]] = {"markdown": _markdown, "latex": _latex}
