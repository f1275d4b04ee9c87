"""Rank sums: how many items stand above each positive, on every path."""
