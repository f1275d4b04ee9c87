"""The dashboard: pages over `lab` and nothing else. `python -m app` serves it."""
