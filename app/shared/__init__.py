"""What several pages use and what knows nothing of any run."""
