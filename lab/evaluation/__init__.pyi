from .direct import evaluate as evaluate
from .scores import Evaluation as Evaluation
from .torchmetrics import for_torchmetrics as for_torchmetrics
