from lab.reranking.contextual import Contextual as Contextual
from lab.reranking.k_reciprocal import KReciprocal as KReciprocal
