"""One table of sections: checked, completed, written and read again."""

import pytest
import yaml

from lab.cli import _config, parse
from lab.runs import SECTIONS, RunConfig, difference, presets
from lab.runs.config import read_yaml

REFUSED = [
    ({"los": "x"}, r"no section 'los' \(did you mean 'loss'\?\)"),
    ({"loss": "recal_at_k"}, "Did you mean 'recall_at_k'"),
    ({"loss": {"name": "recall_at_k", "tau": 1}}, "has no knob 'tau'.*Its knobs: .*tau1"),
    ({"loss": {"tau1": -1}}, "0 < tau1, got -1"),
    ({"loss": ["recall_at_k"]}, "a name or a mapping"),
    (
        {"loss": {"name": "cross_entropy", "num_classes": 3}},
        "follows from the data and the encoder",
    ),
    ({"training": {"steps": -1}}, "0 <= steps"),
    ({"training": {"steps": float("nan")}}, "steps"),
    ({"training": {"precision": "int8"}}, "one of auto, float32, bfloat16, float16"),
    (
        {"training": {"class_weights": "sharded"}},
        "^Training: class_weights sharded is no choice any more, .* leave class_",
    ),
    ({"training": {"class_weights": "other"}}, "no knob 'class_weights'"),
    ({"training": "fast"}, "mapping"),
    ({"metrics": "map_at_r"}, "must be a list"),
    ({"metrics": ["map_at_r", "map_at_r"]}, "names map_at_r twice"),
    ({"wrappers": [{"size": 3}]}, "needs a name"),
    ({"optimiser": {"name": "sgd", "betas": [0.9, 0.9]}}, "no knob 'betas'"),
    ({"data": {"name": "class_folders"}}, "needs root"),
    ({"training": {"steps": True}}, "steps must satisfy 0 <= steps"),
    ({"training": {"device": "meta"}}, "device must be auto, cpu, cuda or cuda:N"),
    ({"loss": {1: 2}}, "has no knob '1'"),
    ([1], "made of sections"),
    ({"loss": {"name": "smooth_ap", "y" * 2_000_000: 1}}, "has no knob"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[str(g)[:40] for g, _ in REFUSED])
def test_mistakes_are_one_sentence_that_says_what_is_legal(given, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        RunConfig.of(given)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 2_000


def test_whole_class_weights_of_older_runs_are_left_out():
    config = RunConfig.of({"training": {"steps": 3, "class_weights": "whole"}})
    assert (
        config == RunConfig.of({"training": {"steps": 3}})
        and "class_weights" not in config.as_yaml()
    )


def test_the_yaml_is_complete_and_reads_back_equal(tiny, tmp_path):
    config = RunConfig.of(
        {**tiny, "wrappers": ["simix"], "metrics": [{"name": "hit_rate_at_k", "k": [1, 3]}, "nmi"]}
    )
    file = tmp_path / "c.yaml"
    file.write_text(config.as_yaml())
    assert RunConfig.load(file) == config
    written = yaml.safe_load(file.read_text())
    assert set(written) == set(SECTIONS)
    assert written["loss"]["tau2"] == 0.01 and written["metrics"][0]["k"] == [1, 3]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {
            "loss": {"name": "recall_at_k", "simix": True, "k": [1, 2]},
            "wrappers": ["similarity_regulariser"],
        },
        {
            "loss": "class_anchor_margin",
            "optimiser": {"name": "sgd", "anchors_lr": 0.5, "nesterov": True},
        },
        {
            "wrappers": [{"name": "cross_batch_memory", "size": 64}],
            "metrics": ["nmi", {"name": "recall_at_k", "k": [3]}],
        },
        {
            "testing": {"resize": 20},
            "schedule": {"name": "step", "milestones": [0.5]},
            "training": {"clip": 1.0},
        },
        {"metrics": []},
        {"loss": "class_anchor_margin", "encoder": {"name": "small_cnn", "normalise": True}},
    ],
    ids=str,
)
def test_flags_give_the_same_configuration(tiny, change):
    config = RunConfig.of({**tiny, **change})
    _, arguments = parse(["train", *config.flags()])
    assert _config.config_of(arguments) == config


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({}, []),
        ({"loss": "class_anchor_margin"}, ["--loss", "class_anchor_margin"]),
        (
            {
                "metrics": [{"name": "hit_rate_at_k", "k": [1]}, "map_at_r"],
                "training": {"steps": 7},
            },
            ["--training.steps", "7", "--metrics.hit_rate_at_k.k", "1"],
        ),
        ({"metrics": []}, ["--metrics", "none"]),
        ({"wrappers": ["simix"]}, ["--wrappers", "simix"]),
    ],
    ids=str,
)
def test_flags_leave_out_what_is_the_default(given, flags):
    config = RunConfig.of(given)
    assert config.flags() == flags
    assert _config.config_of(parse(["train", *flags])[1]) == config


def test_another_loss_decides_anew_whether_embeddings_get_unit_length():
    cosine, anchors = RunConfig.of(), RunConfig.of({"loss": "class_anchor_margin"})
    assert cosine.encoder.knobs.normalise and not anchors.encoder.knobs.normalise
    assert not cosine.changed("loss", {"name": "class_anchor_margin"}).encoder.knobs.normalise
    assert anchors.changed("loss", "contrastive").encoder.knobs.normalise
    said = cosine.changed("encoder.normalise", False)
    assert not said.changed("loss", "contrastive").encoder.knobs.normalise, (
        "what a person said stays"
    )
    assert (
        anchors.changed("encoder.normalise", True)
        .changed("loss", "cross_entropy")
        .encoder.knobs.normalise
    )


def test_difference_names_every_knob_that_differs(tiny):
    one = RunConfig.of(tiny)
    other = one.changed("loss.tau1", 2).changed("schedule", "constant").changed("metrics", ["nmi"])
    found = difference(one, other)
    assert found["loss.tau1"] == (1.0, 2.0) and found["schedule.name"] == ("cosine", "constant")
    assert found["metrics.nmi.on"] == (None, True) and found["metrics.map_at_r.on"] == (True, None)
    assert not any(path.startswith("training") for path in found) and difference(one, one) == {}


@pytest.mark.parametrize("bad", ["a: [", "- 1\n- 2", "\x00"])
def test_a_file_that_is_no_configuration(bad, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(bad)
    with pytest.raises(ValueError, match="bad.yaml"):
        read_yaml(file)
    with pytest.raises(ValueError, match="cannot be read.*Presets"):
        read_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_legal_and_says_what_it_is_for(name):
    given = read_yaml(name)
    if given.get("data", {}).get("name") in ("class_folders", "cub200"):
        given["data"]["root"] = "photos"  # a person's own folder, which no preset can know
    RunConfig.of(given)
    first = presets()[name].read_text().splitlines()[0]
    assert first.startswith("# ") and len(first) > 20
