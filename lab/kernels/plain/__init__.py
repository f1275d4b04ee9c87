"""Contextual similarity by sparse neighbourhoods, on every path."""
