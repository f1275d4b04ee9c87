"""The notebook's side of the lab: live figures, predictions, and checked exercises."""

from lab.widgets._check import Verdict, check
from lab.widgets._live import Live, show
from lab.widgets._predict import Prediction, predict

__all__ = ["Live", "Prediction", "Verdict", "check", "predict", "show"]
