# What `lab.wrappers` holds. A wrapper is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Batch as Batch
from ._base import Peak as Peak
from ._base import Wrapper as Wrapper
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from .cross_batch_memory import CrossBatchMemory as CrossBatchMemory
from .similarity_regulariser import SimilarityRegulariser as SimilarityRegulariser
from .simix import SiMix as SiMix
from .threshold_consistent_margin import ThresholdConsistentMargin as ThresholdConsistentMargin
from .with_contrastive import WithContrastive as WithContrastive
