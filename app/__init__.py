"""The dashboard: pages over `lab` and nothing else. `lab app` serves it."""
