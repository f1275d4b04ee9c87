"""From a model to scores: embed, rank, measure. Whether anything was trained does not matter."""
