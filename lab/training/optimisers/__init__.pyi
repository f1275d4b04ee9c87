# What `lab.training.optimisers` holds. An optimiser is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Optimiser as Optimiser
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from .adam import Adam as Adam
from .adamw import AdamW as AdamW
from .rmsprop import RMSprop as RMSprop
from .sgd import SGD as SGD
