"""What pages show of a run: its embeddings, images, maps and metrics."""
