"""A query and what came back, as a figure for a paper: print size, frames and signs that a grey print still tells."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lab.core.results import Evidence
from lab.core.style import BLUE, VERMILLION

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

WIDTH, DPI = 17.0, 300
"""Width of a page's text in centimetres, and dots an inch."""
POINTS = 7.0
"""Size of the captions."""


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
    """One query and its first neighbours, each with its class, rank and similarity.

    Right neighbours have a solid blue frame and a check mark in a circle, wrong ones a dashed vermillion frame and a
    cross in a diamond, so that neither colour nor print is needed to tell them apart.

    Args:
        load: position in the data set -> image, for instance `ImageSet.load`.
        evidence: the ranking, with the embedding sets whose `items` number the images.
        query: row of the ranking.
        k: neighbours, at most as many as the ranking kept.
        names: class names, by label; the captions tell the label's number without them.
        judged: whether there is a right and a wrong; not for a query without a class.
        per_line: neighbours in a line.
        width: of the figure, in centimetres. dpi: dots an inch.

    Returns:
        RGB picture; `figure_bytes` makes a file of it.

    Raises:
        ValueError: a row that the ranking does not have, or a figure too narrow to be drawn.

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
    places = [at for at in range(min(k, ranking.neighbours.shape[1])) if ranking.neighbours[query, at] >= 0]
    sheet = _Sheet(len(places), per_line, width, dpi, judged)
    label = int(ranking.query_labels[query])
    sheet.put(0, 0, load(int(evidence.query.items[query])), "query", _name(names, label), None)
    for number, place in enumerate(places):
        position = int(ranking.neighbours[query, place])
        right = bool(ranking.hits[query, place]) if judged else None
        caption = f"{place + 1} · {ranking.scores[query, place]:.2f}"
        # The class that the data gives it, whatever a person said of it.
        name = _name(names, int(evidence.gallery.labels[position]))
        item = int(evidence.gallery.items[position])
        sheet.put(1 + number % per_line, number // per_line, load(item), caption, name, right)
    return sheet.picture


def figure_bytes(picture: Image.Image, format: str = "png", dpi: int = DPI) -> bytes:
    """A figure as a file that knows its size on paper: png, or pdf, which holds the same dots.

    Raises:
        ValueError: another format.

    Example:
        >>> import lab
        >>> from PIL import Image
        >>> lab.figures.figure_bytes(Image.new("RGB", (30, 30)), "pdf")[:4]
        b'%PDF'
    """
    if format not in ("png", "pdf"):
        raise ValueError(f"A figure of a query is saved as png or pdf, got {format!r}.")
    buffer = io.BytesIO()
    options = {"dpi": (dpi, dpi)} if format == "png" else {"resolution": float(dpi)}
    picture.save(buffer, format.upper(), **options)
    return buffer.getvalue()


def _name(names: Sequence[str] | None, label: int) -> str:
    if names is None:
        return f"class {label}"
    return str(names[label]) if 0 <= label < len(names) else ""


class _Sheet:
    """The picture while it is drawn."""

    def __init__(self, count: int, per_line: int, width: float, dpi: int, judged: bool):
        from PIL import Image, ImageDraw, ImageFont

        self.gap = max(2, round(0.012 * width / 2.54 * dpi))
        columns = 1 + max(1, min(count, per_line))
        across = round(width / 2.54 * dpi)
        self.side = (across - (columns + 2) * self.gap) // columns
        if self.side < 24:
            raise ValueError(
                f"{columns} pictures do not fit into {width:g} cm at {dpi} dots an inch; show fewer a line."
            )
        self.font: ImageFont.ImageFont | ImageFont.FreeTypeFont = ImageFont.load_default(POINTS / 72 * dpi)
        self.line = round(1.25 * POINTS / 72 * dpi)
        self.row = self.side + 2 * self.line + 2 * self.gap
        lines = max(1, -(-count // per_line))
        height = lines * self.row + self.gap + (self.line + self.gap) * judged
        self.picture: Image.Image = Image.new("RGB", (across, height), "white")
        self.draw: ImageDraw.ImageDraw = ImageDraw.Draw(self.picture)
        self.stroke = max(2, round(dpi / 75))
        if judged:
            self._legend(height - self.line - self.gap)

    def put(self, column: int, line: int, picture: Image.Image, caption: str, name: str, right: bool | None) -> None:
        """A picture with its frame, sign and captions; column 0 is the query's."""
        left = self.gap + column * (self.side + self.gap) + self.gap * (column > 0)
        top = self.gap + line * self.row
        inner = self.side - 4 * self.stroke
        scale = inner / max(picture.size)
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        self.picture.paste(
            picture.convert("RGB").resize(size), (left + (self.side - size[0]) // 2, top + (self.side - size[1]) // 2)
        )
        box = (left, top, left + self.side - 1, top + self.side - 1)
        if right is None:
            self.draw.rectangle(box, outline="black", width=max(1, self.stroke // 2))
        else:
            self._frame(box, right)
            radius = self.side // 9
            self._sign(box[2] - radius - self.stroke, box[1] + radius + self.stroke, radius, right)
        for number, words in enumerate((caption, name)):
            self.draw.text((left, box[3] + self.gap // 2 + number * self.line), self._fitted(words), "black", self.font)

    def _frame(self, box: tuple[int, int, int, int], right: bool) -> None:
        if right:
            self.draw.rectangle(box, outline=BLUE, width=self.stroke)
            return
        left, top, last, bottom = box
        dash, half = 4 * self.stroke, self.stroke // 2
        for start in range(left, last, 2 * dash):
            for y in (top + half, bottom - half):
                self.draw.line((start, y, min(start + dash, last), y), VERMILLION, self.stroke)
        for start in range(top, bottom, 2 * dash):
            for x in (left + half, last - half):
                self.draw.line((x, start, x, min(start + dash, bottom)), VERMILLION, self.stroke)

    def _sign(self, x: int, y: int, radius: int, right: bool) -> None:
        """A check mark in a circle, or a cross in a diamond, around a point."""
        at, width = radius / 2, max(2, radius // 4)
        if right:
            self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=BLUE)
            self.draw.line([(x - at, y), (x - at / 3, y + at), (x + at, y - at)], "white", width, joint="curve")
            return
        far = round(1.25 * radius)
        self.draw.polygon([(x, y - far), (x + far, y), (x, y + far), (x - far, y)], fill=VERMILLION)
        at = radius / 2.6
        for sign in (-1, 1):
            self.draw.line([(x - at, y - sign * at), (x + at, y + sign * at)], "white", width)

    def _legend(self, top: int) -> None:
        left, radius = self.gap, round(0.42 * self.line)
        for right, words in ((True, "right: of the query's class"), (False, "wrong: of another class")):
            self._sign(left + round(1.25 * radius), top + self.line // 2, radius, right)
            left += 3 * radius
            self.draw.text((left, top), words, "black", self.font)
            left += round(self.draw.textlength(words, self.font)) + 3 * self.gap

    def _fitted(self, words: str) -> str:
        if self.draw.textlength(words, self.font) <= self.side:
            return words
        while words and self.draw.textlength(words + "…", self.font) > self.side:
            words = words[:-1]
        return words + "…"
