# What `lab.reranking` holds. A re-ranker is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Reranker as Reranker
from ._base import knob as knob
from ._base import neighbour_lists as neighbour_lists
from ._base import nodes as nodes
from ._base import ranked_by as ranked_by
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from .contextual import Contextual as Contextual
from .k_reciprocal import KReciprocal as KReciprocal
