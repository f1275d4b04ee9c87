# What `lab.samplers` holds. A sampler is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Sampler as Sampler
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from .hierarchical import Hierarchical as Hierarchical
from .m_per_class import MPerClass as MPerClass
from .uniform import Uniform as Uniform
