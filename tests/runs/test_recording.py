"""A loop that is not ours becomes a run while it goes on."""

import numpy as np
import pytest
import torch

import lab
from lab.runs.check import check

LABELS = ["a"] * 4 + ["b"] * 4


def points(seed=0):
    return torch.nn.functional.normalize(
        torch.randn(8, 5, generator=torch.Generator().manual_seed(seed)), dim=1
    )


def test_a_loop_is_live_and_then_finished(tmp_path):
    with lab.runs.record("own", {"lr": 0.1}, steps=3, runs=tmp_path) as run:
        for step in (1, 2, 3):
            run.log(step, loss=torch.tensor(1.0 / step), lr=0.1, accuracy=0.25 * step)
            run.embeddings(step, points(step).requires_grad_(), LABELS)
            run.batch(
                points(step)[:4],
                LABELS[:4],
                [0, 1, 2, 3],
                loss=torch.tensor(0.5, requires_grad=True),
            )
            found = lab.runs.open("own", tmp_path)
            assert (
                found.state == "running"
                and found.origin("validation").words == f"made elsewhere, step {step}"
            )
            np.testing.assert_allclose(
                found.embeddings("validation").vectors, points(step), atol=1e-6
            )
    assert (
        found.state == "finished"
        and list(found.frames()) == [1, 2, 3]
        and found.status["step"] == 3
    )
    assert [record["loss"] for record in found.metrics("stepped")] == pytest.approx(
        [1, 1 / 2, 1 / 3]
    )
    assert [r["values"].get("accuracy") for r in found.metrics("validated")][::2] == [
        0.25,
        0.5,
        0.75,
    ]
    assert (
        found.scores("validation")["queries"] == 8
        and found.meta["config"] == {"lr": 0.1}
        and not check(found)
    )
    assert list(found.batches()) and found.dataset().class_names == ["a", "b"]


@pytest.mark.parametrize("names", [{}, {"keys": list("abcdefgh")}])
def test_rows_in_another_order_than_before_are_refused(tmp_path, names):
    """A loader that shuffles gives every call other images under the same numbers."""
    with lab.runs.record("own", runs=tmp_path) as run:
        run.embeddings(1, points(1), LABELS, **names)
        run.embeddings(2, points(2), LABELS, **names)
        run.embeddings(3, points(3))
        order = [0, 4, 1, 5, 2, 6, 3, 7]
        shuffled = {name: [values[row] for row in order] for name, values in names.items()}
        with pytest.raises(
            ValueError, match=r"Row \d has the label|Row 1 is 'e' now and was 'b' before"
        ):
            run.embeddings(4, points(4)[order], [LABELS[row] for row in order], **shuffled)
        with pytest.raises(ValueError, match="There are 8 vectors, but 7 values of labels"):
            run.embeddings(4, points(4), LABELS[:7])
        assert run.step == 3
        with pytest.raises(ValueError, match="A row of the batch has no class"):
            run.batch(points()[:4], ["a", None, "b", "b"], range(4))


def test_measuring_what_has_no_classes_is_refused(tmp_path):
    told = pytest.raises(ValueError, match="no two rows are known to be of one class")
    with lab.runs.record("own", runs=tmp_path) as run, told:
        run.embeddings(1, points(), measure=True)


def test_labels_of_no_class_are_alike_however_they_are_written(tmp_path):
    with lab.runs.record("own", runs=tmp_path) as run:
        run.embeddings(1, points(), ["a", "a", None, None, "b", "b", "", float("nan")])
        run.embeddings(2, points(2), ["a", "a", -1, float("nan"), "b", "b", None, ""])


def test_an_error_in_the_loop_is_the_run_s_end(tmp_path):
    with pytest.raises(RuntimeError), lab.runs.record("own", runs=tmp_path) as run:
        run.log(1, loss=float("nan"))
        raise RuntimeError("no more data")
    assert run.run.state == "failed" and "no more data" in run.run.status["sentence"]
    assert run.run.metrics("stepped")[0]["loss"] is None


def test_what_cannot_be_recorded_is_one_sentence(tmp_path):
    with lab.runs.record("own", runs=tmp_path) as run:
        for wrong, sentence in (
            (lambda: run.batch(points(), LABELS, range(8)), "images first"),
            (lambda: run.embeddings(5, 2 * points(), LABELS), "length 2 instead"),
            (
                lambda: run.embeddings(5, points(), LABELS, keys=["a"] * 8),
                "Rows 0 and 1 have the same key 'a'",
            ),
            (
                lambda: run.embeddings(1, points(), LABELS) or run.embeddings(1, points()[:5]),
                "5 vectors, but the run has 8",
            ),
            (lambda: run.batch(points(), LABELS, range(1, 9)), "Items are 0 to 7"),
            (lambda: run.log(0, loss=1), "steps must not go back"),
            (lambda: run.log(2, loss="low"), "loss must be a number"),
        ):
            with pytest.raises(ValueError, match=sentence):
                wrong()
    with pytest.raises(ValueError, match="kept as JSON"):
        lab.runs.record("other", {"net": object()}, runs=tmp_path)
    assert not (tmp_path / "other").exists()


class Toy(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return points()[i], i // 4


def embed(net):
    with torch.no_grad():
        return torch.nn.functional.normalize(net(points()), dim=1), LABELS


def test_lightning(tmp_path, monkeypatch):
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)
    lightning = pytest.importorskip("lightning.pytorch")
    from lab.integrations.recording.lightning import LightningRecording

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.save_hyperparameters({"loss": "contrastive", "seed": 5})
            self.net, self.contrastive = torch.nn.Linear(5, 3), lab.losses.create("contrastive")

        def training_step(self, batch, _):
            return self.contrastive(
                torch.nn.functional.normalize(self.net(batch[0]), dim=1), batch[1]
            )

        def validation_step(self, batch, _):
            self.log("similar", self.net(batch[0]).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    loader = torch.utils.data.DataLoader(Toy(), batch_size=8)
    with lab.runs.record("lightning", runs=tmp_path) as run:
        trainer = lightning.Trainer(
            max_epochs=3, callbacks=[LightningRecording(run, lambda module: embed(module.net))], logger=False,
            accelerator="cpu", enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        trainer.fit(Module(), loader, loader)
    assert [record["step"] for record in run.run.metrics("stepped")] == [1, 2, 3]
    assert list(run.run.frames()) == [1, 2, 3] and run.run.metrics("stepped")[0]["lr"] == 0.05
    assert any("similar" in record["values"] for record in run.run.metrics("validated"))
    told = lab.runs.open("lightning", tmp_path).config
    assert (told.method, told.seed) == ("contrastive", 5)


def test_the_trainers_of_pytorch_metric_learning(tmp_path):
    """With a loss of ours, as it is."""
    from pytorch_metric_learning import trainers

    from lab.integrations.recording import pml

    net = torch.nn.Linear(5, 3)
    with lab.runs.record("pml", runs=tmp_path) as run:
        trainers.MetricLossOnly(
            {"trunk": net}, {"trunk_optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}, 8,
            {"metric_loss": lab.losses.create("smooth_ap")}, Toy(), iterations_per_epoch=2, dataloader_num_workers=0,
            end_of_iteration_hook=pml.end_of_iteration(run),
            end_of_epoch_hook=pml.end_of_epoch(run, lambda models: embed(models["trunk"])),
        ).train(num_epochs=2)  # fmt: skip
    assert [record["step"] for record in run.run.metrics("stepped")] == [1, 2, 3, 4]
    assert list(run.run.frames()) == [2, 4]


def test_accelerate(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    from lab.integrations.recording.accelerate import Tracker

    with lab.runs.record("accelerate", runs=tmp_path) as run:
        accelerator = accelerate.Accelerator(cpu=True, log_with=Tracker(run))
        accelerator.init_trackers("it", {"lr": 0.1, "loss": "mine", "seed": 3})
        for step in (1, 2):
            accelerator.log(
                {"loss": 1 / step, "accuracy": 0.5, "phase": "words are left out"}, step=step
            )
        accelerator.end_training()
    assert [record["loss"] for record in run.run.metrics("stepped")] == [1, 0.5]
    assert run.run.metrics("validated")[0]["values"] == {"accuracy": 0.5}
    told = lab.runs.open("accelerate", tmp_path).config
    assert (told.method, told.seed) == ("mine", 3)


class Pairs(torch.utils.data.Dataset):
    """Items as the Trainer wants them: by the names of the model's arguments."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {"vectors": points()[i], "labels": i // 4}


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.loss = torch.nn.Linear(5, 3), lab.losses.create("contrastive")

    def forward(self, vectors, labels):
        embeddings = torch.nn.functional.normalize(self.net(vectors), dim=1)
        return {"loss": self.loss(embeddings, labels), "embeddings": embeddings}


def test_the_trainer_of_transformers(tmp_path):
    import transformers

    from lab.integrations.recording.transformers import TransformersRecording

    with lab.runs.record("trainer", runs=tmp_path) as run:
        transformers.Trainer(
            WithLoss(), train_dataset=Pairs(), eval_dataset=Pairs(),
            args=transformers.TrainingArguments(
                output_dir=str(tmp_path / "out"), per_device_train_batch_size=8, num_train_epochs=3, logging_steps=1,
                eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
                learning_rate=0.05,
            ),
            callbacks=[TransformersRecording(run, lambda model: embed(model.net))],
        ).train()  # fmt: skip
    stepped = [record for record in run.run.metrics("stepped") if "lr" in record]
    assert [record["step"] for record in stepped] == [1, 2, 3] and list(run.run.frames()) == [
        1,
        2,
        3,
    ]
    assert (
        stepped[0]["lr"] == pytest.approx(0.05)
        and stepped[0]["gradient_norm"] > 0
        and stepped[0]["loss"] > 0
    )
    values = [record["values"] for record in run.run.metrics("validated")]
    assert any("eval_loss" in one for one in values) and any("r@1" in one for one in values)
    assert run.run.state == "finished" and not check(run.run)
    assert lab.runs.open("trainer", tmp_path).config.seed == 42, "the Trainer's own"
