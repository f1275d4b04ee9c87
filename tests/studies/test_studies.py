"""The studies, their trainings, the sweep that survives a kill, and the verdicts."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lab.data
from lab.core import arrays
from lab.data import Split
from lab.figures import measured as trials
from lab.figures.measured import Trial, packed, unpacked
from lab.inference.crossed import Spread, effect, spread
from lab.papers import tables
from lab.runs.config import merged
from scripts.studies import data, sweep, train, verdicts
from scripts.studies.__main__ import main
from scripts.studies.catalogue import select, studies
from scripts.studies.report import effects, judgements, report
from scripts.studies.study import PILOTS, SEEDS, Arm, Gain, Study, Training, gains
from scripts.studies.sweep import RESULTS
from scripts.studies.verdicts import (
    BLIND,
    NOT_RUN,
    NOT_SEEN,
    SHOWS,
    UNDECIDED,
    holm,
    judge,
    rate,
    rates,
)

ROOT = Path(__file__).parents[2]
WIDTH, SMALL = 16, {"batch_size": 16}
ARMS = {arm.name + arm.protocol: arm for arm in sweep.arms([*select().values()])}


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


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_is_a_configuration_and_takes_a_step(name, rows, monkeypatch):
    """A pilot sees the validation classes alone, every other training the test classes alone."""
    arm = ARMS[name]
    whole = data.prepared
    monkeypatch.setattr(train, "prepared", lambda *given: shrunk(whole(*given)))
    Training(arm, 1e-3, 0).config  # noqa: B018  as declared, it is a configuration
    small = {"training": {"steps": 1}, "sampler": SMALL, "encoder": {"dim": WIDTH}}
    tiny = dataclasses.replace(arm, config=merged(arm.config, small))
    for seed, seen, unseen in ((0, "test", "validation"), (PILOTS[0], "validation", "test")):
        trial = train.run(Training(tiny, 1e-3, seed), rows)
        assert (
            not trial.failed
            and not getattr(trial, unseen)
            and list(getattr(trial, seen)) == list(arm.columns)
        )
        for column, score in getattr(trial, seen).items():
            assert (
                unpacked(trial.by_class[column]).mean() == pytest.approx(score, abs=1e-4)
                and 0 <= score <= 1
            )


@pytest.mark.parametrize("name", studies())
def test_a_study_compares_what_its_arms_keep_and_a_paper_printed(name):
    study = studies()[name]
    assert study.columns[0] in study.first.columns and study.columns[1] in study.second.columns
    assert (study.first.protocol, study.first.tier) == (study.second.protocol, study.second.tier)
    printed = {
        100 * value
        for row in tables.rows()
        if row.paper == study.paper
        for value in row.values.values()
    }
    for gain in study.published:
        assert any(abs(a - b - gain.points) < 1e-6 for a in printed for b in printed)


def test_published_gains_are_read_off_the_tables():
    found = gains("000", ("table 2", "RS@k + SiMix"), ("table 2", "RS@k"), "r@1", "cars196")
    assert [gain.points for gain in found] == [6.6, 7.5] and found[0].source == "RS@k, table 2"
    with pytest.raises(ValueError, match="nowhere side by side"):
        gains("000", ("table 2", "RS@k"), ("table 3", "RS@k"), "r@1")


def test_at_most_two_studies_train_a_network():
    assert sum(studies()[name].first.tier != "head" for name in studies()) <= 2


def test_protocols_keep_classes_or_images_apart():
    made = {
        p: data.prepared(lab.data.create("emoji7", split_seed=0, validation=0.4), p)
        for p in verdicts.TESTED
    }
    for protocol, images in made.items():
        classes = {name: set(images.labels[split.query]) for name, split in images.splits.items()}
        assert len(classes["test"]) == verdicts.TESTED[protocol]
        if protocol != "seen":
            assert not classes["test"] & (classes["train"] | classes["validation"])
            assert not classes["train"] & classes["validation"]
    few, seen = made["few"], made["seen"].splits
    assert len(np.unique(few.labels[few.splits["train"].query])) == 20
    assert not set(seen["test"].query) & (set(seen["test"].gallery) | set(seen["validation"].query))
    assert set(seen["train"].query) == set(seen["test"].gallery)


def test_the_head_trains_and_a_training_repeats_itself(rows):
    config = {"loss": {"name": "contrastive"}, "training": {"steps": 40}, "encoder": {"dim": 8}}
    training = Training(Arm("a", config), 0.01, 2)
    first, again = train.run(training, rows), train.run(training, rows)
    untrained = train.run(
        Training(Arm("b", merged(config, {"training": {"steps": 1}})), 0.01, 2), rows
    )
    assert first.test == again.test and first.by_class == again.by_class
    assert first.test["r@1"] > untrained.test["r@1"] + 0.05


# ---------------------------------------------------------------------------------------------- the sweep


@pytest.fixture
def small(monkeypatch):
    """One study of two arms that train for a step, the published effect so large that it is run."""
    arms = [
        Arm(
            name,
            {
                "loss": {"name": name},
                "training": {"steps": 1},
                "encoder": {"dim": 8},
                "sampler": SMALL,
            },
        )
        for name in ("contrastive", "triplet_margin")
    ]
    study = Study(
        "First wins.", (Gain("000", "RS@k, table 2", "sop", 60.0),), *arms, ("r@1", "r@1")
    )
    monkeypatch.setattr(sweep, "select", lambda only=(): {"small": study})
    monkeypatch.setattr(verdicts, "WIDEST", 3)
    return study


def cache_features(cache, rows, monkeypatch):
    """Put features where a sweep looks for those of the network."""
    cache.mkdir()
    path = data.place(cache, f"efficientnet_lite0 {data.SIZE} half", lab.data.create("emoji7"))
    contents = np.zeros(len(rows), np.int64)
    arrays.write(path, {"vectors": rows, "items": np.arange(len(rows)), "contents": contents})
    monkeypatch.setenv("LAB_CACHE", str(cache))


def test_a_killed_sweep_goes_on_where_it_was(tmp_path, rows, monkeypatch):
    folder = tmp_path / "results"
    cache_features(tmp_path / "cache", rows, monkeypatch)
    flags = f"rsk_fast_ap --seeds 2 --folder {folder}".split()
    command = [sys.executable, "-m", "scripts.studies", "run", *flags]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL
    )
    path = sweep.file_of(studies()["rsk_fast_ap"].first, folder)
    try:
        until = time.monotonic() + 300
        while not (path.is_file() and trials.read(path).trials) and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.wait()
    before = trials.read(path)
    assert 1 <= len(before.trials) < 6, "killed while pilots were still missing"
    with open(path, "a") as file:
        file.write('{"setting":{"arm":"RS')  # as if the kill had fallen into a write
    assert trials.read(path) == before
    made = next(r for r in sweep.sweep(["rsk_fast_ap"], folder, 2) if isinstance(r, sweep.Ran))
    after = trials.read(path)
    assert after.trials[: len(before.trials)] == before.trials
    assert [one.key for one in after.trials[len(before.trials) :]] == [made.trial.key]
    (session,) = after.sessions
    assert "cores" in session["machine"] and "torch" in session["versions"]


def test_a_sweep_seeks_rates_first_and_then_makes_what_is_judged(
    tmp_path, rows, small, monkeypatch
):
    cache_features(tmp_path / "cache", rows, monkeypatch)
    monkeypatch.setattr(train, "prepared", lambda *given: shrunk(data.prepared(*given)))
    monkeypatch.setattr(verdicts, "TESTED", {"unseen": 8})
    # the best lies one rung above
    score = {rate(power): 0.5 - 0.1 * abs(power - 1) for power in range(-3, 4)}

    def run(training, *how):
        trial = train.run(training, *how)
        return dataclasses.replace(
            trial, validation={"r@1": score[trial.lr]} if trial.seed in PILOTS else {}
        )

    monkeypatch.setattr(sweep, "run", run)
    records = [r for r in sweep.sweep([], tmp_path, 3) if isinstance(r, sweep.Ran)]
    tried = [(r.trial.lr, r.trial.seed) for r in records if r.study == "contrastive"]
    assert {lr for lr, seed in tried if seed in PILOTS} == {rate(power) for power in (-1, 0, 1, 2)}
    assert sorted((lr, seed) for lr, seed in tried if seed not in PILOTS) == [
        (rate(1), seed) for seed in range(3)
    ]
    first_judged = min(i for i, r in enumerate(records) if r.trial.seed not in PILOTS)
    assert all(r.trial.seed not in PILOTS for r in records[first_judged:])
    assert not list(sweep.sweep([], tmp_path, 3)), "nothing is made twice"
    (found,) = sweep.state([], tmp_path, 3)
    assert found["missing"] == 0 and found["made"] == 2 * (8 + 3) and found["verdict"] != NOT_RUN


def test_a_sweep_refuses_what_it_cannot_do(tmp_path):
    with pytest.raises(ValueError, match="no study 'rsk_smooth'.*Did you mean 'rsk_smooth_ap'"):
        select(["rsk_smooth"])
    with pytest.raises(ValueError, match="needs at least two"):
        next(sweep.sweep(["sup_ap"], tmp_path, 1))
    from filelock import FileLock

    with FileLock(tmp_path / ".lock"), pytest.raises(ValueError, match="Another sweep is at work"):
        next(sweep.sweep(["sup_ap"], tmp_path))
    path = sweep.file_of(studies()["sup_ap"].first, tmp_path)
    path.write_text('{"not": "a trial"}\n')
    with pytest.raises(ValueError, match=f"{path.name}, line 1 is no trial"):
        list(sweep.sweep(["sup_ap"], tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("status --seeds 1", "--seeds must be from 2 to 1,000, got 1."),
        ("status x", "There is no study 'x'."),
        ("run --device cuda:99", "There is no device cuda:99 here"),
        ("run --device gpu9", "device must be auto, cpu, cuda or cuda:N, got 'gpu9'."),
    ],
)
def test_bad_flags_get_a_sentence(words, said, tmp_path):
    command = [sys.executable, "-m", "scripts.studies", *words.split(), "--folder", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode and said in ended.stderr and "Traceback" not in ended.stderr


def test_a_study_is_shown(capsys):
    main(["show", "sup_ap"])
    assert "points of MAP@R: +0.7 (cub200" in capsys.readouterr().out
    main(["status", "sup_ap"])
    assert "sup_ap" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------- the statistics


def trial(arm, lr, seed, score):
    found = {"validation": {"r@1": score}} if seed in PILOTS else {"test": {"r@1": score}}
    return Trial({"arm": arm.name}, lr, seed, arm.digest, **found)


def test_the_best_rate_has_a_worse_one_on_either_side():
    arm = Arm("a", {})
    assert rates(arm, [], "r@1") == verdicts.Rates((rate(-1), rate(0), rate(1)), None)

    def piloted(scores):
        return [
            trial(arm, rate(power), seed, score)
            for power, score in scores.items()
            for seed in PILOTS
        ]

    inside = rates(arm, piloted({-1: 0.1, 0: 0.3, 1: 0.2}), "r@1")
    assert inside.best == rate(0) and not inside.wanted
    rising = rates(arm, piloted({-1: 0.1, 0: 0.3, 1: 0.4}), "r@1")
    assert rising.best is None and rising.wanted == (rate(2),)
    assert rates(arm, piloted({-1: 0.1, 0: 0.3, 1: 0.2})[:-1], "r@1").wanted == (rate(1),), (
        "a pilot is missing"
    )
    diverged = [dataclasses.replace(one, validation={}, failed="nan") for one in piloted({1: 0.9})]
    assert rates(arm, [*piloted({-1: 0.1, 0: 0.3}), *diverged], "r@1").best == rate(0)
    with pytest.raises(ValueError, match="is the last that is tried"):
        rates(arm, piloted({power: power for power in range(-1, 6)}), "r@1")


def by_loops(cells):
    """The variance of a mean over crossed seeds and classes, and its degrees of freedom, from sums alone."""
    s, c = len(cells), len(cells[0])
    mean = sum(map(sum, cells)) / (s * c)
    rows = [sum(row) / c for row in cells]
    columns = [sum(row[j] for row in cells) / s for j in range(c)]
    a = c * sum((r - mean) ** 2 for r in rows) / (s - 1)
    b = s * sum((k - mean) ** 2 for k in columns) / (c - 1)
    e = sum(
        (cells[i][j] - rows[i] - columns[j] + mean) ** 2 for i in range(s) for j in range(c)
    ) / ((s - 1) * (c - 1))
    total = max(a + b - e, a, b)
    freedom = total**2 / (a**2 / (s - 1) + b**2 / (c - 1) + e**2 / ((s - 1) * (c - 1)))
    return mean, math.sqrt(total / (s * c)), freedom


def test_the_interval_is_that_of_crossed_random_factors():
    cells = np.random.default_rng(0).normal(size=(5, 1)) + np.random.default_rng(1).normal(
        size=(5, 30)
    )
    found, (mean, error, freedom) = effect(cells), by_loops(cells.tolist())
    assert found.mean == pytest.approx(mean) and found.high - mean == pytest.approx(
        stats.t.ppf(0.975, freedom) * error
    )
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean) / error, freedom))


def test_intervals_cover_the_truth_over_other_seeds_and_other_classes():
    random, covered, count = np.random.default_rng(0), 0, 600
    for _ in range(count):
        cells = (
            0.4 * random.normal(size=(8, 1))
            + random.normal(size=(1, 40))
            + 2 * random.normal(size=(8, 40))
        )
        found = effect(cells)
        covered += found.low <= 0 <= found.high
    assert 0.93 < covered / count < 0.98


def test_variances_are_found_again():
    random = np.random.default_rng(0)
    cells = (
        0.5 * random.normal(size=(400, 1))
        + 2 * random.normal(size=(1, 400))
        + 3 * random.normal(size=(400, 400))
    )
    found = spread(cells)
    assert (found.seeds, found.classes, found.rest) == pytest.approx((0.25, 4, 9), rel=0.15)
    assert found.error(16, 400) == pytest.approx(
        math.sqrt(found.seeds / 16 + found.classes / 400 + found.rest / 6400)
    )


def test_the_stated_power_is_that_of_the_test_that_is_used():
    own, random, count = Spread(seeds=0.3, classes=2.0, rest=4.0), np.random.default_rng(0), 1500
    seeds, classes = 6, 40
    size, found = verdicts.smallest(own, seeds, classes), 0
    assert verdicts.power_of(size, own, seeds, classes) == pytest.approx(verdicts.POWER, abs=1e-3)
    for _ in range(count):
        cells = size + math.sqrt(own.seeds) * random.normal(size=(seeds, 1))
        cells = cells + math.sqrt(own.classes) * random.normal(size=(1, classes))
        found += effect(cells + math.sqrt(own.rest) * random.normal(size=(seeds, classes))).low > 0
    assert found / count == pytest.approx(verdicts.POWER, abs=0.03)


def test_numbers_survive_their_packing():
    scores = np.array([0, 0.33333, 1, 2.5])
    assert unpacked(packed(scores)) == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize(
    ("gain", "published", "verdict"),
    [
        (4.0, [3.0, 5.0], SHOWS), (0.0, [3.0], NOT_SEEN["head"]), (-4.0, [3.0], NOT_SEEN["head"]),
        (0.4, [0.5, 20], UNDECIDED),
        (1.0, [0.01], BLIND), (None, [3.0], NOT_RUN),
    ],
)  # fmt: skip
def test_verdicts_follow_interval_and_power(gain, published, verdict, monkeypatch):
    monkeypatch.setattr(verdicts, "TESTED", {"unseen": 50})
    random, arms = np.random.default_rng(0), [Arm(name, {"loss": {"name": name}}) for name in "ab"]
    study = Study(
        "w", tuple(Gain("000", "t", "d", points) for points in published), *arms, ("r@1", "r@1")
    )
    made = []
    for which, arm in enumerate(arms):
        for seed in [*PILOTS, *range(SEEDS if gain is not None else 3)]:
            level = 0.5 + (0 if which else (gain or 0) / 100) + 0.03 * random.normal(size=50)
            for power in (-1, 0, 1) if seed in PILOTS else (0,):
                one = trial(arm, rate(power), seed, 0.5 - 0.1 * abs(power))
                made.append(
                    dataclasses.replace(one, by_class={"r@1": packed(np.clip(level, 0, 1))})
                )
    (found,) = judge({"s": study}, made).values()
    assert found.verdict == verdict and (found.effect is None) == (verdict in (BLIND, NOT_RUN))


def test_holm_raises_probabilities_step_by_step():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []


# --------------------------------------------------------------------------------------- what comes with the package


def test_the_page_and_the_figure_tell_the_bundled_results():
    written = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert written == report(RESULTS), "write it again: python -m scripts.studies report"
    assert json.loads(trials.EFFECTS.read_text("utf-8")) == effects(judgements(RESULTS))
    assert len(written.splitlines()) <= 80


def test_every_study_has_been_run_or_has_too_little_power():
    """And every rate that was chosen has a worse one on either side, which `rates` tells."""
    for row in sweep.state([], RESULTS):
        assert row["verdict"] != NOT_RUN and row["missing"] == 0, row


def test_six_verdicts_are_recomputed_from_the_files_alone():
    """By plain loops over the lines, with nothing of the engine."""
    recomputed = 0
    for name, judged in judgements(RESULTS).items():
        if judged.effect is None or recomputed == 6:
            continue
        sides = []
        for arm, column in zip(
            (judged.study.first, judged.study.second), judged.study.columns, strict=True
        ):
            pilots, tests = {}, {}
            for line in sweep.file_of(arm, RESULTS).read_text().splitlines():
                one = json.loads(line)
                if one.get("validation"):
                    pilots.setdefault(one["lr"], []).append(one["validation"][column.split(",")[0]])
                elif "seed" in one:
                    tests[one["lr"], one["seed"]] = unpacked(one["by_class"][column]).tolist()
            best = max(pilots, key=lambda lr: sum(pilots[lr]) / len(pilots[lr]))
            sides.append([tests[best, seed] for seed in range(SEEDS)])
        cells = [
            [100 * (x - y) for x, y in zip(a, b, strict=True)] for a, b in zip(*sides, strict=True)
        ]
        mean, error, freedom = by_loops(cells)
        half = stats.t.ppf(0.975, freedom) * error
        found = judged.effect
        assert (found.mean, found.low, found.high) == pytest.approx(
            (mean, mean - half, mean + half)
        ), name
        least = min(gain.points for gain in judged.study.published)
        not_seen = NOT_SEEN[judged.study.first.tier]
        assert judged.verdict == (
            SHOWS if mean > half else not_seen if mean + half < least else UNDECIDED
        ), name
        recomputed += 1
    assert recomputed == 6


def test_bundled_results_are_small_and_of_these_arms():
    files = set(RESULTS.glob("*.jsonl"))
    assert files == {sweep.file_of(arm, RESULTS) for arm in ARMS.values()}
    assert sum(f.stat().st_size for f in files | set(trials.BUNDLED.glob("*.jsonl"))) < 1_500_000
    with pytest.raises(ValueError, match="No results of a study 'x'"):
        trials.bundled("x")
