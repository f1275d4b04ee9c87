"""Curves are read back by TensorBoard and MLflow themselves."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import lab.runs
from lab import exporters
from lab.__main__ import main
from lab.core.records import Note

FLAGS = (
    *(
        "--data.test",
        "0.04",
        "--data.validation",
        "0.04",
        "--augmentation.size",
        "32",
        "--sampler.batch_size",
        "32",
    ),
    *(
        "--training.steps",
        "3",
        "--training.validate_every",
        "2",
        "--training.device",
        "cpu",
        "--quiet",
    ),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory, train_tiny):
    return train_tiny(
        tmp_path_factory.mktemp("curves"), "tiny", training={"steps": 4, "validate_every": 2}
    )


def curves_of(run) -> dict[str, list[tuple[int, float]]]:
    """What the run's own records say, by curve."""
    found: dict[str, list[tuple[int, float]]] = {}
    for record in run.metrics("stepped"):
        found.setdefault("training/loss", []).append((record["step"], record["loss"]))
    for record in run.metrics("validated"):
        for name, value in record["values"].items():
            found.setdefault(f"validation/{name}", []).append((record["step"], value))
    for name, value in run.scores("test")["values"].items():
        found[f"test/{name}"] = [(run.status["steps"], value)]
    return found


def read_back(folder) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()


def agrees(events: EventAccumulator, run) -> None:
    for name, points in curves_of(run).items():
        found = [(one.step, one.value) for one in events.Scalars(name)]
        assert [step for step, _ in found] == [step for step, _ in points], name
        assert [value for _, value in found] == pytest.approx(
            [value for _, value in points], rel=1e-6
        ), name


def test_tensorboard_reads_every_curve(run, tmp_path, capsys):
    place = tmp_path / "events"
    assert main(["export", str(run.path), "--to", "tensorboard", "--output", str(place)]) == 0
    assert capsys.readouterr().out.strip() == str(place)
    events = read_back(place)
    agrees(events, run)
    first = run.metrics("stepped")[0]
    assert events.Scalars("training/loss")[0].wall_time == pytest.approx(first["at"])
    (text,) = events.Tensors("settings/text_summary")
    assert b"| loss.name | recall_at_k |" in text.tensor_proto.string_val[0]


def test_a_training_is_followed_and_goes_on_after_a_break(tmp_path, capsys):
    words = ["train", *FLAGS, "--runs", str(tmp_path), "--name", "live", "--export", "tensorboard"]
    assert main(words) == 0
    run = lab.runs.open("live", tmp_path)
    agrees(read_back(run.path / "tensorboard"), run)
    again = lab.runs.create(run.config.changed("training.steps", 6), tmp_path, "broken")
    seen = []
    stopped = lab.runs.execute(again, stop=lambda: len(seen) >= 2)
    seen.extend(exporters.following(again, [exporters.create("tensorboard")], stopped))
    assert again.state == "stopped"
    assert main(["train", "--resume", str(again.path), "--quiet", "--export", "tensorboard"]) == 0
    agrees(read_back(again.path / "tensorboard"), again)
    assert (
        lab.runs.open("broken", tmp_path).state == "finished"
        and main(["runs", "check", str(again.path)]) == 0
    )


@pytest.mark.parametrize(
    ("method", "error"), [("scalars", OSError(28, "No space left")), ("close", ConnectionError())]
)
def test_a_log_that_fails_does_not_end_the_training(run, monkeypatch, method, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(f"lab.exporters.tensorboard._EventLog.{method}", fails)
    training = [Note("begun"), Note("over")]
    records = list(exporters.following(run, [exporters.create("tensorboard")], iter(training)))
    told = [record.sentence for record in records if record not in training]
    assert training == [record for record in records if record in training]
    assert len(told) == (method == "scalars") and all(
        "disk is full" in one and "lab export" in one for one in told
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--export", "parquet"], "--export writes curves, and parquet has none"),
        (["--export", "tensorbord"], "Did you mean 'tensorboard'?"),
        (["--export", "tensorboard", "--queue"], "leave out --queue"),
    ],
)
def test_what_cannot_be_followed_is_told_before_a_run_is_made(tmp_path, capsys, words, sentence):
    assert main(["train", *FLAGS, "--runs", str(tmp_path), "--name", "none", *words]) == 2
    assert sentence in capsys.readouterr().err and not list(tmp_path.iterdir())


def exported(run, where: str, *words: str) -> tuple[int, str]:
    """The status of `lab export`, and what it complained about."""
    from contextlib import redirect_stderr
    from io import StringIO

    with redirect_stderr(StringIO()) as said:
        return main(["export", str(run.path), "--to", where, *words]), said.getvalue()


def test_mlflow_itself_gives_every_number_back(run, tmp_path):
    from mlflow import MlflowClient

    store = f"sqlite:///{tmp_path / 'runs.db'}"
    assert exported(run, "mlflow", "--output", store)[0] == 0

    client = MlflowClient(tracking_uri=store)
    number = client.get_experiment_by_name("rankscope").experiment_id
    (kept,) = client.search_runs([number])
    assert kept.info.status == "FINISHED" and kept.data.params["loss.name"] == "recall_at_k"
    assert kept.info.run_name == kept.data.tags["rankscope.run"] == "tiny"
    for name, points in curves_of(run).items():
        history = client.get_metric_history(kept.info.run_id, name.replace("@", "_at_"))
        assert sorted((one.step, one.value) for one in history) == points, name
    first = client.get_metric_history(kept.info.run_id, "training/loss")[0]
    assert first.timestamp == round(run.metrics("stepped")[0]["at"] * 1000)
