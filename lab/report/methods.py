"""Methods that were each trained several times, compared on the same queries: `lab.compare`.

found = lab.compare({"mine": [e0, e1, e2], "recall@k": [f0, f1, f2]}, labels)
print(found)                          # a table, and what may be said
found.save("table.tex")               # or .csv, .md; a forest plot: .pdf, .svg, .png, .html
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.explain import names_arguments
from lab.core.files import check_allowed, write_text
from lab.core.formats import counted, markdown_table
from lab.inference.crossed import FEWEST_TRAININGS, MethodDifference, method_difference
from lab.inference.over_classes import FEWEST
from lab.inference.paired import difference

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from lab.report.same_queries import SameQueries
    from lab.runs import Run

SHOWN = ("r@1", "MAP@R")
"""Scores that are compared where nobody names any."""

NEEDED = 3
"""Trainings of each method that the lab advises: with two, intervals are several times wider than with three."""

PICTURES = (".pdf", ".svg", ".png", ".html")


@dataclass(frozen=True)
class Method:
    """One method. values: score to float64 [s q], a value for each training and query. runs: names of the trainings."""

    name: str
    values: Mapping[str, np.ndarray]
    runs: tuple[str, ...] = ()

    @property
    def trainings(self) -> int:
        return len(next(iter(self.values.values())))


@dataclass(frozen=True)
class Compared:
    """A method in one score, against the baseline.

    mean: over trainings and queries. deviation: standard deviation of the trainings' means (n - 1), None for a single
    training. queries, classes: that have a score in every training. difference: to the baseline; None for the baseline
    itself.
    """

    score: str
    method: str
    trainings: int
    mean: float
    deviation: float | None
    queries: int
    classes: int
    difference: MethodDifference | None


@dataclass(frozen=True)
class MethodComparison:
    """Methods that were measured on the same queries.

    methods: the baseline first. labels: int64 [q], the class of each query. scores: names of the scores that are shown.
    notes: what else a reader has to know.
    """

    methods: tuple[Method, ...]
    labels: np.ndarray
    scores: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def baseline(self) -> Method:
        return self.methods[0]

    def rows(self) -> list[Compared]:
        """Return a row for each score and method."""
        rows = []
        for score in self.scores:
            before = self.baseline.values[score]
            for method in self.methods:
                values = method.values[score]
                counts = ~np.isnan(values).any(axis=0)
                means = values[:, counts].mean(axis=1)
                row = Compared(
                    score=score,
                    method=method.name,
                    trainings=len(means),
                    mean=float(means.mean()),
                    deviation=float(means.std(ddof=1)) if len(means) > 1 else None,
                    queries=int(counts.sum()),
                    classes=len(np.unique(self.labels[counts])),
                    difference=None
                    if method is self.baseline
                    else method_difference(before, values, self.labels),
                )
                rows.append(row)
        return rows

    @property
    def sentences(self) -> list[str]:
        """What may be said of each method and score, one sentence each, and the notes."""
        sentences = [self._sentence(row) for row in self.rows() if row.difference is not None]
        return [*sentences, *self.notes]

    def _sentence(self, row: Compared) -> str:
        """Return what may be said of one method in one score, and over what it holds."""
        change = row.difference
        assert change is not None, "the baseline is compared with nothing"
        first, second = change.trainings
        over = f"{counted(second, 'training')} and {first:,} of {self.baseline.name}, {change.classes:,} classes"
        if change.classes < FEWEST:
            return (
                f"{row.score} of {row.method} less that of {self.baseline.name}: {change} ({over})."
            )
        if change.known:
            if change.low > 0 or change.high < 0:
                direction = "higher" if change.low > 0 else "lower"
                told = (
                    f"{row.score} of {row.method} is {direction} than that of {self.baseline.name}"
                )
            else:
                told = f"no difference between {row.method} and {self.baseline.name} can be told in {row.score}"
            return f"{told[0].upper()}{told[1:]}: {change.mean:+.3f}, {change.interval} ({over})."
        (method,) = [method for method in self.methods if method.name == row.method]
        before = self.baseline.values[row.score].mean(axis=0)
        after = method.values[row.score].mean(axis=0)
        networks = difference(before, after, self.labels)
        return (
            f"{row.score} of {row.method} less that of {self.baseline.name}: {networks} ({over}). This compares "
            f"networks: to compare methods, train each at least {FEWEST_TRAININGS} times, better {NEEDED}."
        )

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return head and body of the table, as texts."""
        head = ["score", "method", "n", "mean", "sd", f"less {self.baseline.name}", "95 % interval"]
        body = []
        for row in self.rows():
            deviation = "-" if row.deviation is None else f"{row.deviation:.3f}"
            change = interval = "-"
            if row.difference is not None:
                change = f"{row.difference.mean:+.3f}"
                if row.difference.known:
                    interval = f"{row.difference.low:+.3f} to {row.difference.high:+.3f}"
            body.append(
                [
                    row.score,
                    row.method,
                    str(row.trainings),
                    f"{row.mean:.3f}",
                    deviation,
                    change,
                    interval,
                ]
            )
        return head, body

    def __str__(self) -> str:
        """The table in columns, and what may be said."""
        head, body = self.cells()
        widths = [max(len(line[at]) for line in (head, *body)) for at in range(len(head))]
        lines = []
        for line in (head, *body):
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", *self.sentences])

    def records(self) -> list[dict[str, Any]]:
        """Return one dict for each score and method; None where there is no number."""
        records = []
        for row in self.rows():
            change = row.difference
            known = change is not None and change.known
            record = {
                "score": row.score,
                "method": row.method,
                "trainings": row.trainings,
                "mean": row.mean,
                "deviation": row.deviation,
                "difference": None if change is None else change.mean,
                "low": change.low if change is not None and known else None,
                "high": change.high if change is not None and known else None,
                "queries": row.queries,
                "classes": row.classes,
            }
            records.append(record)
        return records

    def to_frame(self) -> pd.DataFrame:
        """Return the records as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.records())

    def markdown(self) -> str:
        """Return the table in Markdown, and what may be said below it."""
        from lab.report._write import _plain_markdown as plain

        head, body = self.cells()
        table = markdown_table(
            [plain(cell) for cell in head], [[plain(cell) for cell in line] for line in body]
        )
        return "\n\n".join([table, *(plain(sentence) for sentence in self.sentences)]) + "\n"

    def latex(self) -> str:
        """Return the table for LaTeX with the package booktabs; what may be said is its caption."""
        from lab.report._write import _plain_latex as plain

        head, body = self.cells()
        lines = [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            r"\begin{tabular}{llrrrrr}",
            r"\toprule",
            " & ".join(map(plain, head)) + r" \\",
            r"\midrule",
        ]
        score = body[0][0]
        for line in body:
            if line[0] != score:  # the methods by the next score
                lines.append(r"\addlinespace")
                score = line[0]
            lines.append(" & ".join(map(plain, line)) + r" \\")
        lines.append(r"\bottomrule")
        lines.append(r"\end{tabular}")
        lines.append(r"\caption{" + " ".join(map(plain, self.sentences)) + "}")
        lines.append(r"\end{table}")
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return the records as CSV."""
        from lab.core.formats import plain_cell

        records = self.records()
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            record["method"] = plain_cell(record["method"])
            writer.writerow(record)
        return text.getvalue()

    def figure(self) -> go.Figure:
        """Draw a forest plot: each method's difference to the baseline with its interval, by score."""
        from lab.core import style

        rows = [row for row in self.rows() if row.difference is not None]
        figure = style.canvas(
            f"Difference to {self.baseline.name}",
            x="difference, points",
            y="method",
            height=170 + 46 * len(rows),
        )
        places = [f"{row.method}, {row.score}" for row in rows]
        known = [row.difference for row in rows if row.difference is not None]
        for name, told, colour, symbol in (
            ("95 % over classes and trainings", True, style.BLUE, "square"),
            ("too few trainings or classes for an interval", False, style.GREY, "circle-open"),
        ):
            mine = [at for at, change in enumerate(known) if change.known == told]
            if not mine:
                continue
            means = [100 * known[at].mean for at in mine]
            bars = None
            if told:
                above = [100 * (known[at].high - known[at].mean) for at in mine]
                below = [100 * (known[at].mean - known[at].low) for at in mine]
                bars = {
                    "type": "data",
                    "symmetric": False,
                    "array": above,
                    "arrayminus": below,
                    "color": colour,
                }
            figure.add_scatter(
                x=means,
                y=[places[at] for at in mine],
                mode="markers",
                name=name,
                marker={"color": colour, "symbol": symbol, "size": 10},
                error_x=bars,
                customdata=[known[at].interval for at in mine],
                hovertemplate="%{y}: %{x:+.1f} points, %{customdata}<extra></extra>",
            )
        figure.add_vline(x=0, line={"color": style.BLACK, "width": 1})
        figure.update_yaxes(categoryorder="array", categoryarray=places[::-1])
        figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
        return figure

    def save(self, path: str | Path) -> Path:
        """Write the table (.tex, .csv, .md) or the forest plot (.pdf, .svg, .png, .html), by the file's ending.

        Raises:
            ValueError: another ending, or nothing to draw pictures with.
        """
        check_allowed()
        path = Path(path)
        writers = {".tex": self.latex, ".csv": self.csv, ".md": self.markdown}
        ending = path.suffix.lower()
        if ending in writers:
            write_text(path, writers[ending]())
            return path
        if ending not in PICTURES:
            raise ValueError(
                f"A comparison is written to a file that ends in {', '.join([*writers, *PICTURES])}, got {path.name}."
            )
        from lab.figures.saving import save_figure

        return save_figure(self.figure(), path)


@names_arguments
def compare(
    methods: Mapping[str, Any] | Sequence[Run],
    labels: Any = None,
    *,
    scores: Sequence[str] | None = None,
    baseline: str | None = None,
    split: str | None = None,
    galleries: Mapping[str, Any] | None = None,
    **evaluation: Any,
) -> MethodComparison:
    """Compare methods that were each trained several times, on the same queries. `lab.compare` is this function.

    What may be said depends on what was repeated. With two or more trainings of each method (better three), intervals
    are over other classes and other trainings, so that they compare the methods. With one training they are over
    classes alone, and compare two networks.

    Args:
        methods: name to the trainings of the method: embeddings [n d] of the same images in the same order, or runs
            (`lab.runs.open`), or names or folders of runs. Or a plain list of runs, whose methods are their settings:
            runs that differ in nothing but their seed are trainings of one method.
        labels: [n], the class of each image, as for `lab.evaluate`. Of runs: None, they have their own.
        scores: which scores are compared, by default r@1 and MAP@R.
        baseline: the method that the others are compared with, by default the first.
        split: of runs: the split that is compared, by default test.
        galleries: name to the trainings' embeddings of a gallery, with `gallery_labels`, where images are searched in
            another set than their own.
        evaluation: of embeddings: `metrics`, `similarity`, `k` and what else `lab.evaluate` takes. Runs have been
            evaluated.

    Raises:
        ValueError: fewer than two methods, trainings of different images, one training given twice, a score that there
            is not, or an argument that does not apply.

    Example:
        >>> import lab, numpy
        >>> chance = numpy.random.default_rng(0)
        >>> labels = numpy.repeat(numpy.arange(20), 5)
        >>> centres = chance.normal(size=(20, 8))[labels]
        >>> good, bad = ([centres + noise * chance.normal(size=(100, 8)) for _ in range(3)] for noise in (0.5, 1.5))
        >>> found = lab.compare({"contrastive": bad, "mine": good}, labels, scores=["MAP@R"])
        >>> found.sentences[0].partition(":")[0]
        'MAP@R of mine is higher than that of contrastive'
    """
    if _is_of_runs(methods):
        given = {"labels": labels, "galleries": galleries, **evaluation}
        not_for_runs = [name for name, value in given.items() if value is not None]
        if not_for_runs:
            raise ValueError(
                f"{' and '.join(not_for_runs)} cannot be given for runs, which have been evaluated."
            )
        found = _of_runs(methods, split or "test", scores)
    else:
        if split is not None:
            raise ValueError("split names a split of runs; embeddings have none.")
        assert isinstance(methods, Mapping), "embeddings without names were refused"
        found = _of_embeddings(methods, labels, galleries, scores, evaluation)
    if baseline is None:
        return found
    return _against(found, baseline)


def _is_of_runs(methods: Any) -> bool:
    """Whether trainings are runs.

    Raises:
        ValueError: neither runs nor embeddings by the name of their method, or both.
    """
    if isinstance(methods, Mapping):
        trainings = [one for given in methods.values() for one in _trainings_of(given)]
    elif isinstance(methods, Sequence) and not isinstance(methods, str):
        trainings = list(methods)
    else:
        raise ValueError(
            "compare takes a mapping from the name of each method to its trainings, or a list of runs."
        )
    are_runs = {isinstance(one, str | Path) or hasattr(one, "per_query") for one in trainings}
    if len(are_runs) > 1:
        raise ValueError(
            "compare takes runs or embeddings, not both; `lab import` makes a run of embeddings."
        )
    if not isinstance(methods, Mapping) and are_runs == {False}:
        raise ValueError(
            "Embeddings are given with the name of their method: {'mine': [e0, e1], 'other': [f0, f1]}."
        )
    return are_runs == {True}


def _trainings_of(given: Any) -> list[Any]:
    """The trainings of a method: a list of them, or a single one."""
    from lab.core.results import EmbeddingSet

    if isinstance(given, list | tuple) and not _is_vectors(given):
        return list(given)
    if isinstance(given, np.ndarray) and given.ndim == 3:  # [s n d]
        return list(given)
    if getattr(given, "ndim", 0) == 3 and not isinstance(given, EmbeddingSet):
        return list(given)
    return [given]


def _is_vectors(given: Sequence[Any]) -> bool:
    """Whether a list is one training as lists of numbers, [n d]."""
    first = given[0] if given else None
    return isinstance(first, list | tuple) and bool(first) and isinstance(first[0], int | float)


def _of_embeddings(
    methods: Mapping[str, Any],
    labels: Any,
    galleries: Mapping[str, Any] | None,
    scores: Sequence[str] | None,
    evaluation: dict[str, Any],
) -> MethodComparison:
    """Measure every training of every method."""
    from lab.core.results import label_column
    from lab.evaluation.direct import evaluate

    _check_methods(methods)
    if labels is None:
        raise ValueError("compare needs the class of each image: compare(methods, labels).")
    if (galleries is None) != (evaluation.get("gallery_labels") is None):
        raise ValueError(
            "compare needs galleries and gallery_labels together; give both, or neither."
        )
    if galleries is not None and set(galleries) != set(methods):
        raise ValueError(
            "galleries has the trainings of the same methods as the first argument, by the same names."
        )
    compared = []
    for name, given in methods.items():
        trainings = _trainings_of(given)
        searched = [None] * len(trainings) if galleries is None else _trainings_of(galleries[name])
        if len(searched) != len(trainings):
            raise ValueError(
                f"{name} has {counted(len(trainings), 'training')}, but {len(searched):,} of them in galleries."
            )
        _check_different(name, trainings)
        per_query: list[Mapping[str, np.ndarray]] = []
        for vectors, gallery in zip(trainings, searched, strict=True):
            measured = evaluate(vectors, labels, gallery=gallery, **evaluation)
            per_query.append(measured.per_query)
        compared.append(
            Method(
                name, {score: np.stack([one[score] for one in per_query]) for score in per_query[0]}
            )
        )
    return MethodComparison(tuple(compared), label_column(labels), _chosen(compared, scores))


def _of_runs(methods: Any, split: str, scores: Sequence[str] | None) -> MethodComparison:
    """Put the runs of every method on the queries that all of them have."""
    from lab.report.same_queries import same_queries

    if not isinstance(methods, Mapping):
        methods = by_setting([_opened(one) for one in methods], split)
        if len(methods) == 1:
            raise ValueError(
                "These runs differ in nothing but their seed, so they are trainings of one method."
            )
    _check_methods(methods)
    runs_of = {
        name: [_opened(one) for one in _trainings_of(given)] for name, given in methods.items()
    }
    runs = [run for members in runs_of.values() for run in members]
    folders = [run.path.resolve() for run in runs]
    for run, folder in zip(runs, folders, strict=True):
        if folders.count(folder) > 1:
            raise ValueError(f"Run {run.name} is given twice; each training counts once.")
    for name, members in runs_of.items():
        _check_different(name, [run.embeddings(split) for run in members])
    places: dict[str, Sequence[int]] = {}
    start = 0
    for name, members in runs_of.items():
        places[name] = range(start, start + len(members))
        start += len(members)
    return of_same_queries(same_queries(runs, split), places, scores)


def of_same_queries(
    found: SameQueries, places: Mapping[str, Sequence[int]], scores: Sequence[str] | None = None
) -> MethodComparison:
    """Compare methods whose runs were measured on the same queries.

    Args:
        places: name of a method to the places of its runs in `found.names`.
    """
    compared = []
    for name, members in places.items():
        values = {score: column[list(members)] for score, column in found.values.items()}
        compared.append(Method(name, values, tuple(found.names[at] for at in members)))
    # no class is a negative number
    classes = np.array([*found.class_names, ""])[found.labels.clip(-1)]
    notes = [f"On {found.words}."]
    trained = [f"{one.name}: {', '.join(one.runs)}" for one in compared if one.trainings > 1]
    if trained:
        notes.append(f"Trainings: {'; '.join(trained)}.")
    notes.append(found.images)
    return MethodComparison(tuple(compared), classes, _chosen(compared, scores), tuple(notes))


def by_setting(runs: Sequence[Run], split: str = "test") -> dict[str, list[Run]]:
    """Put runs that differ in nothing but their seed together, by what sets them apart."""
    return {
        name: [runs[at] for at in places] for name, places in places_by_setting(runs, split).items()
    }


def places_by_setting(runs: Sequence[Run], split: str = "test") -> dict[str, list[int]]:
    """As `by_setting`, with the places of the runs instead of the runs."""
    from lab.report._lines import name_of_setting, setting, together

    settings = [setting(run, split) for run in runs]
    groups = together(settings)
    firsts = [settings[group[0]] for group in groups]
    named: dict[str, list[int]] = {}
    for first, group in zip(firsts, groups, strict=True):
        name = name_of_setting(first, firsts)
        while name in named:  # more knobs differ than a name tells
            name = f"{name} ({runs[group[0]].name})"
        named[name] = group
    return named


def _opened(run: Any) -> Run:
    import lab.runs

    return lab.runs.open(run) if isinstance(run, str | Path) else run


def _check_methods(methods: Mapping[str, Any]) -> None:
    if len(methods) < 2:
        raise ValueError(f"A comparison needs at least two methods, got {len(methods)}.")
    for name, given in methods.items():
        if not len(_trainings_of(given)):
            raise ValueError(f"{name} has no training.")


def _check_different(name: str, trainings: Sequence[Any]) -> None:
    """Refuse one training that is given twice: it would make the trainings look more alike than they are."""
    digests: dict[bytes, int] = {}
    for at, vectors in enumerate(trainings):
        array = vectors.vectors if hasattr(vectors, "vectors") else vectors
        array = array.detach().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)
        digest = hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()
        if digest in digests:
            raise ValueError(
                f"Trainings {digests[digest] + 1} and {at + 1} of {name} have the same vectors; each counts once."
            )
        digests[digest] = at


def _chosen(methods: Sequence[Method], scores: Sequence[str] | None) -> tuple[str, ...]:
    """The scores to show, of those that every method has."""
    common = [
        name for name in methods[0].values if all(name in method.values for method in methods)
    ]
    if scores is None:
        return tuple(name for name in SHOWN if name in common) or tuple(common)
    unknown = [name for name in scores if name not in common]
    if unknown or not scores:
        raise ValueError(
            f"These methods have no score {', '.join(unknown)}; they have {', '.join(common)}."
        )
    return tuple(scores)


def _against(found: MethodComparison, baseline: str) -> MethodComparison:
    """The same with another baseline."""
    names = [method.name for method in found.methods]
    if baseline not in names:
        raise ValueError(
            f"There is no method {baseline!r} to compare with; there are {', '.join(names)}."
        )
    first = found.methods[names.index(baseline)]
    others = tuple(method for method in found.methods if method is not first)
    return MethodComparison((first, *others), found.labels, found.scores, found.notes)
