"""Schedules, precision, checkpoints, random state, following: the small parts of training."""

import itertools
import math
import random

import numpy as np
import pytest
import torch
from torch import nn

import lab.runs
from lab.evaluation.embedding import beta_normalised
from lab.evaluation.mixed_precision import MixedPrecision
from lab.training import checkpoint, optimisers, schedules
from lab.training.randomness import RandomState, mixed_seed, seeded


def curve(name, steps=10, **knobs):
    schedule = schedules.create(name, **knobs)
    return [schedule.factor(step, steps) for step in range(1, steps + 1)]


def test_constant_after_warm_up():
    assert curve("constant", warmup=4) == [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1]


def test_cosine_starts_at_one_and_ends_near_its_floor():
    found = curve("cosine", steps=100, floor=0.1)
    assert (
        found[0] == 1
        and found[50] == pytest.approx(0.55)
        and found[-1] == pytest.approx(0.1, abs=1e-3)
    )
    assert all(a > b for a, b in itertools.pairwise(found))


def test_steps_drop_at_their_milestones():
    assert curve("step", milestones=(0.5, 0.8), gamma=0.1) == pytest.approx(
        [1] * 5 + [0.1] * 3 + [0.01] * 2
    )
    assert curve("step", steps=12, warmup=2, milestones=(0.5,), gamma=0.5) == pytest.approx(
        [0.5] + [1] * 6 + [0.5] * 5
    )


def test_exponential_falls_every_so_many_steps():
    assert curve("exponential", steps=5, gamma=0.5, every=2) == [1, 1, 0.5, 0.5, 0.25]
    assert curve("exponential", steps=3, gamma=0.5, every=2, at_once=True) == [0.5, 0.5, 0.25]
    assert schedules.create("exponential").knobs.gamma == pytest.approx(math.exp(-0.01), abs=1e-5)


def test_plateau_drops_as_torchs_own_does():
    """Against torch's ReduceLROnPlateau, on scores that rise, stall and rise again."""
    scores = [0.1, 0.2, 0.2, 0.19, 0.2, 0.18, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    weight = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    own = torch.optim.lr_scheduler.ReduceLROnPlateau(
        weight, mode="max", factor=0.5, patience=2, threshold=1e-4, threshold_mode="abs"
    )
    schedule = schedules.create("plateau", gamma=0.5, patience=2)
    for seen in range(1, len(scores) + 1):
        own.step(scores[seen - 1])
        assert schedule.factor(50, 100, scores[:seen]) == weight.param_groups[0]["lr"]


@pytest.mark.parametrize("name", schedules.names())
def test_every_schedule_stays_between_zero_and_one(name):
    for steps, warmup in itertools.product((1, 2, 7, 50), (0, 1, 5, 80)):
        assert all(0 <= f <= 1 for f in curve(name, steps=steps, warmup=warmup))


def test_anchors_have_their_own_learning_rate():
    encoder, loss = nn.Linear(2, 2), nn.Embedding(3, 2)
    built = optimisers.create("sgd", lr=0.1, anchors_lr=7).build(encoder, loss)
    assert {g["name"]: g["base_lr"] for g in built.param_groups} == {"encoder": 0.1, "loss": 7}
    before = loss.weight.detach().clone()
    loss.weight.sum().backward()
    built.step()
    assert torch.allclose(before - loss.weight, torch.full_like(before, 7.0))
    built = optimisers.create("adam").build(encoder.requires_grad_(False), loss)
    assert [g["name"] for g in built.param_groups] == ["loss"]
    with pytest.raises(ValueError, match="Nothing to train"):
        optimisers.create("adam").build(encoder, nn.Identity())
    with pytest.raises(ValueError, match="momentum"):
        optimisers.create("sgd", nesterov=True, momentum=0).build(nn.Linear(1, 1), loss)


def test_last_layer_and_pooling_have_rates_of_their_own():
    import lab.encoders

    encoder = lab.encoders.create(
        "small_cnn", pooling="gem", width=4, dim=8, projector=True, projector_width=16
    )
    rates = {"lr": 1.0, "head_lr": 2.0, "projector_lr": 3.0, "pooling_lr": 10.0}
    built = optimisers.create("rmsprop", **rates, weight_decay=0.1).build(encoder, nn.Identity())
    groups = {
        g["name"]: (g["base_lr"], g["weight_decay"], len(g["params"])) for g in built.param_groups
    }
    assert groups.pop("encoder")[:2] == (1.0, 0.1)
    assert groups == {"head": (2.0, 0.1, 2), "projector": (3.0, 0.1, 1), "pooling": (10.0, 0.0, 1)}
    assert sum(len(g["params"]) for g in built.param_groups) == len(list(encoder.parameters()))
    plain = lab.encoders.create("small_cnn", pooling="avg", width=4, dim=8)
    with pytest.raises(
        ValueError, match="pooling_lr is set, but the encoder lacks a pooling with weights"
    ):
        optimisers.create("adam", pooling_lr=1.0).build(plain, nn.Identity())


def test_auto_is_chosen_once_by_what_the_processor_computes_with(tmp_path, tiny, monkeypatch):
    auto = lab.runs.RunConfig.of(tiny).changed("training.precision", "auto")
    for native, name in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: native)  # noqa: B023
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
        assert MixedPrecision("auto").name == name
        run = lab.runs.create(auto, tmp_path, f"made with {name}".replace(" ", "-"))
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: not native)  # noqa: B023
        assert run.config.training.knobs.precision == name, "kept on another machine"


@pytest.mark.parametrize(
    "make", [torch.optim.Adam, torch.optim.AdamW, lambda p, lr: torch.optim.SGD(p, lr, 0.9)]
)
def test_a_checkpoint_gives_back_every_tensor_number_and_key(make, tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimiser = make(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(4, 3)).square().sum().backward()
        optimiser.step()
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "numbers": [1, 2.5, None, True, "a", {}],
    }
    state["tied"] = model[0].weight  # which the format itself would refuse
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, state)
    loaded = checkpoint.load(path)
    assert loaded["numbers"] == state["numbers"] and torch.equal(
        loaded["tied"], loaded["model"]["0.weight"]
    )
    fresh = make(model.parameters(), lr=0.5)
    fresh.load_state_dict(loaded["optimiser"])
    for a, b in zip(
        optimiser.state_dict()["state"].values(), fresh.state_dict()["state"].values(), strict=True
    ):
        for key in a:
            assert torch.equal(torch.as_tensor(a[key]), torch.as_tensor(b[key]))
    assert all(torch.equal(loaded["model"][k], v) for k, v in model.state_dict().items())


def test_seeds_depend_on_every_part_of_the_key():
    keys = [(0,), (0, 1), (0, 2), (0, 1, 1), (1, 1)]
    assert len({mixed_seed(*key) for key in keys}) == len(keys)
    assert all(0 <= mixed_seed(*key) < 2**63 for key in keys)
    with seeded(3, 1, 4):
        first = torch.rand(2), np.random.rand()
    with seeded(3, 1, 4):
        again = torch.rand(2), np.random.rand()
    assert torch.equal(first[0], again[0]) and first[1] == again[1]
    for key in ((3, 1, 5), (3, 2, 4), (2, 1, 4)):
        with seeded(*key):
            other = torch.rand(2), np.random.rand()
        assert not torch.equal(first[0], other[0]) and first[1] != other[1], key


def test_seeding_gives_the_callers_random_state_back():
    def draw():
        return torch.rand(1).item(), np.random.rand(), random.random()

    def seed():
        torch.manual_seed(9), np.random.seed(9), random.seed(9)

    seed()
    expected = draw()
    seed()
    with seeded(3, 1, 5):
        assert draw() != expected
    assert draw() == expected


def test_replay_draws_again_and_gives_the_state_back():
    torch.manual_seed(0)
    state = RandomState.capture()
    drawn = torch.rand(4)
    with state.replayed():
        assert torch.equal(torch.rand(4), drawn)
    after = torch.rand(4)
    torch.manual_seed(0)
    torch.rand(4)
    assert torch.equal(torch.rand(4), after)


def test_beta_normalisation_is_the_decks_formula():
    features = torch.tensor([[3.0, 4.0], [0.6, 0.8]])
    assert torch.allclose(beta_normalised(features, 0.5), torch.tensor([[2.1, 2.8], [0.9, 1.2]]))
    assert torch.allclose(beta_normalised(features, 0.0), torch.tensor([[0.6, 0.8], [0.6, 0.8]]))


def test_a_checkpoint_holds_no_pickle_and_what_is_damaged_is_a_sentence(tmp_path):
    path = tmp_path / "c.safetensors"
    with pytest.raises(TypeError, match="a is a object"):
        checkpoint.save(path, {"a": object()})
    checkpoint.save(path, {"a": torch.zeros(100)})
    whole = path.read_bytes()
    damaged = {
        b"": "an empty file",
        b"\x80\x04]\x94.": "it is a pickle",
        whole[:-20]: "cannot be read",
    }
    for content, sentence in damaged.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=sentence):
            checkpoint.load(path)
