"""Rank sums and neighbourhoods that the losses call, walked tile by tile so that no n x n x anything ever exists.

`path()` says which implementation runs, `force("plain")` or the environment variable LAB_KERNELS picks one.
"""

from lab.kernels.contextual import contextual_errors
from lab.kernels.memory import Peak, forecast, require
from lab.kernels.pairs import positive_pairs
from lab.kernels.paths import force, path
from lab.kernels.rank_sums import (
    hinge_sums,
    mixed_rank_sums,
    negative_rank_sums,
    pair_similarities,
    positive_rank_sums,
    rank_and_hinge_sums,
    rank_sums,
)
from lab.kernels.rowwise import by_rows, mean_of_rows, sums_of_rows
from lab.kernels.soft_histograms import soft_histograms
from lab.kernels.unit_rows import near_one, unit

__all__ = [
    "Peak",
    "by_rows",
    "contextual_errors",
    "hinge_sums",
    "force",
    "forecast",
    "mean_of_rows",
    "mixed_rank_sums",
    "near_one",
    "pair_similarities",
    "path",
    "positive_pairs",
    "rank_sums",
    "negative_rank_sums",
    "positive_rank_sums",
    "rank_and_hinge_sums",
    "require",
    "soft_histograms",
    "sums_of_rows",
    "unit",
]
