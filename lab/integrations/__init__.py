"""Runs of external work: embeddings from files or memory, and training loops of other libraries."""
