"""Whitening of embeddings; the maths lives with training, which can start a last layer from it."""

from lab.evaluation.whitening import Whitening, learnt, pca

__all__ = ["Whitening", "learnt", "pca"]
