# What `lab.search` holds. An index is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from . import galleries as galleries
from ._base import Index as Index
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from ._composed import Together as Together
from ._composed import best_of as best_of
from ._composed import compose as compose
from ._composed import mean_query as mean_query
from ._composed import rocchio as rocchio
from ._faiss_file import FaissFile as FaissFile
from ._faiss_file import IndexFile as IndexFile
from ._open import open as open
from ._recall import recall as recall
from .exact import Exact as Exact
from .faiss_flat import FaissFlat as FaissFlat
from .faiss_ivf import FaissIvf as FaissIvf
from .faiss_ivf_pq import FaissIvfPq as FaissIvfPq
from .streamed import Streamed as Streamed
from .two_stage import TwoStage as TwoStage
