from lab.encoders.adapted import Adapted as Adapted
from lab.encoders.efficientnet_lite0 import EfficientNetLite0 as EfficientNetLite0
from lab.encoders.small_cnn import SmallCNN as SmallCNN
from lab.encoders.timm_model import TimmModel as TimmModel
