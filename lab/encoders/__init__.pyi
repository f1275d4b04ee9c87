# What `lab.encoders` holds. An encoder is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Encoder as Encoder
from ._base import Head as Head
from ._base import Pool as Pool
from ._base import UnitLength as UnitLength
from ._base import gem as gem
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import broken as broken
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from ._layers import OUTPUT as OUTPUT
from ._layers import AtLayer as AtLayer
from ._layers import EveryLayer as EveryLayer
from ._layers import Layer as Layer
from ._layers import layers_in as layers_in
from ._timm import FeatureMap as FeatureMap
from ._timm import as_map as as_map
from ._timm import merge_attention as merge_attention
from ._timm import read_weights as read_weights
from .adapted import Adapted as Adapted
from .efficientnet_lite0 import EfficientNetLite0 as EfficientNetLite0
from .small_cnn import SmallCNN as SmallCNN
from .timm_model import TimmModel as TimmModel
