"""The studies, their trainings, the sweep that survives a kill, and the verdicts."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lab.claims
import lab.data
from lab import trials
from lab.__main__ import main
from lab.claims import _data, _report, _study, _sweep, _train
from lab.claims._study import TESTED, Claim, Contrast, DataSetup, Point, Study, Training
from lab.claims._verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Judged, among_all, finding, holm, judged
from lab.core import arrays
from lab.data import Split
from lab.runs.config import merged
from lab.trials import Scores, Trial, interval, key_of

ROOT = Path(__file__).parents[2]
WIDTH = 16


@pytest.fixture(scope="module")
def rows():
    """Features of all images: those of a class lie together, so that there is something to learn."""
    labels = lab.data.create("emoji7").labels
    random = np.random.default_rng(0)
    centres = random.normal(size=(labels.max() + 1, WIDTH))
    return (centres[labels] + 0.5 * random.normal(size=(len(labels), WIDTH))).astype(np.float32)


def shrunk(dataset, classes: int = 8):
    """A few classes of each split, so that a step and its evaluation take no time."""
    for name, split in dataset.splits.items():
        few = np.unique(dataset.labels[split.query])[:classes]
        kept = split.query[np.isin(dataset.labels[split.query], few)]
        gallery = split.gallery
        if gallery is not None:
            gallery = gallery[np.isin(dataset.labels[gallery], few)]
        dataset.splits[name] = Split(kept, gallery)
    return dataset


@pytest.mark.parametrize("name", lab.claims.names())
def test_the_points_of_a_study_are_configurations_and_take_a_step(name, rows, monkeypatch):
    """All are configurations of losses that exist; the last trains."""
    study = lab.claims.get(name)
    whole = _data.prepared
    monkeypatch.setattr(_train, "prepared", lambda *given: shrunk(whole(*given)))
    for point in study.points:
        Training(study, point, study.lrs[0], 0).config  # noqa: B018  as declared, it is a configuration
    point = study.points[-1]
    per_class = point.config.get("sampler", {}).get("per_class", 4)
    small = {"training": {"steps": 1}, "sampler": {"batch_size": 4 * per_class}, "encoder": {"dim": WIDTH}}
    tiny = dataclasses.replace(point, config=merged(point.config, small))
    trial = _train.run(Training(study, tiny, study.lrs[0], 0), rows)
    assert not trial.failed and trial.setting == point.setting
    assert list(trial.validation) == [study.column] and 0 <= trial.test[study.column] <= 1
    declared = {key for point in study.points for key in point.setting}
    read = set()

    def score(column=None, **setting):
        read.update(setting)
        assert any(setting == p.setting for p in study.points), f"{name} reads {setting}, which it does not train"
        assert (column or study.column) in trial.test, f"{name} reads {column}, which it does not measure"
        return 0.5

    for claim in study.claims:
        for contrast in claim.contrasts:
            assert np.isfinite(contrast.of(score)), contrast.words
    assert read <= declared


def test_every_setting_of_a_study_is_its_own_and_every_turn():
    turns = [lab.claims.get(name).turn for name in lab.claims.names()]
    assert turns == sorted(set(turns)) and max(turns) < 1_000
    for name in lab.claims.names():
        keys = [t.key for t in lab.claims.get(name).trainings()]
        assert len(keys) == len(set(keys)), name


def test_seen_protocol_searches_new_images_among_training_images():
    made = _data.prepared(lab.data.create("emoji7"), DataSetup("seen", shots=2), seed=3)
    train, test, validation = (made.splits[n] for n in ("train", "test", "validation"))
    assert set(made.labels[train.query]) == set(made.labels[test.query]) == set(made.labels[validation.query])
    assert not set(test.query) & (set(test.gallery) | set(validation.query))
    assert set(train.query) <= set(test.gallery)
    assert set(np.unique(made.labels[train.query], return_counts=True)[1]) == {2}
    assert set(np.unique(made.labels[test.gallery], return_counts=True)[1]) == {4}


def test_wrong_labels_touch_training_images_only():
    clean = lab.data.create("emoji7")
    made = _data.prepared(lab.data.create("emoji7"), DataSetup(wrong_labels=0.2, classes=0.5), seed=1)
    train, before = made.splits["train"].query, clean.splits["train"].query
    changed = np.flatnonzero(made.labels != clean.labels)
    assert set(changed) <= set(train)
    assert 0.17 * len(train) < len(changed) <= round(0.2 * len(train))
    assert len(np.unique(clean.labels[train])) == round(0.5 * len(np.unique(clean.labels[before])))


def test_the_head_trains_and_a_training_repeats_itself(rows):
    study = Study("t", "s", (), (), (0.01,), column="MAP@R")
    config = {"loss": {"name": "contrastive"}, "training": {"steps": 40}, "encoder": {"dim": 8}}
    training = Training(study, Point({"loss": "contrastive"}, config), 0.01, 2)
    first, again = _train.run(training, rows), _train.run(training, rows)
    untrained = _train.run(Training(study, Point({}, merged(config, {"training": {"steps": 1}})), 0.01, 2), rows)
    assert first.test == again.test and first.validation == again.validation
    assert first.test["MAP@R"] > untrained.test["MAP@R"] + 0.05


# ---------------------------------------------------------------------------------------------- the sweep


class Backwards:
    """As a launcher may: in an order of its own."""

    def map(self, function, pieces):
        return map(function, reversed(pieces))


def test_a_killed_sweep_goes_on_where_it_was(tmp_path, rows, monkeypatch):
    cache, folder = tmp_path / "cache", tmp_path / "results"
    cache.mkdir()
    path = _data.place(cache, f"efficientnet_lite0 {_data.SIZE} half", lab.data.create("emoji7"))
    arrays.write(path, {"vectors": rows, "items": np.arange(len(rows))})
    monkeypatch.setenv("LAB_CACHE", str(cache))
    path = folder / "two_stage.jsonl"
    flags = f"--only two_stage --seeds 2 --folder {folder}".split()
    command = [sys.executable, "-m", "lab", "papers", "claims", "run", *flags]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 300
        while not (path.is_file() and trials.read(path).trials) and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.wait()
    before = trials.read(path)
    assert 1 <= len(before.trials) < 4, "killed while trainings were still missing"
    with open(path, "a") as file:
        file.write('{"setting":{"loss":"class anch')  # as if the kill had fallen into a write
    assert trials.read(path) == before

    records = [r for r in _sweep.sweep(["two_stage"], folder, 2) if isinstance(r, _sweep.Ran)]
    assert [r.done for r in records] == list(range(len(before.trials) + 1, 5)) and records[-1].eta == 0
    after = trials.read(path)
    assert after.trials[: len(before.trials)] == before.trials
    assert len({t.key for t in after.trials}) == len(after.trials) == 4
    (session,) = after.sessions
    assert "cores" in session["machine"] and "torch" in session["versions"]
    assert not list(_sweep.sweep(["two_stage"], folder, 2)), "nothing is made twice"
    elsewhere = _sweep.sweep(["two_stage"], tmp_path / "elsewhere", 1, launcher=Backwards())
    assert [r.done for r in elsewhere] == [1, 2]
    made = {t.key: t.test for t in trials.read(tmp_path / "elsewhere" / "two_stage.jsonl").trials}
    assert len(made) == 2 and all({t.key: t.test for t in after.trials}[key] == test for key, test in made.items())


def test_a_sweep_refuses_what_it_cannot_do(tmp_path, rows):
    with pytest.raises(ValueError, match="no study 'loses'.*Did you mean 'losses'"):
        _sweep.select(["loses"])
    with pytest.raises(ValueError, match="at least one seed"):
        next(_sweep.sweep(["losses"], tmp_path, 0))
    from filelock import FileLock

    with FileLock(tmp_path / ".lock"), pytest.raises(ValueError, match="Another sweep is at work"):
        next(_sweep.sweep(["losses"], tmp_path))
    (tmp_path / "losses.jsonl").write_text('{"not": "a trial"}\n')
    with pytest.raises(ValueError, match="losses.jsonl, line 1 is no trial"):
        next(_sweep.sweep(["losses"], tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "0"], "--seeds must be from 1 to 1,000, got 0."),
        (["--only", "x"], "There is no study 'x'."),
        (["tau1"], "Name one study to show: lab papers claims show STUDY"),
        (["--device", "cuda:99"], "There is no device cuda:99 here"),
        (["--device", "gpu9"], "device must be auto, cpu, cuda or cuda:N, got 'gpu9'."),
    ],
)
def test_bad_flags_get_a_sentence(words, said, capsys, tmp_path):
    action = "run" if "--device" in words else "status"
    assert main(["papers", "claims", action, *words, "--folder", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- the statistics


def test_interval_is_that_of_scipy_and_wider_for_what_the_seeds_share():
    values = [0.3, -0.1, 0.25, 0.4, 0.05]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found, wider = interval(values), interval(values, shared=0.5)
    assert (found.low, found.high) == pytest.approx(tuple(expected)) and found.mean == pytest.approx(0.18)
    half = stats.t.ppf(0.975, 4) * np.std(values, ddof=1) * np.sqrt(1 / 5 + 0.5)
    assert (wider.low, wider.high) == pytest.approx((0.18 - half, 0.18 + half))
    assert interval([1.0]).half is None and interval([]).count == 0


def test_the_rate_is_chosen_on_validation_by_each_seed():
    def trial(seed, lr, validation, test, loss="a"):
        return Trial({"loss": loss}, lr, seed, "d", {"m": validation}, {"m": test, "other": -test})

    made = [
        trial(0, 1.0, 0.9, 0.1), trial(0, 2.0, 0.8, 0.7),  # the better test score is not the better choice
        trial(1, 1.0, 0.2, 0.3), trial(1, 2.0, 0.3, 0.4),
        trial(2, 1.0, 0.2, 0.3),  # a rate is missing
        trial(0, 1.0, 0.1, 0.5, "b"), trial(0, 2.0, 0.1, 0.6, "b"),  # a tie goes to the smaller rate
        dataclasses.replace(trial(1, 1.0, 0, 0, "b"), validation={}, test={}, failed="diverged"),
        trial(1, 2.0, 0.1, 0.2, "b"),
    ]  # fmt: skip
    both = {key_of({"loss": name}): {(1.0, "d"), (2.0, "d")} for name in "ab"}
    scores = Scores(made, "m", both)
    assert scores.by_seed(loss="a") == {0: 0.1, 1: 0.4}
    assert scores.by_seed("other", loss="a") == {0: -0.1, 1: -0.4}
    assert scores.by_seed(loss="b") == {0: 0.5, 1: 0.2}
    assert scores.paired(lambda s: s(loss="a") - s(loss="b")) == pytest.approx({0: -0.4, 1: 0.2})

    variant = dataclasses.replace(made[0], digest="released", validation={"m": 0.95}, test={"m": 0.6})
    three = {key_of({"loss": "a"}): {(1.0, "d"), (2.0, "d"), (1.0, "released")}}
    assert Scores([*made, variant], "m", three).by_seed(loss="a") == {0: 0.6}, "seed 1 lacks the variant"


@pytest.mark.parametrize(
    ("expects", "mean", "spread", "verdict"),
    [
        ("positive", 0.02, 0.005, HOLDS), ("positive", -0.02, 0.005, FAILS), ("positive", 0.0, 0.002, FAILS),
        ("positive", 0.01, 0.05, UNDECIDED), ("positive", 0.002, 0.0005, HOLDS),
        ("none", 0.0, 0.002, HOLDS), ("none", 0.03, 0.005, FAILS), ("none", -0.03, 0.005, FAILS),
        ("none", 0.0, 0.05, UNDECIDED),
        ("no loss", 0.0, 0.002, HOLDS), ("no loss", 0.05, 0.005, HOLDS), ("no loss", -0.03, 0.005, FAILS),
        ("no loss", 0.0, 0.05, UNDECIDED),
    ],
)  # fmt: skip
def test_verdicts_follow_the_interval(expects, mean, spread, verdict):
    values = mean + spread * np.array([-1, -0.5, 0, 0.5, 1])
    contrast = Contrast("c", lambda s: 0.0, expects)
    assert finding(contrast, values).verdict == verdict
    assert finding(contrast, values[:4]).verdict == NOT_RUN


def test_a_claim_holds_if_all_of_it_does():
    good, bad, unsure = [0.1, 0.11, 0.12, 0.1, 0.11], [-0.1, -0.11, -0.12, -0.1, -0.11], [0.1, -0.1, 0.2, -0.2, 0.0]
    contrast = Contrast("c", lambda s: 0.0)

    def verdict(*values):
        claim = Claim("w", (contrast,) * len(values))
        return judged(claim, [dict(enumerate(v)) for v in values]).verdict

    assert verdict(good, good) == HOLDS and verdict(good, unsure) == UNDECIDED
    assert verdict(good, unsure, bad) == FAILS and verdict(good, good[:3]) == NOT_RUN


@pytest.mark.parametrize(("weight", "protocol"), [(0.5, "unseen"), (1.0, "seen")])
def test_widened_intervals_cover_the_truth_over_other_classes(weight, protocol):
    """Classes differ in what a method gains; each of five seeds tests on other ones of the same hundred."""
    random, tested = np.random.default_rng(0), round(100 * TESTED[protocol])
    shares = tested / (100 - tested)
    covered = {0.0: 0, shares: 0}
    for _ in range(400):
        gains = weight * random.normal(size=100)
        means = [
            gains[random.permutation(100)[:tested]].mean() + (1 - weight) * 0.1 * random.normal() for _ in range(5)
        ]
        for shared in covered:
            found = interval(means, shared=shared)
            covered[shared] += found.low <= 0 <= found.high
    assert covered[shares] / 400 > 0.93 > 0.9 > covered[0.0] / 400


def test_holm_raises_probabilities_step_by_step():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []


def test_a_verdict_is_a_hint_until_it_stands_among_all():
    contrast = Contrast("c", lambda s: 0.0)
    sure, hint = finding(contrast, [0.1, 0.11, 0.12, 0.1, 0.11]), finding(contrast, [0.1, 0.13, 0.09, 0.15, 0.1])
    late = finding(contrast, [0.1])
    assert sure.verdict == hint.verdict == HOLDS and sure.p < hint.p < 0.05 and np.isnan(late.p)
    claim = Claim("w", (contrast,))
    found = among_all({"s": [Judged(claim, (f,), f.verdict) for f in (sure, hint, *[hint] * 8, late)]})["s"]
    assert found[0].sure and not found[1].sure and not found[-1].sure
    assert found[0].findings[0].holm == pytest.approx(10 * sure.p) and np.isnan(found[-1].findings[0].holm)


def test_that_one_of_several_fails_is_asked_more_strictly():
    contrast = Contrast("c", lambda s: 0.0)
    good, doubtful = [0.1, 0.11, 0.12, 0.1, 0.11], [-0.09, -0.05, -0.07, -0.05, -0.06]
    alone = judged(Claim("w", (contrast,)), [dict(enumerate(doubtful))])
    assert alone.verdict == FAILS and 0.01 < alone.findings[0].p < 0.05
    many = judged(Claim("w", (contrast,) * 6), [dict(enumerate(v)) for v in [doubtful] + [good] * 5])
    assert many.verdict == UNDECIDED


def test_the_report_tells_made_up_results_rightly(tmp_path, monkeypatch):
    def claim(words, one, other):
        return Claim(words, (Contrast(f"{one} - {other}", lambda s: s(loss=one) - s(loss=other)),))

    losses = ("contrastive", "margin", "nt_xent", "roadmap")
    study = Study(
        "Made up", "099, table 1",
        tuple(Point({"loss": name}, {"loss": {"name": name}}) for name in losses),
        (claim("First wins.", "contrastive", "margin"), claim("Second wins.", "margin", "contrastive"),
         claim("Who knows.", "contrastive", "nt_xent"), claim("Later.", "contrastive", "roadmap")),
        (0.1,),
    )  # fmt: skip
    monkeypatch.setattr(_study, "get", lambda name: study)
    level = {"contrastive": 0.5, "margin": 0.4, "nt_xent": 0.5}
    noise = {"contrastive": 0.0, "margin": 0.001, "nt_xent": 0.08}
    lines = [json.dumps({"session": {"versions": {"torch": "9.9"}, "machine": "an abacus"}})]
    for training in study.trainings():
        name = training.point.setting["loss"]
        if name in level:
            value = level[name] + noise[name] * (-1) ** training.seed
            made = Trial({"loss": name}, 0.1, training.seed, training.digest, {"MAP@R": 0.1},
                         {"MAP@R": value, "r@1": value}, 1.0)  # fmt: skip
            lines.append(made.as_json())
    (tmp_path / "made_up.jsonl").write_text("\n".join(lines) + "\n")
    page = _report.report(["made_up"], tmp_path)
    assert "Of 4 claims 1 hold, 1 do not hold here, 1 cannot be told, 1 were not run." in page
    assert "To run the rest: `lab papers claims run --only made_up`." in page
    assert "| made_up: Made up (099, table 1) | **First wins.** | **Second wins.** | Who knows. | Later. |" in page
    text = _report.section("made_up", _report.judgements(["made_up"], tmp_path)["made_up"])
    assert "15 of 20 trainings were run (15 CPU seconds)" in text
    assert "| contrastive | 50.0 ± 0.0 |" in text and "| contrastive - margin | +9.98 [+9.65, +10.31] points" in text
    assert "nan" not in text and "inf" not in text.replace("information", "")


def test_the_page_tells_the_bundled_results():
    written = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert written == _report.report(lab.claims.names(), trials.BUNDLED), "write it again: lab papers claims report"


def test_bundled_results_are_small_and_readable():
    files = list(trials.BUNDLED.glob("*.jsonl"))
    assert sum(f.stat().st_size for f in files) < 1_000_000
    for name in trials.studies():
        found = trials.bundled(name)
        assert _sweep.current(lab.claims.get(name), found), f"{name}: the bundled results are of another declaration"
        assert found.sessions and found.data == lab.claims.get(name).data, f"{name}: its sitting names another data set"
    with pytest.raises(ValueError, match="No results of a study 'x'"):
        trials.bundled("x")


def test_a_sweep_never_writes_into_the_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    asked = []
    monkeypatch.setattr(_sweep, "sweep", lambda names, folder, *_: asked.append(folder) or iter(()))
    assert main(["papers", "claims", "run", "--only", "two_stage", "--quiet"]) in (0, None)
    assert asked == [tmp_path / "claims"]
    before = {path: path.stat().st_mtime_ns for path in trials.BUNDLED.iterdir()}
    assert main(["papers", "claims", "status", "--only", "two_stage"]) in (0, None)
    assert str(trials.BUNDLED) in capsys.readouterr().err, "without results of one's own those of the package are read"
    (tmp_path / "claims").mkdir()
    shutil.copy(trials.BUNDLED / "two_stage.jsonl", tmp_path / "claims")
    monkeypatch.setattr(lab.claims, "names", lambda: ("two_stage",))  # not to judge them all
    assert main(["papers", "claims", "show", "two_stage"]) in (0, None)
    assert "| half less the share of comparisons | +0." in capsys.readouterr().out
    assert main(["papers", "claims", "status", "--only", "two_stage"]) in (0, None)
    assert str(tmp_path / "claims") in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in trials.BUNDLED.iterdir()}
