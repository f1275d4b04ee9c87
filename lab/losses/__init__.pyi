# What `lab.losses` holds. A loss is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import ClassLoss as ClassLoss
from ._base import Family as Family
from ._base import Loss as Loss
from ._base import Peak as Peak
from ._base import RankingKnobs as RankingKnobs
from ._base import knob as knob
from ._base import mean_per_query as mean_per_query
from ._base import normalised as normalised
from ._batch import Batch as Batch
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import entries as entries
from ._catalog import get as get
from ._catalog import names as names
from ._draws import Draws as Draws
from ._draws import mixed as mixed
from ._draws import mixing_weights as mixing_weights
from ._draws import positive_couples as positive_couples
from ._gathered import gathered as gathered
from ._pml_parts import for_pml as for_pml
from .arc_face import ArcFace as ArcFace
from .blackbox_ap import BlackboxAP as BlackboxAP
from .calibration import Calibration as Calibration
from .class_anchor_margin import ClassAnchorMargin as ClassAnchorMargin
from .contextual import Contextual as Contextual
from .contrastive import Contrastive as Contrastive
from .cos_face import CosFace as CosFace
from .cross_entropy import CrossEntropy as CrossEntropy
from .fast_ap import FastAP as FastAP
from .margin import Margin as Margin
from .margin_contrastive import MarginContrastive as MarginContrastive
from .memory_contrastive import MemoryContrastive as MemoryContrastive
from .multi_similarity import MultiSimilarity as MultiSimilarity
from .normalized_softmax import NormalizedSoftmax as NormalizedSoftmax
from .nt_xent import NTXent as NTXent
from .proxy_anchor import ProxyAnchor as ProxyAnchor
from .proxy_nca import ProxyNCA as ProxyNCA
from .recall_at_k import RecallAtK as RecallAtK
from .roadmap import Roadmap as Roadmap
from .signal_to_noise_ratio_contrastive import (
    SignalToNoiseRatioContrastive as SignalToNoiseRatioContrastive,
)
from .smooth_ap import SmoothAP as SmoothAP
from .soft_triple import SoftTriple as SoftTriple
from .softbin_ap import SoftBinAP as SoftBinAP
from .sup_ap import SupAP as SupAP
from .triplet_margin import TripletMargin as TripletMargin
