"""From an image file to a batch of tensors."""
