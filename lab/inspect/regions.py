"""Why two pictures are alike: which regions of both make their cosine similarity.

Where an encoder pools a map of features and only linear maps follow, an embedding is a sum over places,
e = sum_p e_p + c, and so is the cosine with another one: cos(e, o) = sum_p e_p.o / |e||o| + c.o / |e||o|. The parts
are those of `Encoder.parts`; what no place brings (c, the bias) is the remainder. The sum is exact for every
pooling. How it is shared out follows from the formula for the average alone: of a generalised mean or a maximum, a
picture without that place would lose another amount, since the places share one power or one winner. A place is one of
the last map: what convolutions or attention brought there from around it is counted there.

For everything else there are integrated gradients (Sundararajan et al. 2017) over the pixels, from a picture of the
mean colour to this one, added up over cells; the remainder is then the similarity that the empty picture has, and
the error of summing in steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lab.core import style
from lab.inspect._insight import Insight, frame

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

CELLS = 14
"""Cells a side that pixels are added up over, for an encoder without patches."""
MATCHES = 5
"""Pairs of regions that are named: those that add most to the cosine."""
STEPS, AT_ONCE = 32, 8
"""Steps of the integral, and how many of them are embedded at once."""
ROWS, COLUMNS = ("upper", "middle", "lower"), ("left", "centre", "right")


@dataclass(frozen=True)
class AlikeRegions(Insight):
    """What the regions of two pictures add to their cosine similarity, from the upper left corner.

    similarity: the cosine, -1..1.
    maps: two arrays float64 [h w], in units of the cosine; of the first picture, and of the second. Each sums to
        `similarity - left_over`.
    left_over: the remainder, which comes from no region, of each picture.
    exact: whether the parts are a sum by algebra; else they are integrated gradients.
    held: what the sum takes as given, in words.
    pictures: uint8 [s s 3] each, as the encoder saw them; None where they were not given.
    matches: the regions that match best: place in the one, place in the other, row by row, and what the pair adds to
        the cosine; only where it is exact.

    Example:
        >>> import numpy as np
        >>> maps = np.array([[0.5, 0.1], [0.1, 0.1]]), np.array([[0.2, 0.2], [0.2, 0.2]])
        >>> lab.inspect.AlikeRegions(0.9, maps, (0.1, 0.1), exact=True).summary
        'Cosine 0.9000; an exact sum over regions: 0.8000 + remainder 0.1000 and 0.8000 + remainder 0.1000.'
    """

    similarity: float
    maps: tuple[np.ndarray, np.ndarray]
    left_over: tuple[float, float]
    exact: bool
    held: str = ""
    pictures: tuple[np.ndarray, np.ndarray] | None = None
    matches: tuple[tuple[int, int, float], ...] = ()

    @property
    def largest(self) -> float:
        """The greatest amount of any cell, which stands for full colour in pictures."""
        return max(float(np.abs(one).max()) for one in self.maps)

    @property
    def summary(self) -> str:
        sums = " and ".join(
            f"{one.sum():.4f} + remainder {rest:.4f}" for one, rest in zip(self.maps, self.left_over, strict=True)
        )
        kind = "an exact sum over regions" if self.exact else "integrated gradients, a sum up to the remainder"
        return f"Cosine {self.similarity:.4f}; {kind}: {sums}.{' ' + self.held if self.held else ''}"

    def words(self, which: int) -> str:
        """Where the similarity of a picture (0 or 1) comes from, in ninths of it: a map for those who do not see it."""
        values = self.maps[which]
        ninths = _thirds(values.shape[0]) @ values @ _thirds(values.shape[1]).T
        names = [f"{row} {column}" for row in ROWS for column in COLUMNS]
        order = np.argsort(-np.abs(ninths.ravel()), kind="stable")[:3]
        return "most from " + ", ".join(f"{names[at]} ({ninths.ravel()[at]:+.3f})" for at in order)

    def to_frame(self) -> pd.DataFrame:
        """One row a cell: picture (1 or 2), row and column from 0, contribution to the cosine."""
        cells = [(1 + at, *place, value) for at, one in enumerate(self.maps) for place, value in np.ndenumerate(one)]
        return frame(**dict(zip(("picture", "row", "column", "contribution"), zip(*cells, strict=True), strict=True)))

    def figure(self) -> go.Figure:
        """Both pictures, with what each region adds over them: blue raises the similarity, vermillion lowers it."""
        import plotly.graph_objects as go

        figure = style.canvas(
            "Why these two are alike", self.summary, panels=(self.words(0), self.words(1)), height=520
        )
        limit = self.largest or 1.0
        clear = [(0.0, "rgba(213,94,0,0.85)"), (0.5, "rgba(247,247,247,0)"), (1.0, "rgba(0,114,178,0.85)")]
        for column, one in enumerate(self.maps, start=1):
            side = len(one) if self.pictures is None else len(self.pictures[column - 1])
            if self.pictures is not None:
                figure.add_image(z=self.pictures[column - 1], hoverinfo="skip", row=1, col=column)
            height, width = side / one.shape[0], side / one.shape[1]
            cells = go.Heatmap(
                z=one, x0=width / 2 - 0.5, dx=width, y0=height / 2 - 0.5, dy=height, zmin=-limit, zmax=limit,
                colorscale=clear, showscale=column == 2, colorbar={"title": "of the cosine,<br>a cell"},
                hovertemplate="%{z:+.4f} of the cosine<extra></extra>",
            )  # fmt: skip
            figure.add_trace(cells, row=1, col=column)
        figure.update_xaxes(visible=False, constrain="domain")
        figure.update_yaxes(visible=False, autorange="reversed", constrain="domain")
        figure.update_yaxes(scaleanchor="x", row=1, col=1)
        return figure.update_yaxes(scaleanchor="x2", row=1, col=2)


def _thirds(cells: int) -> np.ndarray:
    """float64 [3 cells]: which share of each cell of a row lies in each third of it."""
    edges = np.arange(cells + 1) * 3 / cells
    bands = np.arange(3)[:, None]
    overlap = np.clip(np.minimum(edges[1:], bands + 1) - np.maximum(edges[:-1], bands), 0, None)
    return overlap / overlap.sum(axis=0)


def contributions(parts: Tensor, constant: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """The cosine between an embedding that is a sum over places and another one, place by place.

    Args:
        parts: [d h w]. constant: [d], what no place brings. other: [d], of any length.

    Returns:
        contributions [h w] and the remainder, a scalar; together they are the cosine.

    Example:
        >>> import torch
        >>> parts = torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]])  # two places, one above the other's axis
        >>> places, rest = lab.inspect.contributions(parts, torch.zeros(2), torch.tensor([5.0, 0.0]))
        >>> places.tolist(), rest.item()
        ([[0.3333333432674408, 0.6666666865348816]], 0.0)
    """
    whole = parts.sum(dim=(-2, -1)) + constant
    direction = F.normalize(other, dim=0) / whole.norm().clamp(min=torch.finfo(whole.dtype).tiny)
    return torch.einsum("dhw,d->hw", parts, direction), constant @ direction


def _best_matches(one: Tensor, other: Tensor) -> tuple[tuple[int, int, float], ...]:
    """Pairs of a place in the one picture and one in the other, and what they add to the cosine, the best first; no
    place twice. one, other: [d h w], parts of embeddings of unit length; places count row by row."""
    shares = one.flatten(1).T @ other.flatten(1)
    found = []
    for _ in range(min(MATCHES, *shares.shape)):
        place, twin = divmod(int(shares.argmax()), shares.shape[1])
        if shares[place, twin] <= 0:
            break
        found.append((place, twin, float(shares[place, twin])))
        shares[place], shares[:, twin] = -torch.inf, -torch.inf
    return tuple(found)


def integrated_gradients(
    embed: Callable[[Tensor], Tensor], image: Tensor, other: Tensor, cells: int = CELLS, steps: int = STEPS
) -> Tensor:
    """What each cell of a picture adds to its cosine with an embedding, by integrated gradients from zeros.

    Args:
        embed: normalised images [n 3 h w] to embeddings [n d].
        image: [3 h w]. other: [d].
        cells: a side of the answer.
        steps: points of the integral, by the midpoint rule.

    Returns:
        float64 [cells cells], whose sum is about cos(image) - cos(zeros).

    Example (a cosine that only the first pixel's red makes):
        >>> import torch
        >>> embed = lambda images: torch.stack([images[:, 0, 0, 0], torch.ones(len(images))], dim=1)
        >>> image = torch.zeros(3, 2, 2); image[0, 0, 0] = 1
        >>> lab.inspect.integrated_gradients(embed, image, torch.tensor([1.0, 0.0]), cells=2).round(decimals=2).tolist()
        [[0.71, 0.0], [0.0, 0.0]]
    """
    towards = F.normalize(other.detach().double(), dim=0)
    total = torch.zeros(image.shape, dtype=torch.float64, device=image.device)
    points = ((torch.arange(steps) + 0.5) / steps).to(image)
    for some in points.split(AT_ONCE):
        path = (some[:, None, None, None] * image).detach().requires_grad_()
        with torch.enable_grad():
            cosines = F.normalize(embed(path).double(), dim=1) @ towards
            total += torch.autograd.grad(cosines.sum(), path)[0].double().sum(0)
    return _binned((image.double() * total / steps).sum(0), cells)


def _binned(values: Tensor, cells: int) -> Tensor:
    """Sums [cells cells] over the cells of a map [h w]; where it does not divide, some cells are a row larger."""
    for dim in (0, 1):
        size = values.shape[dim]
        places = torch.arange(size, device=values.device) * cells // size
        shape = list(values.shape)
        shape[dim] = cells
        values = values.new_zeros(shape).index_add(dim, places, values)
    return values


def alike_regions(
    encoder: Any,
    first: Tensor,
    second: Tensor,
    *,
    flip: bool = False,
    unit: bool = True,
    embed: Callable[[Tensor], Tensor] | None = None,
    by_parts: bool = True,
    pictures: tuple[np.ndarray, np.ndarray] | None = None,
) -> AlikeRegions:
    """Which regions of two pictures make their cosine similarity; exactly where the encoder has `parts` of them.

    Args:
        encoder: a module, normalised images [n 3 h w] to embeddings [n d]; one of `lab.encoders`, or any other.
        first, second: normalised images [3 h w].
        flip: an embedding is the sum of those of the picture and of its mirror image; unit: of each at unit length.
        embed: normalised images [n 3 h w] to embeddings [n d], where that is more than the encoder and flipping.
        by_parts: whether the encoder's parts are those of `embed`; else gradients are taken of it.
        pictures: uint8 [s s 3] each, to draw under the maps.

    Example (an encoder that averages the colours of four places):
        >>> import torch
        >>> encoder = lab.encoders.create("small_cnn", pooling="avg").eval()
        >>> found = lab.inspect.alike_regions(encoder, torch.rand(3, 32, 32), torch.rand(3, 32, 32))
        >>> found.exact, found.maps[0].shape
        (True, (4, 4))
        >>> bool(abs(found.maps[0].sum() + found.left_over[0] - found.similarity) < 1e-6)
        True
    """
    sums = [_whole(encoder, one, flip, unit) if by_parts else None for one in (first, second)]
    if all(one is not None for one in sums):
        return _exact(sums, _held(encoder), pictures)

    def plain(images: Tensor) -> Tensor:
        embeddings = [encoder(view) for view in ([images, images.flip(-1)] if flip else [images])]
        return torch.stack([F.normalize(one, dim=-1) if unit else one for one in embeddings]).sum(0)

    embed = embed or plain
    with torch.no_grad():
        vectors = embed(torch.stack([first, second])).double()
    similarity = float(F.cosine_similarity(vectors[0], vectors[1], dim=0))
    cells = _cells(encoder, first.shape[-1])
    maps = [
        integrated_gradients(embed, one, other, cells).cpu().numpy()
        for one, other in ((first, vectors[1]), (second, vectors[0]))
    ]
    rest = similarity - float(maps[0].sum()), similarity - float(maps[1].sum())
    return AlikeRegions(similarity, (maps[0], maps[1]), rest, False, pictures=pictures)


def _whole(encoder: Any, image: Tensor, flip: bool, unit: bool) -> tuple[Tensor, Tensor] | None:
    """One picture's embedding as a sum over places: [d h w] and [d]; None where the encoder cannot say it."""
    if not hasattr(encoder, "parts"):
        return None
    views = torch.stack([image, image.flip(-1)] if flip else [image])
    with torch.no_grad():
        found = encoder.parts(views)
    if found is None:
        return None
    parts, constant = found
    if unit:
        lengths = (parts.sum(dim=(-2, -1)) + constant).norm(dim=1).clamp(min=1e-12)
        parts, constant = parts / lengths[:, None, None, None], constant / lengths[:, None]
    straight = torch.stack([parts[0], parts[1].flip(-1)]) if flip else parts
    return straight.mean(0), constant.mean(0)


def _exact(sums: Any, held: str, pictures: tuple[np.ndarray, np.ndarray] | None) -> AlikeRegions:
    whole = [parts.sum(dim=(-2, -1)) + constant for parts, constant in sums]
    similarity = float(F.cosine_similarity(whole[0], whole[1], dim=0))
    (one, rest_of_one), (two, rest_of_two) = (
        contributions(parts, constant, other) for (parts, constant), other in zip(sums, whole[::-1], strict=True)
    )
    maps = one.cpu().numpy(), two.cpu().numpy()
    tiny = torch.finfo(sums[0][0].dtype).tiny
    scaled = [parts / total.norm().clamp(min=tiny) for (parts, _), total in zip(sums, whole, strict=True)]
    rests, matches = (float(rest_of_one), float(rest_of_two)), _best_matches(*scaled)
    return AlikeRegions(similarity, maps, rests, True, held, pictures, matches)


def _held(encoder: Any) -> str:
    """What the sum of this encoder takes as given."""
    pooling = getattr(getattr(getattr(encoder, "head", None), "pool", None), "pooling", "avg")
    reasons = {
        "gem": "Of GeM pooling a place has its share of the powered sum: the sum is exact, what a picture without that "
        "place would lose is not.",
        "max": "Of max pooling the place with the greatest value has it all: the sum is exact, what a picture without "
        "that place would lose is not.",
        "mixed": "Half of it is max pooling, of which the place with the greatest value has it all.",
    }
    return reasons.get(pooling, "")


def _cells(encoder: Any, side: int) -> int:
    """Cells a side: a transformer's patches, or `CELLS`."""
    for module in encoder.modules() if hasattr(encoder, "modules") else ():
        grid = getattr(getattr(module, "patch_embed", None), "grid_size", None)
        if grid is not None and grid[0] == grid[1]:
            return int(grid[0])
    return min(CELLS, side)
