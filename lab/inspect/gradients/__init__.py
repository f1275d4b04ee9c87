"""What a loss does to pairs, lists and weights: the inspector's questions about gradients."""
