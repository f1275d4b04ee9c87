from lab.training.schedules.constant import Constant as Constant
from lab.training.schedules.cosine import Cosine as Cosine
from lab.training.schedules.exponential import Exponential as Exponential
from lab.training.schedules.plateau import Plateau as Plateau
from lab.training.schedules.step import Step as Step
