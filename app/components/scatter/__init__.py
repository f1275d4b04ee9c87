"""A map of up to a million images, with a lasso, a legend with counts, histograms as filters, and lines to neighbours.

The browser downloads long columns once as binary files (`app.served`); a rerun sends only their URLs.

`st.plotly_chart` forgets zoom and lasso whenever its figure changes, which here would be every click, because the lines
to the neighbours belong to the figure. This component keeps both.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from app import served
from app.components import checked_report, component, reported, whole_numbers

MARKS = ("circle", "square", "triangle", "diamond", "plus", "cross", "star", "pentagon")
"""Shapes of the first categories. All other categories are dots."""

BROWSER_PARAMETERS = ("zoom", "bars", "contours")
"""URL parameters that the browser writes and reads without the server."""

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#F0E442")


@dataclass(frozen=True)
class Category:
    """A line of the legend. count: number of its points. colour: "" is grey."""

    name: str
    count: int
    mark: str = "dot"
    colour: str = ""


@dataclass(frozen=True)
class Histogram:
    """A histogram that filters the map. labels: at most 256. codes: int [n], index into `labels`."""

    name: str
    labels: Sequence[str]
    codes: np.ndarray


@dataclass(frozen=True)
class Pair:
    """A second map of the same points.

    before: [n 2], positions on the first map; `MapPoints` has those on the second. names: of the two maps.
    view: "side" by side, or "one" animated from the first to the second.
    """

    before: np.ndarray
    names: tuple[str, str]
    view: str


@dataclass(frozen=True)
class MapPoints:
    """The points of a map.

    version: identifies the set of points. When it changes, the browser resets zoom and selection.
    ids: int64 [n].
    flat: [n 2], positions.
    names: int64 [n], index of each point's name in `vocabulary`.
    categories: int64 [n], index of each point's category in `legend`.
    pictures: URL of a picture without the id at its end.
    """

    version: str
    ids: np.ndarray
    flat: np.ndarray
    names: np.ndarray
    vocabulary: Sequence[str]
    categories: np.ndarray
    legend: Sequence[Category]
    pictures: str = ""
    filters: Sequence[Histogram] = ()
    pair: Pair | None = None

    def files(self, selected: np.ndarray) -> dict[str, str]:
        """Return the URLs of the long columns, by name. selected: bool [n]."""
        columns: dict[str, np.ndarray] = {
            "ids": self.ids.astype(np.int32),
            "names": self.names.astype(np.int32),
            "categories": self.categories.astype(np.uint8),
            "known": np.frombuffer(json.dumps(list(self.vocabulary)).encode(), np.uint8),
        }
        if self.pair is None:
            columns["after"] = _scaled(self.flat, [self.flat])
        else:
            maps = [self.flat, self.pair.before]
            columns["after"] = _scaled(self.flat, maps)
            columns["before"] = _scaled(self.pair.before, maps)
        if selected.any():
            columns["selected"] = np.packbits(selected)
        for histogram in self.filters:
            columns[f"filter {histogram.name}"] = histogram.codes.astype(np.uint8)
        return {name: served.offer(column) for name, column in columns.items()}


def _scaled(flat: np.ndarray, maps: Sequence[np.ndarray]) -> np.ndarray:
    """Return the positions of a map as float32 [n 2], scaled so that the positions of all maps are in [-1, 1]."""
    low = np.min([positions.min(axis=0) for positions in maps], axis=0)
    high = np.max([positions.max(axis=0) for positions in maps], axis=0)
    half_side = max(float((high - low).max()) / 2, 1e-12)
    return ((flat - (low + high) / 2) / half_side).astype(np.float32)


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

    The callbacks run before the page is drawn again.

    Args:
        selected: bool [n], points inside the lasso.
        picked: id of the point with lines to its neighbours.
        near: ids int64 [k] of these neighbours, the nearest first, and bool [k], whether each has the point's class.
        kept: initial values of `BROWSER_PARAMETERS`.
        on_select: called with the ids int64 [s] inside the lasso; there are none after it is cleared.
        on_pick: called with the id of a clicked point.
        words: `title`, heading of the legend, and `alt`.
    """

    def on_lassoed() -> None:
        report = reported(key, "lassoed")
        if "ids" in report:
            checked_report(report, ids=list)
            on_select(np.array(whole_numbers(report["ids"]), np.int64))
            return
        # Many points are reported as one bit each.
        checked_report(report, bits=str)
        bits = np.unpackbits(np.frombuffer(base64.b64decode(report["bits"]), np.uint8))
        if 0 <= len(bits) - len(points.ids) < 8:  # otherwise they are bits of earlier points
            on_select(points.ids[bits[: len(points.ids)].astype(bool)])

    def on_picked() -> None:
        on_pick(reported(key, "picked", id=int)["id"])

    # Lines lead from the clicked point to its neighbours.
    lines = []
    if near is not None:
        neighbours, same_class = near
        for index, neighbour in enumerate(neighbours.tolist()):
            lines.append({"to": neighbour, "right": bool(same_class[index]), "rank": index + 1})
    pair = None
    if points.pair is not None:
        pair = {"names": points.pair.names, "view": points.pair.view}
    data = {
        "of": points.version,
        "count": len(points.ids),
        "files": points.files(selected),
        "code": served.code(),
        "legend": [asdict(category) for category in points.legend],
        "filters": [
            {"name": histogram.name, "labels": list(histogram.labels)}
            for histogram in points.filters
        ],
        "pair": pair,
        "pictures": points.pictures,
        "picked": picked,
        "lines": lines,
        "kept": dict(kept),
        **words,
    }

    component("scatter")(
        key=key, data=data, on_lassoed_change=on_lassoed, on_picked_change=on_picked
    )
