"""The loop to read first trains as the real one does."""

import pytest
import torch

from lab.runs import RunConfig
from lab.runs.building.parts import parts_of
from lab.training.loop import Trainer
from lab.training.simple import train

GIVEN = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 16},
    "encoder": {"name": "small_cnn", "width": 4, "dim": 8, "freeze_batchnorm": True},
    "sampler": {"batch_size": 20},
    "loss": {"name": "margin", "learn_beta": True, "triplets_per_anchor": 5},
    "schedule": {"name": "cosine", "warmup": 2},
}


@pytest.mark.parametrize("chunk", [None, 8])
def test_its_weights_and_losses_are_those_of_the_real_loop(chunk):
    plain = {
        "steps": 4,
        "device": "cpu",
        "workers": 0,
        "seed": 3,
        **({"graph_memory": 0.0} if chunk else {}),
    }
    config = RunConfig.of({**GIVEN, "training": {**plain, "chunk": chunk}})
    real, simple = parts_of(config), parts_of(config)
    told = [
        record.loss
        for record in Trainer(real, config.training.knobs).run()
        if record.kind == "stepped"
    ]
    assert [value for _, value in train(simple, steps=4, seed=3, chunk=chunk)] == told and len(
        set(told)
    ) == 4
    for one, other in ((real.encoder, simple.encoder), (real.loss, simple.loss)):
        assert one.state_dict().keys() == other.state_dict().keys()
        assert all(
            torch.equal(weight, other.state_dict()[name])
            for name, weight in one.state_dict().items()
        )
