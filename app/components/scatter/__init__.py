"""A map of images: up to a million points, with a lasso, a legend that counts, histograms that filter, and neighbours.

Long columns go to the browser as binary files that it fetches once (`app.served`); a rerun sends addresses.

`st.plotly_chart` forgets zoom and lasso whenever its figure changes, and here it changes at every click: the lines to
the neighbours of the clicked image are part of it. This component keeps both.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from app import served
from app.components import checked, component, told, whole_numbers

MARKS = ("circle", "square", "triangle", "diamond", "plus", "cross", "star", "pentagon")
"""Shapes of the first categories; what comes after them shares the dot."""
KEPT = ("zoom", "bars", "contours")
"""What the browser writes into the page's address by itself, by name, and alone reads."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#F0E442")


@dataclass(frozen=True)
class Category:
    """A line of the legend. count: its points on the map; colour empty means grey."""

    name: str
    count: int
    mark: str = "dot"
    colour: str = ""


@dataclass(frozen=True)
class Histogram:
    """A histogram that filters the map. codes: int [n], as positions in `labels`, of which there are at most 256."""

    name: str
    labels: Sequence[str]
    codes: np.ndarray


@dataclass(frozen=True)
class Pair:
    """Two maps of the same points. before: [n 2], the places on the first; the second's are those of `MapPoints`.

    names: of the two. view: "side" by side, or as "one" that goes from the first to the second.
    """

    before: np.ndarray
    names: tuple[str, str]
    view: str


@dataclass(frozen=True)
class MapPoints:
    """What is on the map. of: changes when these are other points, so that zoom and selection start anew.

    ids: int64 [n]. flat: [n 2]. names: int64 [n], what each is called, as a position in `known`. categories: int64 [n],
    as positions in `legend`. pictures: the address of a picture, but for the id at its end.
    """

    of: str
    ids: np.ndarray
    flat: np.ndarray
    names: np.ndarray
    known: Sequence[str]
    categories: np.ndarray
    legend: Sequence[Category]
    pictures: str = ""
    filters: Sequence[Histogram] = ()
    pair: Pair | None = None

    def files(self, selected: np.ndarray) -> dict[str, str]:
        """The addresses of the long columns, by name. selected: bool [n]."""
        maps = (self.flat,) if self.pair is None else (self.flat, self.pair.before)
        columns = {
            **{name: _scaled(flat, *maps) for name, flat in zip(("after", "before"), maps, strict=False)},
            **{name: getattr(self, name).astype(np.int32) for name in ("ids", "names")},
            "categories": self.categories.astype(np.uint8),
            "known": np.frombuffer(json.dumps(list(self.known)).encode(), np.uint8),
        }
        if selected.any():
            columns["selected"] = np.packbits(selected)
        columns |= {f"filter {one.name}": one.codes.astype(np.uint8) for one in self.filters}
        return {name: served.offer(column) for name, column in columns.items()}


def _scaled(flat: np.ndarray, *maps: np.ndarray) -> np.ndarray:
    """Places float32 [n 2] of one of several maps, moved and shrunk so that all lie between -1 and 1."""
    sides = [[(flat[:, axis].min(), flat[:, axis].max()) for axis in (0, 1)] for flat in maps]
    low, high = np.min(sides, axis=(0, 2)), np.max(sides, axis=(0, 2))
    return ((flat - (low + high) / 2) / max(float((high - low).max()) / 2, 1e-12)).astype(np.float32)


def scatter(
    points: MapPoints,
    *,
    key: str,
    selected: np.ndarray,
    picked: int | None,
    near: tuple[np.ndarray, np.ndarray] | None,
    kept: Mapping[str, str],
    on_select: Callable[[np.ndarray], None],
    on_pick: Callable[[int], None],
    **words: str,
) -> None:
    """Draw the map.

    Args:
        selected: bool [n], what is inside the lasso.
        picked: id of the point whose lines are drawn.
        near: ids int64 [k] of the points that they lead to, the nearest first, and bool [k], whether each is of its
            class.
        kept: the words of `KEPT`, with which a map that is drawn for the first time begins.
        on_select: called with the ids int64 [s] that were lassoed, before the page is drawn again; empty when the
            lasso is cleared.
        on_pick: called with the id of a clicked point.
        words: `title`, what the legend lists, and `alt`.
    """

    def lassoed() -> None:
        """They come as a list, or as one bit for each point where they are many."""
        report = told(key, "lassoed")
        if "ids" in report:
            on_select(np.array(whole_numbers(checked(report, ids=list)["ids"]), np.int64))
            return
        bits = np.frombuffer(base64.b64decode(checked(report, bits=str)["bits"]), np.uint8)
        if len(bits) == -(-len(points.ids) // 8):  # else they are of the points before
            on_select(points.ids[np.unpackbits(bits, count=len(points.ids)).astype(bool)])

    lines = zip(*(column.tolist() for column in near), strict=True) if near else ()
    data = {
        "of": points.of,
        "count": len(points.ids),
        "files": points.files(selected),
        "code": served.code(),
        "legend": [asdict(one) for one in points.legend],
        "filters": [{"name": one.name, "labels": list(one.labels)} for one in points.filters],
        "pair": None if points.pair is None else {"names": points.pair.names, "view": points.pair.view},
        "pictures": points.pictures,
        "picked": picked,
        "lines": [{"to": to, "right": right, "rank": rank} for rank, (to, right) in enumerate(lines, 1)],
        "kept": dict(kept),
        **words,
    }

    def clicked() -> None:
        on_pick(told(key, "picked", id=int)["id"])

    component("scatter")(key=key, data=data, on_lassoed_change=lassoed, on_picked_change=clicked)
