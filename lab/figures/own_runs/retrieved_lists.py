"""001 figures 6 and 7, 003 figure 7, on own runs: the same query's list under several runs, side by side."""

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
"""Of an image, in units of the axes."""
QUERY = -0.25
"""Where the query stands, left of rank 1."""


class RetrievedLists(_runs.RunFigure):
    """The first k images of one query, a row a run: right and wrong marked, and those that one run alone finds."""

    title = "One query, several runs"
    source = "ROADMAP, figures 6 and 7; CAM, figure 7"
    question = "Which items does only one run find?"
    examples = _bundled.FOUR_LOSSES
    moves = ("query",)

    query: int = knob("Position of the query in the split.", default=0, ge=0, le=10_000_000)
    k: int = knob("Number of items to show.", default=9, ge=1, le=30)
    split: str = _runs.SPLIT

    def numbers(self, runs: Sequence = ()) -> Numbers:
        united, places = identity.unite([_runs.pictures(run, self.knobs.split) for run in runs])
        first = united.items[: len(places[0])]  # its numbers stay; images that it has not come after them
        numbers = np.r_[first, first.max() + 1 + np.arange(len(united) - len(first))]
        places = [numbers[place] for place in places]
        item_of = dict(zip(numbers.tolist(), united.items.tolist(), strict=True))
        numbered = [self._numbered(run, place) for run, place in zip(runs, places, strict=True)]
        queries = numbered[0][0].items
        if self.knobs.query >= len(queries):
            raise ValueError(f"RetrievedLists: query must be below {len(queries)}, got {self.knobs.query}.")
        image = int(queries[self.knobs.query])
        rows = [self._row(run, image, *parts) for run, parts in zip(runs, numbered, strict=True)]
        hits = [set(row["items"][row["right"] == SAME].tolist()) for row in rows]
        for row, row_hits in zip(rows, hits, strict=True):
            row["alone"] = np.array(
                [item in row_hits and sum(item in hit for hit in hits) == 1 for item in row["items"]]
            )
        items = {row["item"] for row in rows}.union(*(row["items"].tolist() for row in rows))
        pictures: dict[int, str] = {}
        names: dict[int, str] = {}
        for run, place in zip(runs, places, strict=True):  # the first run that has an image shows it
            own = {image: item_of[image] for image in items & set(place.tolist()) - names.keys()}
            images = _thumbnails.images(run)
            drawn, called = _thumbnails.pictures(images, own.values()), _thumbnails.names(images, own.values())
            pictures |= {image: drawn[item] for image, item in own.items() if item in drawn}
            names |= {image: called[item] for image, item in own.items()}
        return {"rows": rows, "pictures": pictures, "names": names}

    def _numbered(self, run: Any, place: np.ndarray) -> tuple[EmbeddingSet, EmbeddingSet]:
        """Queries and gallery of a run under the numbers that all runs share. place: that of each of its pictures."""
        query = _runs.test_embeddings(run, self.knobs.split)
        gallery = run.embeddings(self.knobs.split, "gallery") or query
        known = _runs.pictures(run, self.knobs.split).items
        ours = replace(query, items=place[identity.rows_of(known, query.items)])
        if gallery is query:
            return ours, ours
        return ours, replace(gallery, items=place[identity.rows_of(known, gallery.items)])

    def _row(self, run: Any, image: int, query: EmbeddingSet, gallery: EmbeddingSet) -> dict[str, Any]:
        """The list of one run for an image."""
        at = np.flatnonzero(query.items == image)[:1]
        if not len(at):
            raise ValueError(f"RetrievedLists: run {run.name!r} has not embedded this query; choose another one.")
        scores = gallery.vectors @ query.vectors[at[0]]
        if gallery is query:
            scores[at[0]] = -np.inf
        order = np.argsort(-scores, kind="stable")[: min(self.knobs.k, len(scores) - (gallery is query))]
        return {
            "name": run.name, "items": gallery.items[order], "scores": scores[order],
            "right": compared(gallery.labels[order], query.labels[at[0]]),
            "item": image,
        }  # fmt: skip

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows, pictures, names = numbers["rows"], numbers["pictures"], numbers["names"]
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
        figure.update_yaxes(
            range=[len(rows) - 0.4, -0.5], tickvals=list(range(len(rows))), showgrid=False, zeroline=False,
            ticktext=[f"{row['name'].replace(': ', ':<br>')}<br>{(row['right'] == SAME).sum()} right" for row in rows],
        )  # fmt: skip
        return figure.update_xaxes(
            range=[QUERY - 0.5, width + 0.5], tickvals=[QUERY, *range(1, width + 1)], showgrid=False, zeroline=False,
            ticktext=["query", *map(str, range(1, width + 1))],
        )  # fmt: skip

    @staticmethod
    def _add_captions(figure: PlotlyFigure, row: Numbers, line: int, names: dict[int, str], width: int) -> None:
        """Mark and score below each image, and its name when it is pointed at."""
        marks = [LOOKS[int(verdict)][0] for verdict in row["right"]]
        between = "<br>" if width > 10 else " "
        scores = [f"{between}{score:.2f}" if width <= 16 else "" for score in row["scores"]]
        stars = [" ★" if alone else "" for alone in row["alone"]]
        figure.add_scatter(
            x=np.arange(1, len(marks) + 1), y=np.full(len(marks), line + 0.46), mode="text", showlegend=False,
            text=["".join(parts) for parts in zip(marks, scores, stars, strict=True)],
            textfont={"color": [LOOKS[int(verdict)][1] for verdict in row["right"]]},
            customdata=[names[item] for item in row["items"].tolist()],
            hovertemplate="%{customdata}, rank %{x}<br>%{text}<extra>" + row["name"] + "</extra>",
        )  # fmt: skip

    def alt(self, numbers: Numbers) -> str:
        rows, alone = numbers["rows"], _found(numbers)
        values = "; ".join(f"{row['name']} {(row['right'] == SAME).sum()} of {len(row['items'])} right" for row in rows)
        return (
            f"The list of the query {numbers['names'][rows[0]['item']]} under {len(rows)} runs: {values}. "
            f"{alone[0].upper()}{alone[1:]}."
        )


def _found(numbers: Numbers) -> str:
    """What one run alone finds, in words."""
    finders = [f"{int(row['alone'].sum())} by {row['name']}" for row in numbers["rows"] if row["alone"].any()]
    if not finders:
        return "no run finds a right image that another does not"
    return "images that one run alone finds: " + ", ".join(finders)


LOOKS = {
    SAME: (style.RIGHT, style.BLUE, "solid"),
    OTHER: (style.WRONG, style.VERMILLION, "dash"),
    UNKNOWN: (style.UNSURE, style.GREY, "dot"),
}
"""Sign, colour and line of a picture of the query's label, of another, and where a label is not known."""


def _unsure(rows: list[dict[str, Any]]) -> str:
    """The words for pictures without a label, where there are any."""
    there = any((row["right"] == UNKNOWN).any() for row in rows)
    return f"dotted and {style.UNSURE} label not known, " if there else ""


def _frame(x: float, y: float, verdict: int) -> dict:
    """Around a picture: solid blue for the query's label, dashed vermillion for another, dotted grey where unknown."""
    _, colour, dash = LOOKS[verdict]
    line = {"color": colour, "width": 3, "dash": dash}
    return {"type": "rect", "x0": x - 0.4, "x1": x + 0.4, "y0": y - 0.36, "y1": y + 0.36, "line": line}
