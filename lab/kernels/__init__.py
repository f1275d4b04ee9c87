"""Rank sums and neighbourhoods that the losses call, walked tile by tile so that no n x n x anything ever exists.

Every function has a plain-loop twin in `lab.kernels.reference`, which the tests hold it against in value and gradient.
`path()` says which implementation runs, `force("plain")` or the environment variable RANKLAB_KERNELS picks one.
"""

from lab.kernels._pairs import positive_pairs
from lab.kernels._unit import near_one, unit
from lab.kernels.histograms import soft_histograms
from lab.kernels.memory import forecast, require
from lab.kernels.neighbourhoods import contextual_errors
from lab.kernels.paths import force, path
from lab.kernels.ranks import (
    excess_over,
    mixed_rank_sums,
    pair_similarities,
    rank_sums,
    rank_sums_against,
    rank_sums_among,
    rank_sums_and_excess,
)
from lab.kernels.rowwise import by_rows

__all__ = [
    "by_rows",
    "contextual_errors",
    "excess_over",
    "force",
    "forecast",
    "mixed_rank_sums",
    "near_one",
    "pair_similarities",
    "path",
    "positive_pairs",
    "rank_sums",
    "rank_sums_against",
    "rank_sums_among",
    "rank_sums_and_excess",
    "require",
    "soft_histograms",
    "unit",
]
