"""A recipe trained again on its set in miniature, and what is said of the outcome."""

import json

import pytest

import lab.figures
import lab.papers.recipes
from lab.__main__ import main
from lab.core.estimates import Estimate
from lab.protocols.reproduction import compare
from tests.data.miniatures import WRITERS

SMALL = (
    "--encoder.backbone test_resnet --no-encoder.pretrained --no-encoder.freeze_batchnorm --augmentation.size 32 "
    "--testing.resize 36 --sampler.batch_size 2 --sampler.per_class 2 --training.steps 1 --training.chunk 2 "
    "--training.workers 0 --device cpu"
)


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    return str(WRITERS["cars196"](tmp_path_factory.mktemp("cars")))


def test_other_data_than_the_published_are_refused(cars, tmp_path, capsys):
    words = [
        "papers",
        "reproduce",
        "rsk_cars196_r50_512",
        "--data.root",
        cars,
        "--runs",
        str(tmp_path),
        *SMALL.split(),
    ]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert (
        "published are 8,054 images of 98 classes" in said
        and "train all the same with --anyway" in said
    )
    assert not any(tmp_path.iterdir())
    assert main([*words, "--anyway", "--check"]) == 0
    said = capsys.readouterr().err
    assert "memory: " in said and "On one modern GPU, estimated and not measured: 0.4" in said
    assert not any(tmp_path.iterdir()), "a look trains nothing"


def test_a_reproduction_tells_what_was_published_and_what_came_out(cars, tmp_path, capsys):
    words = [
        "papers",
        "reproduce",
        "rsk_cars196_r50_512",
        "--data.root",
        cars,
        "--runs",
        str(tmp_path),
        "--anyway",
        *SMALL.split(),
    ]
    assert main([*words, "--seeds", "2"]) == 0
    folder = tmp_path / "reproduce-rsk_cars196_r50_512"
    assert "To send in: outcome.json, outcome.md" in capsys.readouterr().err
    rows = json.loads((folder / "outcome.json").read_text())["rows"]
    assert [row["setting"]["score"] for row in rows] == ["r@1", "r@2", "r@4", "r@8"]
    assert (
        rows[0]["setting"]["published"] == "0.8070" and rows[0]["setting"]["row"] == "RS@k, table 2"
    )
    for row in rows:
        ours, difference = row["scores"]["ours"], row["scores"]["difference"]
        assert len(ours["values"]) == 2
        assert difference["mean"] == pytest.approx(
            ours["mean"] - float(row["setting"]["published"])
        )
    assert (folder / "report.html").stat().st_size > 10_000 and "table 2" in (
        folder / "outcome.md"
    ).read_text()
    figure = lab.figures.create(
        "reference_scores", dataset="Cars196", file=str(folder / "outcome.json")
    )
    ((name, value),) = figure.numbers()["own"]
    assert name == "rsk_cars196_r50_512, reproduced"
    assert value == pytest.approx(100 * rows[0]["scores"]["ours"]["mean"])
    with pytest.raises(ValueError, match=r"report.html is no outcome of `lab papers reproduce`"):
        lab.figures.create("reference_scores", file=str(folder / "report.html")).numbers()


def test_a_number_is_met_as_far_as_it_is_printed():
    def outcome(*ours):
        return compare({}, 0.807, Estimate.of(ours)).setting["outcome"]

    assert outcome(0.8066) == outcome(0.9) == "met" and outcome(0.79) == "missed by 1.7 points"
    assert outcome(0.80, 0.81, 0.805) == "met", "the interval over seeds reaches it"
    assert outcome(0.780, 0.781, 0.782) == "missed by 2.6 points"


def test_vehicles_are_measured_on_three_test_sets_and_landmarks_where_they_are_judged(
    tmp_path, tmp_path_factory
):
    """Each by the paper's own protocol, on the official files in miniature."""
    where = {
        name: str(WRITERS[name](tmp_path_factory.mktemp(name)))
        for name in ("vehicle_id", "google_landmarks_v1", "revisited_oxford", "revisited_paris")
    }
    words = ["--runs", str(tmp_path), "--anyway", "--quiet", *SMALL.split()]
    recipes = {"rsk_vehicle_id_r50_512": ["--data.root", where["vehicle_id"]]}
    recipes["rsk_landmarks_r101_2048"] = [
        "--data.root", where["google_landmarks_v1"], "--oxford", where["revisited_oxford"],
        "--paris", where["revisited_paris"], "--training.whitening", "none", "--training.chunk", "1",
        "--encoder.freeze_batchnorm",
    ]  # fmt: skip
    found = {}
    for name, more in recipes.items():
        assert main(["papers", "reproduce", name, *words, *more]) == 0
        outcome = json.loads((tmp_path / f"reproduce-{name}" / "outcome.json").read_text())
        found[name] = {row["setting"]["data"] for row in outcome["rows"]}, outcome["notes"]
    assert found["rsk_vehicle_id_r50_512"][0] == {
        f"vehicle_id {size}" for size in ("small", "medium", "large")
    }
    judged, notes = found["rsk_landmarks_r101_2048"]
    assert judged == {
        "revisited_oxford",
        "revisited_paris",
        "revisited_oxford mean over all set-ups",
    }
    assert (
        sum("Not measured: RS@k, table 3" in note and "distractors" in note for note in notes) == 3
    )
