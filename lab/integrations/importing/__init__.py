"""Runs of external embeddings, in memory or in files, with metadata of their rows."""
