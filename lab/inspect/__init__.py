"""Inspect a loss on a batch: gradients per pair, bounds, gaps and audits for any callable loss(embeddings, labels).

Every function returns a frozen record with `summary`, `to_frame()` and `figure()`.

Example:
    >>> import lab, torch
    >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    >>> labels = torch.tensor([0, 0, 1, 1])
    >>> loss = lab.losses.create("smooth_ap", tau=0.1)
    >>> pairs = lab.inspect.pair_gradients(loss, embeddings, labels)
    >>> pairs.ranks[1]  # the list of image 1: image 2 of the other label is first, then 0 and 3
    array([2, 0, 1, 3])
"""

from lab.inspect.against_metrics.bounds import MetricBound, metric_bound
from lab.inspect.against_metrics.decomposability import (
    Decomposability,
    average_precision,
    decomposability,
    gap_bound,
    refined_gap_bound,
)
from lab.inspect.gradients.dead import DeadGradients, dead_gradients
from lab.inspect.gradients.differences import Differences, finite_differences
from lab.inspect.gradients.direction import WrongDirection, wrong_direction
from lab.inspect.gradients.equality import GradientEquality, gradient_equality
from lab.inspect.gradients.lists import ListGradients, list_gradients, list_losses
from lab.inspect.gradients.pairs import PairGradients, pair_gradients, pair_motion
from lab.inspect.gradients.worst import WorstPairs, worst_pairs
from lab.inspect.histograms import SimilarityHistograms, similarity_histograms
from lab.inspect.queries import QueryValues, query_values
from lab.inspect.regions import AlikeRegions, alike_regions, contributions, integrated_gradients
from lab.inspect.report import LossReport, inspect_loss

__all__ = [
    "AlikeRegions",
    "DeadGradients",
    "Decomposability",
    "Differences",
    "GradientEquality",
    "ListGradients",
    "LossReport",
    "MetricBound",
    "PairGradients",
    "QueryValues",
    "SimilarityHistograms",
    "WorstPairs",
    "WrongDirection",
    "alike_regions",
    "average_precision",
    "contributions",
    "dead_gradients",
    "decomposability",
    "finite_differences",
    "gap_bound",
    "gradient_equality",
    "inspect_loss",
    "integrated_gradients",
    "list_gradients",
    "list_losses",
    "metric_bound",
    "pair_gradients",
    "pair_motion",
    "query_values",
    "refined_gap_bound",
    "similarity_histograms",
    "worst_pairs",
    "wrong_direction",
]
