"""Notebook widgets: live figures, tables, predictions, and checked exercises."""

from lab.widgets._check import Verdict, built, check
from lab.widgets._live import Live, show
from lab.widgets._predict import Prediction, predict
from lab.widgets._table import Table, table

__all__ = ["Live", "Prediction", "Table", "Verdict", "built", "check", "predict", "show", "table"]
