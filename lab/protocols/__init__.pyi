# What `lab.protocols` holds. A protocol is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import JudgingProtocol as JudgingProtocol
from ._base import Protocol as Protocol
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import entries as entries
from ._catalog import get as get
from ._catalog import names as names
from ._outcome import Outcome as Outcome
from .class_validation import ClassValidation as ClassValidation
from .few_shot import FewShot as FewShot
from .hierarchical_ap import HierarchicalAp as HierarchicalAp
from .query_gallery import QueryGallery as QueryGallery
from .random_galleries import RandomGalleries as RandomGalleries
from .reality_check import RealityCheck as RealityCheck
from .reproduction import Reproduction as Reproduction
from .revisited import Revisited as Revisited
from .standard_halves import StandardHalves as StandardHalves
from .tricks import Tricks as Tricks
