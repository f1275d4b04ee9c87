"""Queries and what came back, as one picture: for notebooks, exports and papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lab.core.results import UNRANKED, Evidence
from lab.core.style import BLUE, GREY, VERMILLION

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

GAP, CAPTION, FRAME = 10, 18, 4


def contact_sheet(
    load: Callable[[int], Image.Image], evidence: Evidence, queries: Sequence[int], k: int = 8, missed: int = 2,
    size: int = 84, names: Sequence[str] | None = None, per_line: int | None = None,
) -> Image.Image:  # fmt: skip
    """One line a query: the query, its first neighbours with rank and score, and the best-placed positives that are not
    among them.

    Right neighbours have a solid blue frame and a check mark, wrong ones a dashed vermillion frame and a cross, missed
    positives a grey frame and the rank at which they came.

    Args:
        load: position in the data set -> image, for instance `ImageSet.load`.
        evidence: the ranking, with the embedding sets whose `items` number the images.
        queries: rows of the ranking to show.
        k: neighbours a line, at most as many as the ranking kept.
        missed: missed positives a line.
        size: side of an image in pixels.
        names: class names, to write under the query.
        per_line: neighbours after which a query goes on in a new line; all stand in one by default.

    Returns:
        RGB picture.

    Raises:
        ValueError: a row that the ranking does not have.
    """
    from PIL import Image, ImageDraw

    ranking = evidence.ranking
    for row in queries:
        if not 0 <= row < len(ranking):
            raise ValueError(f"The ranking has queries 0 to {len(ranking) - 1}, got {row}.")
    k = min(k, ranking.neighbours.shape[1])
    cell_width, cell_height = size + 2 * FRAME + GAP, size + 2 * FRAME + CAPTION + GAP
    width = min(k, per_line or k)
    lines = -(-k // width)
    columns = 1 + width + missed
    sheet = Image.new("RGB", (GAP + columns * cell_width + 2 * GAP, GAP + len(queries) * lines * cell_height), "white")
    draw = ImageDraw.Draw(sheet)
    for line, row in enumerate(queries):
        top = GAP + line * lines * cell_height
        label = int(ranking.query_labels[row])
        caption = names[label] if names is not None else f"class {label}"
        _tile(sheet, draw, GAP, top, size, load(int(evidence.query.items[row])), None, caption)
        for place in range(k):
            neighbour = int(ranking.neighbours[row, place])
            if neighbour < 0:
                continue
            right = bool(ranking.gallery_labels[neighbour] == label)
            left, down = 2 * GAP + (1 + place % width) * cell_width, place // width * cell_height
            picture = load(int(evidence.gallery.items[neighbour]))
            caption = f"{place + 1}:  {_short(float(ranking.scores[row, place]))}"
            _tile(sheet, draw, left, top + down, size, picture, right, caption)
        for place, (item, rank) in enumerate(_missed(evidence, row, k)[:missed]):
            left = 3 * GAP + (1 + width + place) * cell_width
            picture = load(int(evidence.gallery.items[item]))
            _tile(sheet, draw, left, top, size, picture, None, "lost" if rank == UNRANKED else f"missed: {rank:,}")
    return sheet


def _short(score: float) -> str:
    """Two decimals; one digit where they would all be zeros, as for distances on a map."""
    return f"{score:.1g}" if 0 < abs(score) < 0.005 else f"{score:.2f}"


def _missed(evidence: Evidence, row: int, k: int) -> list[tuple[int, int]]:
    items, ranks = evidence.ranking.positives(row)
    return [(int(i), int(r)) for i, r in zip(items, ranks, strict=True) if r > k]


def _tile(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    left: int,
    top: int,
    size: int,
    picture: Image.Image,
    right: bool | None,
    caption: str,
) -> None:
    picture = picture.copy()
    picture.thumbnail((size, size))
    inset = FRAME + (size - picture.width) // 2, FRAME + (size - picture.height) // 2
    sheet.paste(picture, (left + inset[0], top + inset[1]))
    box = (left, top, left + size + 2 * FRAME - 1, top + size + 2 * FRAME - 1)
    if right is None:
        draw.rectangle(box, outline=GREY, width=1)
    elif right:
        draw.rectangle(box, outline=BLUE, width=FRAME - 1)
        _mark(draw, box, BLUE, ((0.2, 0.55), (0.42, 0.78), (0.82, 0.25)))
    else:
        _dashed(draw, box, VERMILLION)
        _mark(draw, box, VERMILLION, ((0.25, 0.25), (0.75, 0.75)), ((0.75, 0.25), (0.25, 0.75)))
    text = caption if draw.textlength(caption) <= size + 2 * FRAME else _shortened(draw, caption, size + 2 * FRAME)
    draw.text((left, box[3] + 4), text, fill="#222222")


def _shortened(draw: ImageDraw.ImageDraw, text: str, width: int) -> str:
    while text and draw.textlength(text + "...") > width:
        text = text[:-1]
    return text + "..."


def _mark(
    draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], colour: str, *strokes: Sequence[tuple[float, float]]
) -> None:
    """A sign on a white disc in the upper right corner."""
    side = 18
    left, top = box[2] - side - 2, box[1] + 3
    draw.ellipse((left, top, left + side, top + side), fill="white", outline=colour)
    for stroke in strokes:
        draw.line([(left + x * side, top + y * side) for x, y in stroke], fill=colour, width=2)


def _dashed(draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], colour: str, dash: int = 8) -> None:
    left, top, right, bottom = box
    for start in range(left, right, 2 * dash):
        end = min(start + dash, right)
        draw.line((start, top + 1, end, top + 1), fill=colour, width=FRAME - 1)
        draw.line((start, bottom - 1, end, bottom - 1), fill=colour, width=FRAME - 1)
    for start in range(top, bottom, 2 * dash):
        end = min(start + dash, bottom)
        draw.line((left + 1, start, left + 1, end), fill=colour, width=FRAME - 1)
        draw.line((right - 1, start, right - 1, end), fill=colour, width=FRAME - 1)
