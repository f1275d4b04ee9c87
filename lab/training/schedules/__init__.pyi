# What `lab.training.schedules` holds. A schedule is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Schedule as Schedule
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from .constant import Constant as Constant
from .cosine import Cosine as Cosine
from .exponential import Exponential as Exponential
from .plateau import Plateau as Plateau
from .step import Step as Step
