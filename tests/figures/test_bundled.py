"""What figures of runs show when no run is given: the example runs and the sweeps that come with the package."""

import numpy as np
import pytest

import lab.figures
from lab.figures import _bundled
from lab.figures import measured as trials


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


def test_the_example_runs_hold_together():
    losses = _bundled.examples(_bundled.FOUR_LOSSES)
    for run in losses:
        found = run.embeddings()
        assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-6)
        assert len(np.unique(found.labels)) == 40 and all(
            len(v) == len(found) for v in run.per_query().values()
        )
        assert [r["step"] for r in run.metrics("stepped")][-1] == run.config_dict["training"][
            "steps"
        ]
        assert (
            run.metrics("validated")
            and run.scores()["values"]["r@1"] > 0.4
            and run.scores("train") is None
        )
        with pytest.raises(ValueError, match="test split only"):
            run.embeddings("validation")
    assert len({tuple(run.embeddings().items.tolist()) for run in losses}) == 1
