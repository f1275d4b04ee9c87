"""001 figures 6 and 7, 003 figure 7, on own runs: the same query's list under several runs, side by side."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lab.core import style
from lab.core.results import OTHER, SAME, UNKNOWN, EmbeddingSet, compared
from lab.evaluation import identity
from lab.figures import _bundled, _runs, _thumbnails
from lab.figures._base import Numbers, PlotlyFigure, knob

SIZE = (0.7, 0.66)
"""Width and height of an image, in units of the axes."""
QUERY = -0.25
"""Position of the query, left of rank 1."""


class RetrievedLists(_runs.RunFigure):
    """The first k images of one query, one row per run, with marks for right, wrong, and found by this run alone."""

    title = "One query, several runs"
    source = "ROADMAP, figures 6 and 7; CAM, figure 7"
    question = "Which items does only one run find?"
    examples = _bundled.FOUR_LOSSES
    moves = ("query",)

    query: int = knob("Position of the query in the split.", default=0, ge=0, le=10_000_000)
    k: int = knob("Number of items to show.", default=9, ge=1, le=30)
    split: str = _runs.SPLIT

    def numbers(self, runs: Sequence = ()) -> Numbers:
        # Number the images of all runs alike: those of the first run keep their numbers, further images come after.
        united, places = identity.unite([_runs.pictures(run, self.knobs.split) for run in runs])
        first = united.items[: len(places[0])]
        numbers = np.r_[first, first.max() + 1 + np.arange(len(united) - len(first))]
        numbers_of = [numbers[place] for place in places]  # of each run's images
        item_of = dict(zip(numbers.tolist(), united.items.tolist(), strict=True))

        renumbered = []
        for run, run_numbers in zip(runs, numbers_of, strict=True):
            renumbered.append(self._renumber(run, run_numbers))
        queries = renumbered[0][0].items
        if self.knobs.query >= len(queries):
            raise ValueError(
                f"RetrievedLists: query must be below {len(queries)}, got {self.knobs.query}."
            )
        image = int(queries[self.knobs.query])
        rows = []
        for run, (query, gallery) in zip(runs, renumbered, strict=True):
            rows.append(self._row(run, image, query, gallery))
        _mark_found_alone(rows)

        # The first run that has an image provides its picture and name.
        shown = {image}
        for row in rows:
            shown.update(row["items"].tolist())
        pictures: dict[int, str] = {}
        names: dict[int, str] = {}
        for run, run_numbers in zip(runs, numbers_of, strict=True):
            items = {
                number: item_of[number]
                for number in shown & set(run_numbers.tolist()) - names.keys()
            }
            images = _thumbnails.images(run)
            run_pictures = _thumbnails.pictures(images, items.values())
            run_names = _thumbnails.names(images, items.values())
            for number, item in items.items():
                names[number] = run_names[item]
                if item in run_pictures:
                    pictures[number] = run_pictures[item]
        return {"rows": rows, "pictures": pictures, "names": names}

    def _renumber(self, run: Any, numbers: np.ndarray) -> tuple[EmbeddingSet, EmbeddingSet]:
        """Return queries and gallery of a run with shared numbers; `numbers` are those of its images."""
        query = _runs.test_embeddings(run, self.knobs.split)
        gallery = run.embeddings(self.knobs.split, "gallery") or query
        items = _runs.pictures(run, self.knobs.split).items
        renumbered_query = replace(query, items=numbers[identity.rows_of(items, query.items)])
        if gallery is query:
            return renumbered_query, renumbered_query
        return renumbered_query, replace(
            gallery, items=numbers[identity.rows_of(items, gallery.items)]
        )

    def _row(
        self, run: Any, image: int, query: EmbeddingSet, gallery: EmbeddingSet
    ) -> dict[str, Any]:
        """Return the list of one run for an image."""
        at = np.flatnonzero(query.items == image)[:1]
        if not len(at):
            raise ValueError(
                f"RetrievedLists: run {run.name!r} has not embedded this query; choose another one."
            )
        scores = gallery.vectors @ query.vectors[at[0]]
        if gallery is query:
            scores[at[0]] = -np.inf
        order = np.argsort(-scores, kind="stable")[
            : min(self.knobs.k, len(scores) - (gallery is query))
        ]
        return {
            "name": run.name,
            "items": gallery.items[order],
            "scores": scores[order],
            "right": compared(gallery.labels[order], query.labels[at[0]]),
            "item": image,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows = numbers["rows"]
        pictures = numbers["pictures"]
        names = numbers["names"]
        width = max(len(row["items"]) for row in rows)
        figure = self.canvas(
            f"query “{names[rows[0]['item']]}”: {_found(numbers)} · solid frame and {style.RIGHT} same label, dashed "
            f"and {style.WRONG} another label, {_unsure(rows)}★ found by this run alone",
            x="rank in the list, with the cosine to the query",
            height=190 + 130 * len(rows),
            y="run",
        )
        frames: list[dict] = []
        for line, row in enumerate(rows):
            _thumbnails.lay(figure, pictures.get(row["item"]), QUERY, line, SIZE, "query")
            for place, item in enumerate(row["items"].tolist(), 1):
                _thumbnails.lay(figure, pictures.get(item), place, line, SIZE, names[item])
                frames.append(_frame(place, line, int(row["right"][place - 1])))
            self._add_captions(figure, row, line, names, width)
        figure.update_layout(shapes=frames)
        row_titles = []
        for row in rows:
            name = row["name"].replace(": ", ":<br>")
            row_titles.append(f"{name}<br>{(row['right'] == SAME).sum()} right")
        figure.update_yaxes(
            range=[len(rows) - 0.4, -0.5],
            tickvals=list(range(len(rows))),
            showgrid=False,
            zeroline=False,
            ticktext=row_titles,
        )
        return figure.update_xaxes(
            range=[QUERY - 0.5, width + 0.5],
            tickvals=[QUERY, *range(1, width + 1)],
            showgrid=False,
            zeroline=False,
            ticktext=["query", *map(str, range(1, width + 1))],
        )

    @staticmethod
    def _add_captions(
        figure: PlotlyFigure, row: Numbers, line: int, names: dict[int, str], width: int
    ) -> None:
        """Write mark and score below each image, and its name for hovering."""
        separator = "<br>" if width > 10 else " "
        captions = []
        colours = []
        for verdict, score, alone in zip(row["right"], row["scores"], row["alone"], strict=True):
            mark, colour, _ = LOOKS[int(verdict)]
            caption = mark
            if width <= 16:
                caption += f"{separator}{score:.2f}"
            if alone:
                caption += " ★"
            captions.append(caption)
            colours.append(colour)
        figure.add_scatter(
            x=np.arange(1, len(captions) + 1),
            y=np.full(len(captions), line + 0.46),
            mode="text",
            showlegend=False,
            text=captions,
            textfont={"color": colours},
            customdata=[names[item] for item in row["items"].tolist()],
            hovertemplate="%{customdata}, rank %{x}<br>%{text}<extra>" + row["name"] + "</extra>",
        )

    def alt(self, numbers: Numbers) -> str:
        rows = numbers["rows"]
        alone = _found(numbers)
        values = "; ".join(
            f"{row['name']} {(row['right'] == SAME).sum()} of {len(row['items'])} right"
            for row in rows
        )
        return (
            f"The list of the query {numbers['names'][rows[0]['item']]} under {len(rows)} runs: {values}. "
            f"{alone[0].upper()}{alone[1:]}."
        )


def _mark_found_alone(rows: list[dict[str, Any]]) -> None:
    """Add to each row which of its items are right and not found by any other row, as `alone`."""
    hits = [set(row["items"][row["right"] == SAME].tolist()) for row in rows]
    times_found = Counter(itertools.chain.from_iterable(hits))
    for row, row_hits in zip(rows, hits, strict=True):
        row["alone"] = np.array(
            [item in row_hits and times_found[item] == 1 for item in row["items"].tolist()]
        )


def _found(numbers: Numbers) -> str:
    """Say in words how many images each run alone finds."""
    finders = []
    for row in numbers["rows"]:
        if row["alone"].any():
            finders.append(f"{int(row['alone'].sum())} by {row['name']}")
    if not finders:
        return "no run finds a right image that another does not"
    return "images that one run alone finds: " + ", ".join(finders)


LOOKS = {
    SAME: (style.RIGHT, style.BLUE, "solid"),
    OTHER: (style.WRONG, style.VERMILLION, "dash"),
    UNKNOWN: (style.UNSURE, style.GREY, "dot"),
}
"""Sign, colour and line of a picture with the query's label, with another label, and without a label."""


def _unsure(rows: list[dict[str, Any]]) -> str:
    """Return the words for pictures without a label; "" if there are none."""
    if any((row["right"] == UNKNOWN).any() for row in rows):
        return f"dotted and {style.UNSURE} label not known, "
    return ""


def _frame(x: float, y: float, verdict: int) -> dict:
    """Return a frame: solid blue for the query's label, dashed vermillion for another, dotted grey if unknown."""
    _, colour, dash = LOOKS[verdict]
    line = {"color": colour, "width": 3, "dash": dash}
    return {
        "type": "rect",
        "x0": x - 0.4,
        "x1": x + 0.4,
        "y0": y - 0.36,
        "y1": y + 0.36,
        "line": line,
    }
