"""Soft histograms of similarities, on every path."""
