"""Runs in, a table out: means and confidence intervals over seeds, published numbers beside them, and what is not fair.

found = lab.report.report(runs, published=True)
found.records(), found.to_frame(), found.warnings
lab.report.write(found, "latex")
"""

from lab.report._facts import ReportLine
from lab.report._lines import Report, report, setting, together
from lab.report._write import FORMATS, write

__all__ = ["FORMATS", "Report", "ReportLine", "report", "setting", "together", "write"]
