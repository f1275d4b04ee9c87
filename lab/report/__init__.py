"""Runs in, a table out: means and confidence intervals over seeds, published numbers beside them, and what is not fair.

found = lab.report.report(runs, published=True)
found.records(), found.to_frame(), found.warnings
lab.report.write(found, "latex")

Methods that were trained several times are compared by `lab.compare`, for which no run is needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
