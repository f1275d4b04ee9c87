"""The dashboard: pages over `lab` and nothing else. `python -m lab.dashboard` serves it."""
