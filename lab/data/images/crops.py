"""Random crops of a whole batch of decoded images in one go: bit for bit what torchvision makes of them one by one.

An emoji takes torchvision some twenty calls, which together cost a fifth of a small network's step. Here a batch draws
its boxes at once, and resizing is two products with matrices of weights. torchvision resizes uint8 by whole numbers, a
row first and then a column, each rounded; whole numbers below 2^24 are exact in float32, so the products lose nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

TRIES = 10
"""Boxes that torchvision draws before it takes the middle of the image."""
BLOCK = 8
"""Images cropped together, so that intermediate results stay in the cache."""
LARGEST_FACTOR = 4
"""Images may shrink by this factor; beyond, a sum of weighted pixels needs more than the 24 bits of float32."""


@dataclass(frozen=True)
class Crops:
    """A random crop in a random shape, resized to a square, then mirrored by chance.

    scale: smallest and largest share of the area. ratio: smallest and largest width / height. flip: probability.
    """

    size: int
    scale: tuple[float, float]
    ratio: tuple[float, float]
    flip: float

    def takes(self, pixels: np.ndarray) -> bool:
        """Return whether images uint8 [n h w 3] are small enough to be resized exactly, with products in float32."""
        exact = torch.get_float32_matmul_precision() == "highest"
        return exact and max(pixels.shape[1:3]) <= LARGEST_FACTOR * self.size

    def __call__(self, pixels: np.ndarray, seeds: Sequence[int]) -> torch.Tensor:
        """Crop each of uint8 [n h w 3] by its own seed; returns uint8 [n 3 size size]."""
        height, width = pixels.shape[1:3]
        top, left, high, wide, mirrored = self.boxes(height, width, seeds)
        rows, row_shift = _placed(top, high, height, self.size)
        columns, column_shift = _placed(left, wide, width, self.size)
        columns[mirrored] = columns[mirrored].flip(1)
        crops = torch.empty((len(pixels), 3, self.size, self.size), dtype=torch.uint8)
        for first in range(0, len(pixels), BLOCK):
            part = slice(first, first + BLOCK)
            planes = torch.from_numpy(pixels[part]).permute(0, 3, 1, 2).float().flatten(1, 2)
            across = _rounded(planes @ columns[part].mT, column_shift[part])
            across = across.unflatten(1, (3, height)).transpose(1, 2).flatten(2)
            down = _rounded(rows[part] @ across, row_shift[part])
            crops[part] = down.unflatten(2, (3, self.size)).transpose(1, 2)
        return crops

    def boxes(self, height: int, width: int, seeds: Sequence[int]) -> tuple[np.ndarray, ...]:
        """Draw the boxes as torchvision draws them after such seeds.

        Returns:
            top, left, height, width: int64 [n]; mirrored: bool [n].
        """
        words = _words(seeds, 2 * TRIES + 3)
        # as torch makes them, in [0, 1)
        uniform = (words & 0xFFFFFF).astype(np.float32) * np.float32(2**-24)
        # Each try draws an area and a ratio; the first box that fits is taken.
        logs = np.log(np.array(self.ratio, np.float32))
        area = (
            height * width * _between(uniform[:, 0 : 2 * TRIES : 2], *self.scale).astype(np.float64)
        )
        ratios = np.exp(_between(uniform[:, 1 : 2 * TRIES : 2], *logs)).astype(np.float64)
        all_wide = np.rint(np.sqrt(area * ratios))
        all_high = np.rint(np.sqrt(area / ratios))
        fits = (all_wide > 0) & (all_wide <= width) & (all_high > 0) & (all_high <= height)
        has_fit = fits.any(1)
        tries = fits.argmax(1)
        rows = np.arange(len(words))
        high = all_high[rows, tries].astype(np.int64)
        wide = all_wide[rows, tries].astype(np.int64)
        # Without a fit: the largest box of a legal shape in the middle.
        narrowest, widest = self.ratio
        high[~has_fit] = min(height, round(width / narrowest))
        wide[~has_fit] = min(width, round(height * widest))
        # The words after those of the try give position and mirroring.
        next_word = np.where(has_fit, 2 * tries + 2, 2 * TRIES)
        top = np.where(has_fit, words[rows, next_word] % (height - high + 1), (height - high) // 2)
        left = np.where(
            has_fit, words[rows, next_word + 1] % (width - wide + 1), (width - wide) // 2
        )
        mirrored = uniform[rows, np.where(has_fit, next_word + 2, next_word)] < np.float32(
            self.flip
        )
        return top, left, high, wide, mirrored


def _words(seeds: Sequence[int], count: int) -> np.ndarray:
    """Return what torch's generator draws after each seed, int64 [n count] of 32 bits; numpy's legacy generator draws
    the same."""
    generator = np.random.RandomState(0)
    words = np.empty((len(seeds), count), np.int64)
    for row, seed in enumerate(seeds):
        generator.seed(seed % 2**32)
        words[row] = generator.randint(0, 2**32, count, dtype=np.uint32)
    return words


def _between(uniform: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return float32 in [low, high), as torch's `uniform_` does."""
    lowest = np.float32(low)
    return (uniform.astype(np.float64) * (np.float32(high) - lowest) + lowest).astype(np.float32)


def _placed(
    starts: np.ndarray, lengths: np.ndarray, side: int, size: int
) -> tuple[torch.Tensor, np.ndarray]:
    """Return the weight of each pixel of a line in each resized pixel, float32 [n size side], and the shifts [n]."""
    placed = np.zeros((len(starts), size, side), np.float32)
    shifts = np.empty(len(starts), np.int64)
    for row, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        placed[row, :, start : start + length], shifts[row] = _weights(length, size)
    return torch.from_numpy(placed), shifts


@functools.lru_cache(maxsize=1024)
def _weights(length: int, size: int) -> tuple[np.ndarray, int]:
    """Return whole numbers [size length] by which `length` pixels become `size`, and the power of two of their sum.

    A triangle around each place, as wide as a new pixel, or as an old one where the image grows; of 15 bits at most.
    """
    factor = length / size
    reach = max(factor, 1.0)
    centres = factor * (np.arange(size) + 0.5)
    first = np.maximum((centres - reach + 0.5).astype(int), 0)
    last = np.minimum((centres + reach + 0.5).astype(int), length)
    place = np.arange(length)
    share = np.maximum(0, 1 - np.abs((place + 0.5 - centres[:, None]) / reach))
    share *= (place >= first[:, None]) & (place < last[:, None])
    share /= share.sum(1, keepdims=True)
    # The largest shift, of at most 22, for which the weights still have 15 bits.
    shift = 0
    while shift < 22 and int(0.5 + share.max() * 2 ** (shift + 1)) < 2**15:
        shift += 1
    return np.floor(share * 2**shift + 0.5).astype(np.float32), shift


def _rounded(sums: torch.Tensor, shifts: np.ndarray) -> torch.Tensor:
    """Return sums of weighted pixels [n ...], scaled and rounded back to 0 to 255."""
    scale = torch.from_numpy(np.ldexp(np.float32(1), -shifts).astype(np.float32)).view(-1, 1, 1)
    return sums.mul_(scale).add_(0.5).floor_().clamp_(0, 255)
