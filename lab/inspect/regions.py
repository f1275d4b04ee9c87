"""Explain the cosine similarity of two pictures: how much each of their regions contributes.

If an encoder pools a map of features and only linear maps follow, an embedding is a sum over places,
e = sum_p e_p + c, and so is the cosine with another embedding: cos(e, o) = sum_p e_p.o / |e||o| + c.o / |e||o|. The
parts are those of `Encoder.parts`; the term of c, the bias, is the remainder. The sum is exact for every pooling. For
average pooling, a place's term is also the amount that the embedding would lose without that place. For a generalised
mean or a maximum it is not, since the places share one power or one winner. A place is a position of the last map; it
includes everything that convolutions or attention transported there from its surroundings.

For all other encoders there are integrated gradients (Sundararajan et al. 2017) over the pixels, from a picture of the
mean colour to the given picture, summed over cells. The remainder is then the similarity of the empty picture, and the
error of the numerical integral.
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
"""Number of cells per side over which pixels are summed, for an encoder without patches."""
MATCHES = 5
"""Number of pairs of regions that are listed: those that add most to the cosine."""
STEPS = 32
AT_ONCE = 8
"""Steps of the integral, and how many of them are embedded at once."""
ROWS = ("upper", "middle", "lower")
COLUMNS = ("left", "centre", "right")


@dataclass(frozen=True)
class AlikeRegions(Insight):
    """The contribution of each region of two pictures to their cosine similarity.

    similarity: the cosine, -1..1.
    maps: two arrays float64 [h w], of the first picture and of the second, from the upper left corner, in units of the
        cosine. Each sums to `similarity - left_over`.
    left_over: the remainder of each picture, which belongs to no region.
    exact: whether the maps are an exact sum; otherwise they are integrated gradients.
    held: a sentence about the assumption behind an exact sum; "" if there is none.
    pictures: uint8 [s s 3] each, as the encoder saw them; None if they were not given.
    matches: the best pairs of regions: place in the first, place in the second (counted row by row), and their
        contribution to the cosine; only for an exact sum.

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
        """The largest magnitude of any cell, which pictures draw in full colour."""
        return max(float(np.abs(values).max()) for values in self.maps)

    @property
    def summary(self) -> str:
        sums = []
        for values, remainder in zip(self.maps, self.left_over, strict=True):
            sums.append(f"{values.sum():.4f} + remainder {remainder:.4f}")
        if self.exact:
            kind = "an exact sum over regions"
        else:
            kind = "integrated gradients, a sum up to the remainder"
        sentence = f"Cosine {self.similarity:.4f}; {kind}: {' and '.join(sums)}."
        return f"{sentence} {self.held}" if self.held else sentence

    def words(self, which: int) -> str:
        """Describe the map of a picture (0 or 1) in words: the three ninths of it that contribute most."""
        values = self.maps[which]
        ninths = (_thirds(values.shape[0]) @ values @ _thirds(values.shape[1]).T).ravel()
        names = [f"{row} {column}" for row in ROWS for column in COLUMNS]
        largest = np.argsort(-np.abs(ninths), kind="stable")[:3]
        return "most from " + ", ".join(f"{names[i]} ({ninths[i]:+.3f})" for i in largest)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: picture (1 or 2), row and column from 0, contribution to the cosine."""
        cells = []
        for picture, values in enumerate(self.maps, start=1):
            for (row, column), value in np.ndenumerate(values):
                cells.append((picture, row, column, value))
        pictures, rows, columns, contribution = zip(*cells, strict=True)
        return frame(picture=pictures, row=rows, column=columns, contribution=contribution)

    def figure(self) -> go.Figure:
        """Draw both pictures with the contributions over them: blue raises the similarity, vermillion lowers it."""
        import plotly.graph_objects as go

        figure = style.canvas(
            "Why these two are alike",
            self.summary,
            panels=(self.words(0), self.words(1)),
            height=520,
        )
        limit = self.largest or 1.0
        clear = [
            (0.0, "rgba(213,94,0,0.85)"),
            (0.5, "rgba(247,247,247,0)"),
            (1.0, "rgba(0,114,178,0.85)"),
        ]
        for column, values in enumerate(self.maps, start=1):
            side = len(values)
            if self.pictures is not None:
                picture = self.pictures[column - 1]
                side = len(picture)
                figure.add_image(z=picture, hoverinfo="skip", row=1, col=column)

            # Cells lie on the pixels of the picture, whose first pixel is centred on 0.
            height = side / values.shape[0]
            width = side / values.shape[1]
            cells = go.Heatmap(
                z=values,
                x0=width / 2 - 0.5,
                dx=width,
                y0=height / 2 - 0.5,
                dy=height,
                zmin=-limit,
                zmax=limit,
                colorscale=clear,
                showscale=column == 2,
                colorbar={"title": "of the cosine,<br>a cell"},
                hovertemplate="%{z:+.4f} of the cosine<extra></extra>",
            )
            figure.add_trace(cells, row=1, col=column)
        figure.update_xaxes(visible=False, constrain="domain")
        figure.update_yaxes(visible=False, autorange="reversed", constrain="domain")
        figure.update_yaxes(scaleanchor="x", row=1, col=1)
        return figure.update_yaxes(scaleanchor="x2", row=1, col=2)


def _thirds(cells: int) -> np.ndarray:
    """Return the share of each cell of a row that lies in each third of the row, float64 [3 cells]."""
    edges = np.arange(cells + 1) * 3 / cells  # of the cells, where a third has width 1
    thirds = np.arange(3)[:, None]
    overlap = np.clip(np.minimum(edges[1:], thirds + 1) - np.maximum(edges[:-1], thirds), 0, None)
    return overlap / overlap.sum(axis=0)


def contributions(parts: Tensor, constant: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return the contribution of each place to the cosine of two embeddings, of which the first is a sum over places.

    Args:
        parts: [d h w], the terms of the sum. constant: [d], its term that belongs to no place.
        other: [d], the other embedding, of any length.

    Returns:
        contributions [h w] and the remainder, a scalar; their sum is the cosine.

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
    """Return the pairs of a place in each picture that add most to the cosine, the best first.

    Each match is the place in one picture, the place in the other (counted row by row) and their contribution. No place
    occurs twice.

    Args:
        one, other: [d h w], parts of embeddings of unit length.
    """
    products = one.flatten(1).T @ other.flatten(1)
    matches = []
    for _ in range(min(MATCHES, *products.shape)):
        row, column = divmod(int(products.argmax()), products.shape[1])
        if products[row, column] <= 0:
            break
        matches.append((row, column, float(products[row, column])))
        products[row] = -torch.inf
        products[:, column] = -torch.inf
    return tuple(matches)


def integrated_gradients(
    embed: Callable[[Tensor], Tensor],
    image: Tensor,
    other: Tensor,
    cells: int = CELLS,
    steps: int = STEPS,
) -> Tensor:
    """Return the contribution of each cell of a picture to its cosine with an embedding, by integrated gradients.

    Args:
        embed: function from normalised images [n 3 h w] to embeddings [n d].
        image: [3 h w]; the path of the integral leads there from zeros. other: [d].
        cells: number of cells per side.
        steps: number of points of the integral, by the midpoint rule.

    Returns:
        float64 [cells cells], whose sum is about cos(image) - cos(zeros).

    Example (a cosine that depends only on the red channel of the first pixel):
        >>> import torch
        >>> embed = lambda images: torch.stack([images[:, 0, 0, 0], torch.ones(len(images))], dim=1)
        >>> image = torch.zeros(3, 2, 2); image[0, 0, 0] = 1
        >>> lab.inspect.integrated_gradients(embed, image, torch.tensor([1.0, 0.0]), cells=2).round(decimals=2).tolist()
        [[0.71, 0.0], [0.0, 0.0]]
    """
    towards = F.normalize(other.detach().double(), dim=0)
    total = torch.zeros(image.shape, dtype=torch.float64, device=image.device)
    points = ((torch.arange(steps) + 0.5) / steps).to(image)
    for chunk in points.split(AT_ONCE):
        path = (chunk[:, None, None, None] * image).detach().requires_grad_()
        with torch.enable_grad():
            cosines = F.normalize(embed(path).double(), dim=1) @ towards
            (gradient,) = torch.autograd.grad(cosines.sum(), path)
        total += gradient.double().sum(0)
    return _sum_over_cells((image.double() * total / steps).sum(0), cells)


def _sum_over_cells(values: Tensor, cells: int) -> Tensor:
    """Return the sums [cells cells] over the cells of a map [h w]; if sizes do not divide, some cells are larger."""
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
    """Compute how much each region of two pictures contributes to their cosine similarity.

    The result is exact if the encoder has `parts`; otherwise it comes from integrated gradients.

    Args:
        encoder: a module from normalised images [n 3 h w] to embeddings [n d]; one of `lab.encoders`, or any other.
        first, second: normalised images [3 h w].
        flip: whether an embedding is the sum of those of the picture and of its mirror image.
        unit: whether each of them is scaled to unit length first.
        embed: function from normalised images [n 3 h w] to embeddings [n d], if it is more than the encoder and
            flipping.
        by_parts: whether the encoder's parts are those of `embed`; otherwise gradients of `embed` are used.
        pictures: uint8 [s s 3] each, to draw under the maps.

    Example (an encoder that averages the colours of four places):
        >>> import torch
        >>> encoder = lab.encoders.create("small_cnn", pooling="avg").eval()
        >>> regions = lab.inspect.alike_regions(encoder, torch.rand(3, 32, 32), torch.rand(3, 32, 32))
        >>> regions.exact, regions.maps[0].shape
        (True, (4, 4))
        >>> bool(abs(regions.maps[0].sum() + regions.left_over[0] - regions.similarity) < 1e-6)
        True
    """
    if by_parts:
        first_sum = _as_sum(encoder, first, flip, unit)
        second_sum = _as_sum(encoder, second, flip, unit)
        if first_sum is not None and second_sum is not None:
            return _exact_regions(first_sum, second_sum, _assumption(encoder), pictures)

    def embed_views(images: Tensor) -> Tensor:
        """Embed the images, and their mirror images with `flip`."""
        total = _embed_view(encoder, images, unit)
        if flip:
            total = torch.stack([total, _embed_view(encoder, images.flip(-1), unit)]).sum(0)
        return total

    embed = embed or embed_views
    with torch.no_grad():
        vectors = embed(torch.stack([first, second])).double()
    similarity = float(F.cosine_similarity(vectors[0], vectors[1], dim=0))
    cells = _cells(encoder, first.shape[-1])
    first_map = integrated_gradients(embed, first, vectors[1], cells).cpu().numpy()
    second_map = integrated_gradients(embed, second, vectors[0], cells).cpu().numpy()
    remainders = (similarity - float(first_map.sum()), similarity - float(second_map.sum()))
    return AlikeRegions(
        similarity, (first_map, second_map), remainders, exact=False, pictures=pictures
    )


def _embed_view(encoder: Any, images: Tensor, unit: bool) -> Tensor:
    embeddings = encoder(images)
    return F.normalize(embeddings, dim=-1) if unit else embeddings


def _as_sum(encoder: Any, image: Tensor, flip: bool, unit: bool) -> tuple[Tensor, Tensor] | None:
    """Return one picture's embedding as a sum over places: [d h w] and a constant [d]; None if the encoder has none."""
    if not hasattr(encoder, "parts"):
        return None
    views = torch.stack([image, image.flip(-1)] if flip else [image])
    with torch.no_grad():
        sums = encoder.parts(views)
    if sums is None:
        return None

    parts, constant = sums
    if unit:
        lengths = (parts.sum(dim=(-2, -1)) + constant).norm(dim=1).clamp(min=1e-12)
        parts = parts / lengths[:, None, None, None]
        constant = constant / lengths[:, None]
    if flip:  # flip the places of the mirror image back
        parts = torch.stack([parts[0], parts[1].flip(-1)])
    return parts.mean(0), constant.mean(0)


def _exact_regions(
    first: tuple[Tensor, Tensor],
    second: tuple[Tensor, Tensor],
    assumption: str,
    pictures: tuple[np.ndarray, np.ndarray] | None,
) -> AlikeRegions:
    """Return the regions of two embeddings that are sums over places."""
    embeddings = [parts.sum(dim=(-2, -1)) + constant for parts, constant in (first, second)]
    similarity = float(F.cosine_similarity(embeddings[0], embeddings[1], dim=0))
    first_map, first_rest = contributions(*first, embeddings[1])
    second_map, second_rest = contributions(*second, embeddings[0])

    tiny = torch.finfo(first[0].dtype).tiny
    first_parts = first[0] / embeddings[0].norm().clamp(min=tiny)
    second_parts = second[0] / embeddings[1].norm().clamp(min=tiny)
    return AlikeRegions(
        similarity=similarity,
        maps=(first_map.cpu().numpy(), second_map.cpu().numpy()),
        left_over=(float(first_rest), float(second_rest)),
        exact=True,
        held=assumption,
        pictures=pictures,
        matches=_best_matches(first_parts, second_parts),
    )


def _assumption(encoder: Any) -> str:
    """Return the sentence about how this encoder's pooling divides the sum among places; "" for the average."""
    pool = getattr(getattr(encoder, "head", None), "pool", None)
    sentences = {
        "gem": "With GeM pooling each place gets its share of the sum of powers: the sum is exact, but it is not what "
        "a picture without that place would lose.",
        "max": "With max pooling the place with the largest value gets all of it: the sum is exact, but it is not "
        "what a picture without that place would lose.",
        "mixed": "Half of the embedding is max pooling, which assigns all to the place with the largest value.",
    }
    return sentences.get(getattr(pool, "pooling", "avg"), "")


def _cells(encoder: Any, side: int) -> int:
    """Return the number of cells per side: a transformer's patches, or `CELLS`."""
    if hasattr(encoder, "modules"):
        for module in encoder.modules():
            grid = getattr(getattr(module, "patch_embed", None), "grid_size", None)
            if grid is not None and grid[0] == grid[1]:
                return int(grid[0])
    return min(CELLS, side)
