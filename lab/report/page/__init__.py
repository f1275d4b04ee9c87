"""Runs as one self-contained HTML page to mail: no script, no request to anywhere, light and dark.

html = lab.report.page.render(runs)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path, PurePath
from typing import Any

import numpy as np

import lab
import lab.verdict
from lab.core import web_page, yaml_reader
from lab.core.estimates import LEVEL
from lab.core.explain import explain
from lab.core.files import check_allowed, write_text
from lab.core.formats import MB, counted, size
from lab.data import ImageSet
from lab.inference.over_classes import mean_over_classes
from lab.report._lines import Report, report
from lab.report._write import caption_of, cells_of
from lab.report.methods import of_same_queries, places_by_setting
from lab.report.page import _curves, _queries
from lab.report.page._queries import PREFERRED, nearest
from lab.report.same_queries import SameQueries, same_queries
from lab.runs import difference
from lab.runs.folder import Run

__all__ = ["PREFERRED", "STYLE", "facts", "nearest", "render", "save", "without_folders"]

MOST = 5 * MB
"""Bytes of a page; more does not go through every mail server."""

SHOWN = 6
"""Runs of which queries are shown."""

DISAGREEING = 3
"""Queries that are shown where runs disagree."""

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def render(
    runs: Sequence[Run],
    table: Report | None = None,
    images: Callable[[Run], ImageSet] = lambda run: run.dataset(),
) -> str:
    """The page: scores with intervals, curves, best and worst queries with pictures, settings, versions.

    Args:
        table: the table, by default that of the runs' test scores; its split is the one that is shown.
        images: where the pictures of a run come from, for pages that may not show all that a run names.

    Raises:
        ValueError: there is no run, one has no scores, or the page would be larger than `MOST`.
    """
    table = report(runs) if table is None else table
    names = _listed(run.name for run in runs)
    losses = _listed(run.config.loss.name for run in runs)
    data = _listed(run.config.data.name for run in runs)
    what = escape(f"{counted(len(runs), 'run')} with {losses} on {data}.")
    sections = [
        _section(title, inside) for title, inside in facts(runs, table, images, DISAGREEING).items()
    ]
    queries = [
        _section(f"Queries of {run.name}", _queries.of(run, table.split, images))
        for run in runs[:SHOWN]
    ]
    parts = [
        f"<h1>{escape(names)}</h1>",
        f"<p>{what} Made with Rankscope {lab.__version__}; nothing on this page is loaded from elsewhere.</p>",
        *sections[:-2],
        *queries,
        *sections[-2:],  # settings and versions
    ]
    if len(runs) > SHOWN:
        parts.insert(3, f"<p>Queries of the first {SHOWN} runs are shown.</p>")
    body = without_folders("\n".join(parts), runs)
    blanks = {"TITLE": escape(names), "STYLE": STYLE, "BODY": body}
    page = web_page.filled(Path(__file__).with_name("page.html"), blanks)
    if len(page.encode()) > MOST:
        raise ValueError(
            f"The page would take {size(len(page.encode()))}, more than the {size(MOST)} allowed; name fewer runs."
        )
    return page


def _listed(names: Iterable[str]) -> str:
    """Each name once."""
    return ", ".join(dict.fromkeys(names))


def save(runs: Sequence[Run], path: Path | str, table: Report | None = None) -> Path:
    """Write the page to a file that is not there yet.

    Raises:
        ValueError: it is there already, or what `of` raises.
    """
    check_allowed()
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path} is there already; name another file, or move it away.")
    write_text(path, render(runs, table))
    return path


def facts(
    runs: Sequence[Run], table: Report, images: Callable[[Run], ImageSet], most: int
) -> dict[str, str]:
    """What there is to say of runs as HTML by its title, from scores to versions. most: queries with pictures."""
    made = {
        "Scores": _scores(_by_runs(table)) + _over_classes(runs, table),
        "On the same queries": _on_the_same(runs, table.split, images, most)
        if len(runs) > 1
        else "",
        "Verdict": _verdict(runs),
        "Curves": _curves.of(runs),
        "Settings": _settings(runs),
        "Versions": _versions(runs),
    }
    return {title: without_folders(inside, runs) for title, inside in made.items() if inside}


def without_folders(html: str, runs: Sequence[Run]) -> str:
    """Names of files in the place of their paths: a page to mail names no folder of this machine."""
    paths = {str(path) for run in runs for _, path in run.config.paths()}
    for path in sorted(paths, key=len, reverse=True):  # a folder after what lies in it
        html = html.replace(escape(path), escape(PurePath(path).name))
    return html


def _section(title: str, inside: str) -> str:
    """A heading, and what stands below it."""
    return f"<section><h2>{escape(title)}</h2>\n{inside}\n</section>"


def _by_runs(table: Report) -> Report:
    """The table with own lines named by their runs, their loss behind it."""

    lines = []
    for line in table.lines:
        if line.runs:
            loss = line.name.partition(" (")[0]
            line = replace(line, name=f"{', '.join(line.runs)} · {loss}")
        lines.append(line)
    return replace(table, lines=tuple(lines))


def _scores(table: Report) -> str:
    """The table, how to read it, and what does not compare."""
    parts = [_table(caption_of(table), *cells_of(table))]
    parts += [f"<p>{escape(note)}</p>" for note in table.notes]
    if table.warnings:
        listed = [f"<li>{escape(sentence)}</li>" for sentence in table.warnings]
        parts.append(f"<p>Not directly comparable:</p><ul>{''.join(listed)}</ul>")
    return "\n".join(parts)


def _over_classes(runs: Sequence[Run], report: Report) -> str:
    """A table: one line a run. Columns that are no mean over queries have no interval."""
    rows = []
    for run in runs:
        per_query = run.per_query(report.split)
        labels = run.embeddings(report.split).labels
        values = (run.scores(report.split) or {})["values"]
        cells = [
            _cell(values.get(column), per_query.get(column), labels) for column in report.columns
        ]
        rows.append([run.name, *cells])
    caption = (
        f"Each run by itself, in percent: ± half of the {100 * LEVEL:g} % interval over the classes of the "
        "queries, for queries of one class are not independent. It says how far other classes would move "
        "the score, not another seed."
    )
    return _table(caption, ["run", *report.columns], rows)


def _cell(value: float | None, measured: np.ndarray | None, labels: np.ndarray) -> str | None:
    """A score in percent, with half of its interval where it is the mean of what was measured of each query."""
    if value is None:
        return None
    estimate = None if measured is None else mean_over_classes(measured, labels)
    if estimate is None or estimate.half is None or not np.isclose(estimate.mean, value, atol=1e-6):
        return f"{100 * value:.1f}"
    return f"{100 * value:.1f} ± {100 * estimate.half:.1f}"


def _on_the_same(
    runs: Sequence[Run], split: str, images_of: Callable[[Run], ImageSet], most: int
) -> str:
    """Every run against the first one, with so many queries; a sentence where they cannot be compared so."""
    try:
        found = same_queries(runs, split)
        images = images_of(runs[-1])
    except (OSError, ValueError) as error:
        return f"<p>{escape(explain(error))}</p>"
    column = next(name for name in (*_queries.PREFERRED, *found.values) if name in found.values)
    means = np.nanmean(found.values[column], axis=1)
    rows = [[found.names[0], f"{means[0]:.3f}", None]]
    for at in range(1, len(runs)):
        rows.append([found.names[at], f"{means[at]:.3f}", str(found.difference(column, 0, at))])
    parts = [
        _table(f"{column} on {found.words}.", ["run", column, f"against {found.names[0]}"], rows),
        f"<p>{escape(found.note)}</p>",
        _methods(found, places_by_setting(runs, split), column),
    ]
    for at in range(1, len(runs)):
        parts.append(f"<p>{escape(found.helped(column, 0, at))}</p>")
    for place in found.disagreement(column)[:most]:
        parts.append(
            f"<h3>They disagree on {escape(str(images.keys[found.numbers[-1, place]]))}</h3>"
        )
        scores = found.values[column][:, place]
        best = int(scores.argmax())
        worst = int(scores.argmin())
        for at in dict.fromkeys((best, worst)):
            parts.append(f"<p>{escape(runs[at].name)}</p>")
            parts.append(
                _of_query(
                    runs[at], split, images_of(runs[at]), found.numbers[at, place], scores[at]
                )
            )
    return "".join(parts)


def _of_query(run: Run, split: str, images: ImageSet, item: int, score: float) -> str:
    """The row of pictures of one query, by the number of its image."""
    items = run.embeddings(split).items
    row = np.flatnonzero(items == item)
    values = np.zeros(len(items))
    values[row] = score
    return "".join(_queries.drawn(run, split, images, row, values))


def _methods(found: SameQueries, places: dict[str, list[int]], column: str) -> str:
    """The methods behind the runs, over classes and trainings; nothing where each has one training."""
    if len(places) < 2 or all(len(members) == 1 for members in places.values()):
        return ""
    compared = of_same_queries(found, places, [column])
    head, body = compared.cells()
    sentences = compared.sentences[: len(body) - 1]  # the notes after them stand above
    caption = f"{column} of methods over their trainings (n) and the same queries."
    table = _table(caption, head[1:], [line[1:] for line in body])
    return table + "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def _verdict(runs: Sequence[Run]) -> str:
    """What is wrong with each run, why, and which knob to move."""
    parts = []
    for run in runs:
        history = lab.verdict.History.of_run(run)
        lines = []
        for one in lab.verdict.findings(history):
            name = f"{one.name} (note)" if one.note else one.name
            words = f"{escape(one.sentence)} {escape(one.advice)} <code>{escape(one.knob)}</code>"
            lines.append(f"<li><b>{escape(name)}.</b> {words}</li>")
        if not lines:
            lines = [f"<li>{history.nothing_found}</li>"]
        parts.append(f"<h3>{escape(run.name)}</h3><ul>{''.join(lines)}</ul>")
    return "\n".join(parts)


def _settings(runs: Sequence[Run]) -> str:
    """What differs between the runs, and every setting of each, folded."""
    parts = []
    # knob to the values of both
    differing = [difference(runs[0].config, run.config) for run in runs[1:]]
    knobs = dict.fromkeys(knob for pairs in differing for knob in pairs)
    rows = []
    for knob in knobs:
        base = next(pairs[knob][0] for pairs in differing if knob in pairs)
        others = [pairs[knob][1] if knob in pairs else base for pairs in differing]
        rows.append([knob, base, *others])
    if rows:
        head = ["setting", *(run.name for run in runs)]
        parts.append(_table("Settings in which the runs differ.", head, rows))
    for run in runs:
        text = escape(yaml_reader.dump(run.config_dict, allow_unicode=True))
        parts.append(
            f"<details><summary>Every setting of {escape(run.name)}</summary><pre>{text}</pre></details>"
        )
    return "\n".join(parts)


def _versions(runs: Sequence[Run]) -> str:
    """What each run was trained with, one column a run."""
    versions = {}
    for run in runs:
        versions[run.name] = {**run.meta.get("versions", {}), "device": run.meta.get("device_name")}
    names = dict.fromkeys(name for of_run in versions.values() for name in of_run)
    rows = [[name, *(of_run.get(name) for of_run in versions.values())] for name in names]
    return _table("What each run was trained with.", ["library", *versions], rows)


def _table(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table with row and column headings; None is a dash."""
    lines = [_row(head, "th"), *(_row(row, "td") for row in rows)]
    body = f"<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody>"
    # outside of what scrolls sideways, so that a small screen shows all of it
    text = escape(caption)
    return f'<p class="told">{text}</p><div class="wide" tabindex="0"><table aria-label="{text}">{body}</table></div>'


def _row(cells: Sequence[Any], others: str) -> str:
    """The first cell is a heading, the others are headings (th) or not (td)."""
    scope = "col" if others == "th" else "row"
    heading = f'th scope="{scope}"'
    made = []
    for place, cell in enumerate(cells):
        tag = heading if place == 0 or others == "th" else others
        text = "-" if cell is None else escape(str(cell))
        made.append(f"<{tag}>{text}</{tag[:2]}>")
    return f"<tr>{''.join(made)}</tr>"
