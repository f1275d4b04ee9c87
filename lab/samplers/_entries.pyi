from lab.samplers.hierarchical import Hierarchical as Hierarchical
from lab.samplers.m_per_class import MPerClass as MPerClass
from lab.samplers.uniform import Uniform as Uniform
