"""A report as Markdown, LaTeX or HTML. Names are data: whatever a format would read as a command is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from lab.core.formats import markdown_table
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


def _cells(report: Report) -> tuple[list[str], list[list[str]]]:
    """Head and body of the table, unescaped; scores in percent."""
    several = len({line.data for line in report.lines}) > 1
    head = ["method", "source", *(["data"] if several else []), "encoder", "width", "pixels", "n", *report.columns]
    rows = []
    for at, line in enumerate(report.lines):
        row = [line.name, f"published: {line.source}" if line.published else "own"]
        row += [line.data] * several + [line.facts.encoder]
        row += [NOTHING if value is None else str(value) for value in (line.facts.dim, line.facts.size)]
        row += [NOTHING if line.published else str(len(line.runs))]
        rows.append([*row, *(_score(report, at, column) for column in report.columns)])
    return head, rows


def _score(report: Report, at: int, column: str) -> str:
    """A score, with the letter of what sets it apart from the others of its column."""
    line = report.lines[at]
    estimate, reduction = line.scores.get(column), report.error_reduction(line, column)
    if estimate is None:
        return NOTHING
    text = f"{100 * estimate.mean:.1f}" + ("" if estimate.half is None else f" ± {100 * estimate.half:.1f}")
    text += f" ± {100 * line.spread[column]:.1f} sd" if column in line.spread else ""
    text += "" if reduction is None else f" ({100 * reduction:+.1f} %)"
    reason = report.deviations.get((at, column))
    return text if reason is None else f"{text} ({report.marks[reason]})"


def _caption(report: Report) -> str:
    data = list(dict.fromkeys(line.data for line in report.lines))
    return f"Results on {', '.join(data)}."


def _markdown(report: Report) -> str:
    head, body = _cells(report)
    table = markdown_table(list(map(_plain_markdown, head)), [list(map(_plain_markdown, row)) for row in body])
    notes = [_plain_markdown(note) for note in (_caption(report), *report.notes)]
    listed = [f"- {_plain_markdown(sentence)}" for sentence in report.warnings]
    return "\n".join([table, "", *notes, *(["", "Not directly comparable:", "", *listed] if listed else [])]) + "\n"


def _latex(report: Report) -> str:
    head, body = _cells(report)
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
        r"\caption{" + " ".join(map(_plain_latex, (_caption(report), *report.notes))) + "}",
    ]
    if report.warnings:
        lines += [r"\begin{flushleft}\footnotesize", "Not directly comparable:"]
        lines += [r"\\ -- " + _plain_latex(sentence) for sentence in report.warnings]
        lines += [r"\end{flushleft}"]
    return "\n".join(["% needs \\usepackage{booktabs}", *lines, r"\end{table}"]) + "\n"


def _html(report: Report) -> str:
    head, body = _cells(report)
    lines = ["<table>", f"<caption>{html.escape(_caption(report))}</caption>", "<thead>"]
    lines += [_html_row(head, "th"), "</thead>", "<tbody>"]
    for line, cells in zip(report.lines, body, strict=True):
        lines.append(_html_row(cells, "td", "published" if line.published else "own"))
    lines += ["</tbody>", "</table>", *(f"<p>{html.escape(note)}</p>" for note in report.notes)]
    if report.warnings:
        lines += ["<p>Not directly comparable:</p>", "<ul>"]
        lines += [f"<li>{html.escape(sentence)}</li>" for sentence in report.warnings] + ["</ul>"]
    return "\n".join(lines) + "\n"


def _html_row(cells: Sequence[str], tag: str, kind: str | None = None) -> str:
    opening = f'<tr class="{kind}">' if kind else "<tr>"
    return opening + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


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


FORMATS: dict[str, Callable[[Report], str]] = {"markdown": _markdown, "latex": _latex, "html": _html}
