from lab.training.optimisers.adam import Adam as Adam
from lab.training.optimisers.adamw import AdamW as AdamW
from lab.training.optimisers.rmsprop import RMSprop as RMSprop
from lab.training.optimisers.sgd import SGD as SGD
