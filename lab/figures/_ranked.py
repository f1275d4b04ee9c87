"""Pictures of queries and their neighbours: a sheet for notebooks and exports, a figure of print size for papers.

Frames and signs also differ in form, so that they are distinct in a grey print.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lab.core.results import OTHER, SAME, UNKNOWN, UNRANKED, Evidence, compared
from lab.core.style import BLUE, GREY, VERMILLION

Right = bool | Literal["unknown"] | None
"""Whether a neighbour is of the query's class; "unknown" if it has no class; None draws no sign."""

RIGHT: dict[int, Right] = {SAME: True, OTHER: False, UNKNOWN: "unknown"}

WIDTH = 17.0
DPI = 300
"""Width of a page's text in centimetres, and dots per inch."""
POINTS = 7.0
"""Font size of the captions."""
GAP = 10
CAPTION = 18
FRAME = 4
"""Sizes of a contact sheet in pixels."""


def ranked_figure(
    load: Callable[[int], Image.Image],
    evidence: Evidence,
    query: int = 0,
    k: int = 8,
    names: Sequence[str] | None = None,
    judged: bool = True,
    per_line: int = 8,
    width: float = WIDTH,
    dpi: int = DPI,
) -> Image.Image:
    """Draw one query and its first neighbours, each with its class, rank and similarity.

    Right neighbours have a solid blue frame and a check mark in a circle, wrong neighbours a dashed vermillion frame
    and a cross in a diamond, so that they can be told apart without colour.

    Args:
        load: function from a position in the data set to an image, for instance `ImageSet.load`.
        evidence: the ranking, with the embedding sets whose `items` number the images.
        query: row of the ranking.
        k: number of neighbours; at most those that the ranking has.
        names: class names by label; without them the captions show the label.
        judged: whether neighbours are right or wrong; False for a query without a class.
        per_line: number of neighbours in a line.
        width: width of the figure in centimetres. dpi: dots per inch.

    Returns:
        RGB picture; `figure_bytes` converts it to a file.

    Raises:
        ValueError: the ranking has no such row, or the figure is too narrow.

    Example (`load` makes a picture of an image's number):
        >>> import lab, numpy as np
        >>> from PIL import Image
        >>> from lab.core.results import EmbeddingSet, Evidence
        >>> rows = np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
        >>> images = EmbeddingSet(rows, np.array([0, 0, 1]), np.arange(3))
        >>> ranking = lab.search.create("exact").build(images).rank(images, same_source=True)
        >>> load = lambda number: Image.new("RGB", (40, 40), ("red", "orange", "blue")[number])
        >>> lab.figures.ranked_figure(load, Evidence(ranking, images, images), k=2, width=8.5).width
        1004
    """
    ranking = evidence.ranking
    if not 0 <= query < len(ranking):
        raise ValueError(f"The ranking has queries 0 to {len(ranking) - 1}, got {query}.")
    places = np.flatnonzero(ranking.neighbours[query, :k] >= 0)
    verdicts = ranking.verdicts[query, places]
    sheet = _PrintFigure(
        len(places), per_line, width, dpi, judged, unknown=bool((verdicts == UNKNOWN).any())
    )
    label = int(ranking.query_labels[query])
    sheet.put(0, 0, load(int(evidence.query.items[query])), "query", _name(names, label), None)
    for number, place in enumerate(places.tolist()):
        row = int(ranking.neighbours[query, place])
        right = RIGHT[int(verdicts[number])] if judged else None
        caption = f"{place + 1} · {ranking.scores[query, place]:.2f}"
        # the label in the data, without corrections
        name = _name(names, int(evidence.gallery.labels[row]))
        picture = load(int(evidence.gallery.items[row]))
        sheet.put(1 + number % per_line, number // per_line, picture, caption, name, right)
    return sheet.picture


def figure_bytes(picture: Image.Image, format: str = "png", dpi: int = DPI) -> bytes:
    """Return a figure as the bytes of a file with its size on paper: png, or pdf with the same dots.

    Raises:
        ValueError: the format is another.

    Example:
        >>> import lab
        >>> from PIL import Image
        >>> lab.figures.figure_bytes(Image.new("RGB", (30, 30)), "pdf")[:4]
        b'%PDF'
    """
    if format not in ("png", "pdf"):
        raise ValueError(f"A figure of a query is saved as png or pdf, got {format!r}.")
    buffer = io.BytesIO()
    if format == "png":
        picture.save(buffer, "PNG", dpi=(dpi, dpi))
    else:
        picture.save(buffer, "PDF", resolution=float(dpi))
    return buffer.getvalue()


def _name(names: Sequence[str] | None, label: int) -> str:
    if names is None:
        return f"class {label}"
    return str(names[label]) if 0 <= label < len(names) else ""


def contact_sheet(
    load: Callable[[int], Image.Image],
    evidence: Evidence,
    queries: Sequence[int],
    k: int = 8,
    missed: int = 2,
    size: int = 84,
    names: Sequence[str] | None = None,
) -> Image.Image:
    """Draw one line per query: the query, its first neighbours with rank and score, and the best missed positives.

    Right neighbours have a solid blue frame and a check mark, wrong neighbours a dashed vermillion frame and a cross,
    missed positives a grey frame and their rank.

    Args:
        load: function from a position in the data set to an image, for instance `ImageSet.load`.
        evidence: the ranking, with the embedding sets whose `items` number the images.
        queries: rows of the ranking to show.
        k: number of neighbours per line; at most those that the ranking has.
        missed: number of missed positives per line.
        size: side of an image in pixels.
        names: class names, to write under the query.

    Returns:
        RGB picture.

    Raises:
        ValueError: the ranking has no such row.
    """
    ranking = evidence.ranking
    for row in queries:
        if not 0 <= row < len(ranking):
            raise ValueError(f"The ranking has queries 0 to {len(ranking) - 1}, got {row}.")
    k = min(k, ranking.neighbours.shape[1])
    cell_width = size + 2 * FRAME + GAP
    cell_height = size + 2 * FRAME + CAPTION + GAP
    columns = 1 + k + missed
    sheet = Image.new(
        "RGB", (GAP + columns * cell_width + 2 * GAP, GAP + len(queries) * cell_height), "white"
    )
    draw = ImageDraw.Draw(sheet)
    for line, row in enumerate(queries):
        top = GAP + line * cell_height
        label = int(ranking.query_labels[row])
        _tile(
            sheet,
            draw,
            GAP,
            top,
            size,
            load(int(evidence.query.items[row])),
            None,
            _name(names, label),
        )
        for place in range(k):
            neighbour = int(ranking.neighbours[row, place])
            if neighbour < 0:
                continue
            right = RIGHT[int(compared(ranking.gallery_labels[neighbour], label))]
            picture = load(int(evidence.gallery.items[neighbour]))
            caption = f"{place + 1}:  {_short(float(ranking.scores[row, place]))}"
            _tile(
                sheet, draw, 2 * GAP + (1 + place) * cell_width, top, size, picture, right, caption
            )

        # Positives beyond the first k, by their rank.
        missed_positives = [
            (item, rank) for item, rank in zip(*ranking.positives(row), strict=True) if rank > k
        ]
        for place, (item, rank) in enumerate(missed_positives[:missed]):
            left = 3 * GAP + (1 + k + place) * cell_width
            picture = load(int(evidence.gallery.items[int(item)]))
            caption = "lost" if rank == UNRANKED else f"missed: {int(rank):,}"
            _tile(sheet, draw, left, top, size, picture, None, caption)
    return sheet


def _short(score: float) -> str:
    """Return a score with two decimals, or with one significant digit if both would be zero."""
    if 0 < abs(score) < 0.005:
        return np.format_float_positional(score, 1, fractional=False)
    return f"{score:.2f}"


def _tile(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    left: int,
    top: int,
    size: int,
    picture: Image.Image,
    right: Right,
    caption: str,
) -> None:
    """Draw a picture of a sheet with its frame, sign and caption."""
    picture = picture.convert("RGB")
    picture.thumbnail((size, size))
    side = size + 2 * FRAME
    sheet.paste(picture, (left + (side - picture.width) // 2, top + (side - picture.height) // 2))
    box = (left, top, left + side - 1, top + side - 1)
    if right is None:
        draw.rectangle(box, outline=GREY, width=1)
    else:
        _frame(draw, box, right, FRAME - 1)
        _sign(draw, box[2] - 11, box[1] + 12, 9, right)
    draw.text((left, box[3] + 4), _fitted(draw, caption, side), fill="#222222")


class _PrintFigure:
    """A figure for a paper, to which pictures are added one by one."""

    def __init__(
        self, count: int, per_line: int, width: float, dpi: int, judged: bool, unknown: bool
    ):
        self.gap = max(2, round(0.012 * width / 2.54 * dpi))
        columns = 1 + max(1, min(count, per_line))
        pixels = round(width / 2.54 * dpi)
        self.side = (pixels - (columns + 2) * self.gap) // columns
        if self.side < 24:
            raise ValueError(
                f"{columns} pictures do not fit into {width:g} cm at {dpi} dots an inch; show fewer a line."
            )
        self.font = ImageFont.load_default(POINTS / 72 * dpi)
        self.line = round(1.25 * POINTS / 72 * dpi)
        self.row = self.side + 2 * self.line + 2 * self.gap
        lines = max(1, -(-count // per_line))
        height = lines * self.row + self.gap + (self.line + self.gap) * judged
        self.picture = Image.new("RGB", (pixels, height), "white")
        self.draw = ImageDraw.Draw(self.picture)
        self.stroke = max(2, round(dpi / 75))
        if judged:
            self._legend(height - self.line - self.gap, unknown)

    def put(
        self, column: int, line: int, picture: Image.Image, caption: str, name: str, right: Right
    ) -> None:
        """Add a picture with its frame, sign and captions; column 0 is the query's."""
        left = self.gap + column * (self.side + self.gap) + self.gap * (column > 0)
        top = self.gap + line * self.row
        inner = self.side - 4 * self.stroke
        scale = inner / max(picture.size)
        width = max(1, round(picture.width * scale))
        height = max(1, round(picture.height * scale))
        corner = (left + (self.side - width) // 2, top + (self.side - height) // 2)
        self.picture.paste(picture.convert("RGB").resize((width, height)), corner)
        box = (left, top, left + self.side - 1, top + self.side - 1)
        if right is None:
            self.draw.rectangle(box, outline="black", width=max(1, self.stroke // 2))
        else:
            _frame(self.draw, box, right, self.stroke)
            radius = self.side // 9
            _sign(
                self.draw,
                box[2] - radius - self.stroke,
                box[1] + radius + self.stroke,
                radius,
                right,
            )
        for number, words in enumerate((caption, name)):
            fitted = _fitted(self.draw, words, self.side, self.font)
            self.draw.text(
                (left, box[3] + self.gap // 2 + number * self.line), fitted, "black", self.font
            )

    def _legend(self, top: int, unknown: bool) -> None:
        left = self.gap
        radius = round(0.42 * self.line)
        lines: dict[Right, str] = {
            True: "right: of the query's class",
            False: "wrong: of another class",
        }
        if unknown:
            lines["unknown"] = "class not known"
        for right, words in lines.items():
            _sign(self.draw, left + round(1.25 * radius), top + self.line // 2, radius, right)
            left += 3 * radius
            self.draw.text((left, top), words, "black", self.font)
            left += round(self.draw.textlength(words, self.font)) + 3 * self.gap


def _frame(
    draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], right: Right, stroke: int
) -> None:
    """Draw a frame: solid and blue for a right neighbour, dashed and vermillion for a wrong one, else dotted, grey."""
    if right is True:
        draw.rectangle(box, outline=BLUE, width=stroke)
        return
    if right is False:
        colour = VERMILLION
        dash = 4 * stroke
    else:
        colour = GREY
        dash = stroke
    left, top, last, bottom = box
    half = stroke // 2
    for start in range(left, last, 2 * dash):
        for y in (top + half, bottom - half):
            draw.line((start, y, min(start + dash, last), y), colour, stroke)
    for start in range(top, bottom, 2 * dash):
        for x in (left + half, last - half):
            draw.line((x, start, x, min(start + dash, bottom)), colour, stroke)


def _sign(draw: ImageDraw.ImageDraw, x: int, y: int, radius: int, right: Right) -> None:
    """Draw a check mark in a circle, a cross in a diamond, or a question mark in a square, around a point."""
    at = radius / 2
    width = max(2, radius // 4)
    if right == "unknown":
        draw.rectangle((x - radius, y - radius, x + radius, y + radius), fill=GREY)
        draw.text((x, y), "?", "white", ImageFont.load_default(1.6 * radius), anchor="mm")
        return
    if right:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=BLUE)
        draw.line(
            [(x - at, y), (x - at / 3, y + at), (x + at, y - at)], "white", width, joint="curve"
        )
        return
    far = round(1.25 * radius)
    draw.polygon([(x, y - far), (x + far, y), (x, y + far), (x - far, y)], fill=VERMILLION)
    at = radius / 2.6
    for sign in (-1, 1):
        draw.line([(x - at, y - sign * at), (x + at, y + sign * at)], "white", width)


def _fitted(draw: ImageDraw.ImageDraw, words: str, width: int, font: Any = None) -> str:
    """Return the words, shortened to this width in pixels."""
    if draw.textlength(words, font) <= width:
        return words
    while words and draw.textlength(words + "…", font) > width:
        words = words[:-1]
    return words + "…"
