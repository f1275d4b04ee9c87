"""A loss beside the metric it stands for: bounds and decomposability gaps."""
