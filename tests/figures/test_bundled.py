"""What figures of runs show when no run is given: the example runs and the sweeps that come with the package."""

import numpy as np
import pytest

import lab.figures
from lab import losses, trials
from lab.figures import _bundled
from lab.inspect import pair_gradients, wrong_direction


def test_a_sweep_shows_the_scores_chosen_on_validation():
    figure = lab.figures.create("run_sweep", study="batch_size", metric="r@1")
    numbers = figure.numbers(figure.example())
    assert (numbers["axis"], numbers["group"]) == ("batch size", "loss")
    scores = trials.Scores(trials.bundled("batch_size").trials, "r@1")
    line = numbers["lines"]["RS@k"]
    by_hand = [list(scores.by_seed(loss="RS@k", **{"batch size": b}).values()) for b in line["x"]]
    assert line["mean"].tolist() == pytest.approx([np.mean(v) for v in by_hand])
    assert line["deviation"].tolist() == pytest.approx([np.std(v, ddof=1) for v in by_hand])
    assert line["runs"] == [len(v) for v in by_hand] and min(line["runs"]) >= 5


def test_curves_have_the_places_that_all_lines_have(monkeypatch):
    def trial(loss, x, seed, score):
        return trials.Trial({"loss": loss, "x": x}, 0.1, seed, "d", {"m": score}, {"m": score})

    made = [trial("a", 1, 0, 0.2), trial("a", 1, 1, 0.4), trial("a", 2, 0, 0.9), trial("b", 1, 0, 0.5)]
    monkeypatch.setattr(trials, "bundled", lambda study: trials.Results(tuple(made)))
    places, curves = _bundled.curves("s", "x", lines="loss")
    assert places == [1]
    assert {n: (m.tolist(), d.tolist()) for n, (m, d) in curves.items()} == {
        "a": (pytest.approx([0.3]), pytest.approx([0.02**0.5])),
        "b": ([0.5], [0.0]),
    }


def test_a_sweep_that_did_not_come_along_gets_a_sentence():
    with pytest.raises(ValueError, match="No results of a study 'nothing' come with the package; there are: "):
        lab.figures.create("run_map", study="nothing").figure()


def test_the_example_runs_hold_together():
    losses = _bundled.examples(_bundled.FOUR_LOSSES)
    for run in losses:
        found = run.embeddings()
        assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-6)
        assert len(np.unique(found.labels)) == 40 and all(len(v) == len(found) for v in run.per_query().values())
        assert [r["step"] for r in run.metrics("stepped")][-1] == run.config_dict["training"]["steps"]
        assert run.metrics("validated") and run.scores()["values"]["r@1"] > 0.4 and run.scores("train") is None
        with pytest.raises(ValueError, match="test split only"):
            run.embeddings("validation")
    assert len({tuple(run.embeddings().items.tolist()) for run in losses}) == 1


def test_runs_with_memories_are_shown_up_to_a_size():
    """ROADMAP, table 2: what a cross-batch memory costs, by its size."""
    whole = lab.figures.create("run_costs").numbers(_bundled.examples(_bundled.MEMORIES))["rows"]
    assert [row["name"].split("(")[1] for row in whole] == [
        "batch 64)", "batch 64, memory 512)", "batch 64, memory 1,024)", "batch 64, memory 2,048)",
    ]  # fmt: skip
    assert all(row["seconds a step"] > 0 and row["r@1, test"] > 0.05 for row in whole)
    fewer = lab.figures.create("run_costs", memory=1024).numbers(_bundled.examples(_bundled.MEMORIES))["rows"]
    assert fewer == whole[:3]
    with pytest.raises(ValueError, match="every run remembers more than 600 embeddings; raise memory"):
        lab.figures.create("run_costs", memory=600).numbers(_bundled.examples(_bundled.MEMORIES[2:]))


MEASURED = [
    ("tau1_sweep", {}), ("batch_size_sweep", {}), ("calibration_gain", {}),
    *(("roadmap_sweep", {"what": what}) for what in ("lam", "rho", "margin")),
    ("anchor_comparison", {"axis": "shots"}),
    ("noise_robustness", {"damage": "wrong labels"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "knobs"), MEASURED)
def test_a_toy_sweep_can_show_what_was_measured(name, knobs):
    drawn = lab.figures.create(name, data="Emoji-7", **knobs).figure()
    assert "measured on Emoji-7" in drawn.layout.title.subtitle.text and "5 seeds" in drawn.layout.title.subtitle.text
    assert len(drawn.data[0].x) >= 2 and np.isfinite(np.asarray(drawn.data[0].y, dtype=float)).all()


def test_what_was_not_measured_is_said():
    with pytest.raises(
        ValueError, match="NoiseRobustness: 'foreign images' was not measured on Emoji-7; choose from wrong labels"
    ):
        lab.figures.create("noise_robustness", data="Emoji-7", damage="foreign images").figure()


def test_two_stage_map_stands_beside_the_accuracy_and_not_beside_exact_map():
    """003, tables 2 and 4: eight networks of the paper and five of ours."""
    accuracy, exact = (
        lab.figures.create("two_stage_accuracy", beside=beside).numbers()["groups"]
        for beside in ("nearest-anchor accuracy", "exact mAP")
    )
    for name, pairs, close in (("The paper's networks", 8, 0.3), ("Trained on emoji", 5, 0.3)):
        assert len(accuracy[name]["names"]) == len(set(accuracy[name]["names"])) == pairs
        assert np.abs(accuracy[name]["two_stage"] - accuracy[name]["other"]).max() < close
        assert np.abs(exact[name]["two_stage"] - exact[name]["other"]).max() > 5
    row = accuracy["The paper's networks"]
    place = row["names"].index("CIFAR-100, R18")
    assert (row["two_stage"][place], row["other"][place]) == (pytest.approx(62.2), pytest.approx(61.94)), "as printed"


def test_the_set_of_k_is_compared_seed_by_seed():
    figure = lab.figures.create("set_of_k", less="16")
    found = figure.numbers()
    scores = trials.Scores(trials.bundled("set_of_k").trials, "r@1")
    one, other = (np.array(list(scores.by_seed(k=k).values())) for k in ("1 2 4", "16"))
    assert found["mean"][found["sets"].index("16")] == pytest.approx(100 * other.mean())
    gain = found["gains"]["1 2 4"]
    assert gain.mean == pytest.approx(100 * (one - other).mean()) and "16" not in found["gains"]
    half = 2.776 * np.std(one - other, ddof=1) * np.sqrt(1 / 5 + 1)  # as docs/claims.md widens it
    assert 100 * half == pytest.approx(gain.high - gain.mean, rel=1e-3)
    words = figure.figure().layout.title.subtitle.text.replace("<br>", " ")
    assert ("{1, 2, 4}" in words.split("surely")[1]) == (gain.low > 0)


def test_shared_strangers_make_most_of_the_wrong_pairs():
    """004: eq. 39's pull on strangers, which eq. 9 leaves out; the audit of `lab.inspect` counts the same."""
    figure = lab.figures.create("wrong_way_pairs")
    found = figure.numbers()
    for of in ("share", "mass"):
        assert all(parts.sum() == pytest.approx(1) for parts in found[of].values())
    pairs = pair_gradients(losses.create("contextual", lam=1.0, gamma=0.0, eps=0.05, k=4), *figure._batch())
    audit = wrong_direction(pairs)
    assert found["share"]["contextual"][[1, 3]].sum() == pytest.approx(audit.share)
    assert found["mass"]["contextual"][[1, 3]].sum() == pytest.approx(audit.mass)
    pulled = {name: parts[3] for name, parts in found["share"].items()}
    assert pulled["contextual"] > 2 * pulled["without M₋"] and pulled["contextual"] > 0.3
    assert found["mass"]["contextual"][[1, 3]].sum() < 0.5 * audit.share, "many pairs, and little force each"
