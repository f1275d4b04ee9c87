"""Which knobs matter over some runs: found where one does, not claimed where none does or too little is known."""

from __future__ import annotations

import numpy as np
import pytest

from lab.report import knobs


def config(tau=0.1, loss="roadmap", seed=0, width=32) -> dict:
    return {
        "loss": {"name": loss, "tau": tau},
        "encoder": {"name": "small_cnn", "width": width},
        "training": {"steps": 10, "seed": seed, "device": "cpu"},
        "wrappers": [{"name": "memory", "size": 64}] if loss == "roadmap" else [],
    }


def test_only_knobs_that_differ_are_listed_and_the_seed_is_none_of_them():
    assert knobs.varying([config(seed=1), config(seed=2)]) == {}
    found = knobs.varying([config(tau=0.1), config(tau=0.2, loss="smooth_ap")])
    assert found == {
        "loss.name": ["roadmap", "smooth_ap"], "loss.tau": [0.1, 0.2],
        "wrappers.memory.on": [True, None], "wrappers.memory.size": [64, None],
    }  # fmt: skip
    assert knobs.varying([]) == {} == knobs.varying([config()])


def test_the_knob_that_makes_the_score_is_the_weightiest():
    random = np.random.default_rng(0)
    taus, widths = random.uniform(0, 1, 40), random.choice([16, 32, 64], 40)
    losses = random.choice(["roadmap", "smooth_ap"], 40)
    score = 1 - taus + 0.3 * (losses == "roadmap") + random.normal(0, 0.01, 40)
    columns = {"width": widths.tolist(), "tau": taus.tolist(), "loss.name": losses.tolist()}
    found = knobs.importance(columns, [*score.tolist()[:-1], None])
    assert found.runs == 39 and 0.8 < found.explained < 1
    assert [one.knobs for one in found.weights] == [("tau",), ("loss.name",), ("width",)]
    assert (
        found.weights[0].share > 0.5 > found.weights[1].share > 0.02
        and abs(found.weights[2].share) < 0.02
    )
    assert found.weights[0].trend < -0.8 and found.weights[1].trend is None


def test_knobs_that_were_changed_together_share_a_line_and_missing_values_are_no_error():
    n = 30
    columns = {"loss.name": ["ab"[at % 2] for at in range(n)], "loss.tau": [0.1 if at % 2 else None for at in range(n)],
               "lr": [0.1 * at for at in range(n)]}  # fmt: skip
    found = knobs.importance(columns, [at % 2 + 0.001 * at for at in range(n)])
    assert [one.knobs for one in found.weights] == [("loss.name", "loss.tau"), ("lr",)]


def test_noise_is_not_ranked():
    random = np.random.default_rng(1)
    found = knobs.importance({"tau": list(range(30))}, random.normal(size=30).tolist())
    assert found.explained <= 0 and "none is ranked" in knobs.in_words(found, "MAP@R")


@pytest.mark.parametrize(
    ("columns", "scores", "said"),
    [
        ({"tau": [1, 2]}, [0.1, 0.2], "2 runs with this score are too few"),
        ({"tau": [1]}, [None], "0 runs"),
        ({"tau": list(range(20))}, [0.5] + [None] * 19, "1 run with this score is too few"),
        ({}, [0.1 * at for at in range(20)], "differ in no knob but their seed"),
        (
            {"tau": [at % 3 for at in range(20)]},
            [0.1 * at for at in range(20)],
            "only 3 different settings",
        ),
        (
            {"tau": [1, None, None] * 4, "margin": [None, 2, None] * 4},
            [0.1 * at for at in range(12)],
            "only 3 different settings",
        ),
        ({"tau": list(range(20))}, [0.5] * 20, "the same score"),
    ],
)
def test_too_little_to_go_by_is_a_sentence(columns, scores, said):
    with pytest.raises(ValueError, match=said):
        knobs.importance(columns, scores)
