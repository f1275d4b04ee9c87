from .steps import Diverged as Diverged
from .steps import StepResult as StepResult
from .steps import gradients as gradients
