"""Compare a loss with its metric: bounds and decomposability gaps."""
