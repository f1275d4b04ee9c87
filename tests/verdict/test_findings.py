"""Every finding by records that were made up for it, and none of a run in which nothing is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from lab.runs.config import RunConfig
from lab.verdict import DECLARED, History, findings, in_words

CLASSES = np.repeat(np.arange(12), 6).tolist()
HEALTHY_BATCH = {
    "images": 64, "classes": 16, "with_positive": 1.0, "length": 1.0, "length_spread": 1e-7, "precision": 0.5,
    "mean_cosine": 0.2, "effective_rank": 15.0, "hubness": 0.5, "out_of_reach": 0.1, "behind": 0.7, "moved": 0.004,
}  # fmt: skip
ENDS = {"loss_now": 0.8, "loss_perfect": 0.0, "loss_equal": 0.9, "loss_scaled": 0.8}


def precisions(mean: float, seed: int = 0) -> list[float]:
    noise = np.random.default_rng(seed).uniform(-0.05, 0.05, len(CLASSES))
    return np.clip(mean + noise, 0, 1).round(4).tolist()


def validation(step: int, mean: float, **values) -> dict:
    shape = {"hubness": 0.8, "hub": 7, "mean_cosine": 0.2, "seen": 0.8, "unseen": 0.75}
    return {
        "step": step,
        "precisions": precisions(mean, step),
        "classes": CLASSES,
        **shape,
        **values,
    }


def evidence(**changes) -> History:
    """A run of 40 steps in which nothing is wrong."""
    steps = np.arange(1, 41.0)
    batches = [
        {"step": step, **HEALTHY_BATCH, **(ENDS if step == 1 else {})}
        for step in (1, 4, 16, 20, 40)
    ]
    checkups = {
        "data": [{"step": 0, "images": 600, "classes": 80, "single": 0}],
        "untrained": [validation(0, 0.3)],
        "pixels": [validation(0, 0.35, copies=0, compared=512, training_images=600)],
        "batch": batches,
        "validation": [validation(20, 0.5), validation(30, 0.58), validation(40, 0.6)],
    }
    whole = History(
        "one", RunConfig.of({"loss": {"name": "smooth_ap"}}).as_dict(), "finished", steps, 0.8 - 0.01 * steps,
        np.ones(40), 40, checkups, [(10, 0.3), (20, 0.5), (30, 0.58), (40, 0.6)], ("validation",), (20, 40),
    )  # fmt: skip
    return replace(whole, **changes)


def with_batch(**values) -> History:
    """The same with other values in every check-up of a batch; None takes one away."""
    whole = evidence()
    batches = [
        {k: v for k, v in {**one, **values}.items() if v is not None}
        for one in whole.checkups["batch"]
    ]
    return replace(whole, checkups={**whole.checkups, "batch": batches})


def with_validation(about: str = "validation", **values) -> History:
    whole = evidence()
    return replace(
        whole,
        checkups={**whole.checkups, about: [{**one, **values} for one in whole.checkups[about]]},
    )


def faint(**changes) -> History:
    return replace(with_batch(precision=0.3), loss=np.full(40, 0.9), **changes)


WRONG = {
    "not a number": evidence(loss=np.append(np.ones(39), np.nan)),
    "one image a class": with_validation("data", single=60),
    "no positives": with_batch(with_positive=0.1),
    "temperature too wide": with_batch(loss_range=0.01, loss_sharper=0.9),
    "wrong sign or labels": with_batch(loss_perfect=0.85),
    "a batch that cannot teach": with_batch(loss_perfect=0.79),
    "lengths left free": with_batch(length=7.0, length_spread=0.3, loss_scaled=2.0),
    "no gradient": evidence(gradient=np.full(40, 1e-9), loss=np.full(40, 0.8)),
    "out of the temperature's reach": with_batch(out_of_reach=0.9, woken=0.1),
    "rate too high": with_batch(moved=0.4),
    "rate too low": replace(
        with_batch(moved=1e-6),
        loss=np.full(40, 0.8),
        checkups={"batch": with_batch(moved=1e-6).checkups["batch"]},
    ),
    "duplicates across splits": with_validation("pixels", copies=9),
    "label noise": with_validation(seen=0.4, unseen=0.7),
    "collapsed": with_batch(mean_cosine=0.9995),
    "stuck at the margin": faint(),
    "memorising": with_validation(seen=0.99, unseen=0.5),
    "worse than before": with_validation("untrained", precisions=precisions(0.9)),
    "hubs": with_validation(hubness=6.0),
    "worse than pixels": with_validation("pixels", precisions=precisions(0.9)),
    "validation too small": with_validation("untrained", classes=[0, 1, 2] * 24),
    "best at the first validation": evidence(scores=[(10, 0.9), (20, 0.5), (30, 0.5), (40, 0.5)]),
    "best at the last validation": evidence(scores=[(10, 0.3), (20, 0.4), (30, 0.5), (40, 0.6)]),
}


def test_every_finding_has_its_records():
    assert set(WRONG) == set(DECLARED)


def test_nothing_is_found_where_nothing_is_wrong():
    assert findings(evidence()) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_finding_is_named_first_with_place_and_knob(name):
    found = findings(WRONG[name])
    assert found[0].name == name, [one.name for one in found]
    one = found[0]
    assert one.sentence.endswith(".") and one.advice.endswith(".") and one.knob
    assert one.place.page in ("watch", "inspect", "check", "map") and "one" in one.place.address
    json.dumps(one.as_dict(), allow_nan=False)
    if "." in one.knob:
        section, name = one.knob.split(".")
        assert name in RunConfig.of({"loss": {"name": "smooth_ap"}}).as_dict()[section]


@pytest.mark.parametrize("name", WRONG)
def test_words_of_a_finding_are_short_sentences(name):
    (words,) = in_words(findings(WRONG[name])[:1])
    assert (
        name in words
        and "nan" not in words.lower().replace("finite number", "")
        and "None" not in words
    )


def names(of: History) -> list[str]:
    return [one.name for one in findings(of)]


def test_a_rate_that_overwrites_the_weights_is_named_before_what_comes_of_it():
    assert names(with_batch(moved=0.4, out_of_reach=0.9, woken=0.1))[0] == "rate too high"


def test_positives_that_no_temperature_wakes_are_left_alone_on_purpose():
    """As those beyond the k of a recall@k."""
    assert names(with_batch(out_of_reach=0.9, woken=0.8)) == []
    assert names(with_batch(out_of_reach=0.9)) == []


def test_labels_in_another_order_are_told_from_a_batch_that_cannot_teach():
    assert names(with_batch(loss_perfect=0.79, loss_followed=0.3))[0] == "wrong sign or labels"
    assert (
        names(with_batch(loss_perfect=0.79, loss_followed=0.78))[0] == "a batch that cannot teach"
    )


def test_the_knob_of_a_temperature_is_that_of_the_loss():
    config = RunConfig.of({"loss": {"name": "arc_face", "scale": 0.01}}).as_dict()
    (found,) = findings(replace(with_batch(loss_range=0.01, loss_sharper=0.9), config=config))
    assert (
        found.knob == "loss.scale"
        and found.advice == "Make scale larger than 0.01, tenfold at first."
    )


def test_a_small_step_is_judged_by_validations_after_the_first():
    """Statistics of batch normalisation settle before it, and raise the score of weights that never move."""
    still = {"validation": [validation(step, 0.5) for step in (20, 30, 40)]}
    slow = with_batch(moved=1e-6)
    assert names(replace(slow, checkups={**slow.checkups, **still}))[0] == "rate too low"
    assert "rate too low" not in names(slow)


def test_a_loss_of_classes_needs_no_positives():
    config = RunConfig.of({"loss": {"name": "cross_entropy"}}).as_dict()
    assert findings(replace(with_batch(with_positive=0.0), config=config)) == []


def test_imported_vectors_are_looked_at(tmp_path):
    import lab

    labels = np.repeat(np.arange(10), 6)
    ones = np.ones((60, 8)) + 1e-4 * np.random.default_rng(0).normal(size=(60, 8))
    collapsed = lab.runs.from_embeddings(ones, labels, name="ones", runs=tmp_path, normalise=True)
    sound = lab.runs.from_embeddings(
        np.random.default_rng(1).normal(size=(60, 8)),
        labels,
        name="sound",
        runs=tmp_path,
        normalise=True,
    )
    first = lab.verdict.diagnose(collapsed)[0]
    assert first.name == "collapsed" and first.place.page == "map" and "vectors" in first.advice
    history = lab.verdict.History.of_run(sound)
    assert not lab.verdict.findings(history)
    assert history.nothing_found.startswith(
        "Nothing wrong was found in the stored embeddings; the run has no record"
    )
    assert lab.verdict.History("empty").nothing_found.startswith("Nothing was judged")
