"""The two-pass step, gathered losses and samplers in loops of Lightning, accelerate and plain DDP."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import lab
from tests import several

from .toys import ToyEncoder, toy_batch

warnings.filterwarnings("ignore", module="lightning")


def encoder_and_loss():
    torch.manual_seed(0)
    return ToyEncoder(dropout=0).train(), lab.losses.create("smooth_ap")


def in_ddp(rank, place):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{place}/store", rank=rank, world_size=2
    )
    try:
        images, labels = (part.chunk(2)[rank] for part in toy_batch(16))
        encoder, loss = encoder_and_loss()
        wrapped, reduced = nn.parallel.DistributedDataParallel(encoder), []
        wrapped.register_comm_hook(None, lambda state, bucket: counted(bucket, reduced))
        found = {}
        for chunk, keep in ((3, 0), (3, 9), (None, 0)):
            encoder.zero_grad()
            reduced.clear()
            step = lab.training.gradients(
                wrapped, lab.losses.gathered(loss), images, labels, chunk=chunk, keep=keep
            )
            grads = {name: p.grad.clone() for name, p in encoder.named_parameters()}
            found[str((chunk, keep))] = {"loss": step.loss, "grads": grads, "reduced": len(reduced)}
        torch.save(found, f"{place}/{rank}.pt")
    finally:
        torch.distributed.destroy_process_group()


def counted(bucket, reduced):
    reduced.append(1)
    work = torch.distributed.all_reduce(bucket.buffer().div_(2), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def test_two_passes_in_ddp_are_the_plain_step_of_one_process(tmp_path):
    several.run(in_ddp, (str(tmp_path),), 2)
    encoder, loss = encoder_and_loss()
    images, labels = toy_batch(16)
    value = loss(encoder(images), labels)
    value.backward()
    expected = {name: p.grad for name, p in encoder.named_parameters()}
    for rank in range(2):
        for how, found in torch.load(tmp_path / f"{rank}.pt").items():
            torch.testing.assert_close(found["loss"], value.detach(), atol=1e-6, rtol=1e-6)
            torch.testing.assert_close(found["grads"], expected, atol=1e-6, rtol=1e-5)
            assert found["reduced"] == 1, f"{how}: gradients are averaged once a step"


@pytest.fixture
def loader():
    labels = torch.arange(10).repeat_interleave(4)
    images = torch.randn(10, 3, 6, 6)[labels] + 0.3 * torch.randn(40, 3, 6, 6)
    sampler = lab.samplers.create("m_per_class", batch_size=16, per_class=4).bind(labels)
    return DataLoader(TensorDataset(images, labels), batch_sampler=sampler)


def test_in_lightning(loader, tmp_path):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.encoder, self.loss = encoder_and_loss()
            self.scores = lab.evaluation.for_torchmetrics("map_at_r")
            self.seen = []

        def training_step(self, batch, _):
            optimiser = self.optimizers()
            optimiser.zero_grad()
            step = lab.training.gradients(self.encoder, self.loss, *batch, chunk=4)
            optimiser.step()
            self.seen.append(step.loss.item())

        def validation_step(self, batch, _):
            self.scores.update(self.encoder(batch[0]), batch[1])

        def on_validation_epoch_end(self):
            self.log_dict(self.scores.compute())
            self.scores.reset()

        def configure_optimizers(self):
            return torch.optim.Adam(self.encoder.parameters(), lr=0.01)

    module = Module()
    silent = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    how = dict.fromkeys(silent, False) | {
        "accelerator": "cpu",
        "precision": "bf16-mixed",
        "num_sanity_val_steps": 0,
    }
    trainer = lightning.Trainer(max_epochs=4, default_root_dir=tmp_path, **how)
    trainer.fit(module, loader, loader)
    assert len(module.seen) == 4 * len(loader)
    assert sum(module.seen[-3:]) < sum(module.seen[:3])
    assert 0 < float(trainer.callback_metrics["MAP@R"]) <= 1


def test_in_accelerate(loader):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    encoder, loss = encoder_and_loss()
    optimiser = torch.optim.Adam(encoder.parameters(), lr=0.01)
    encoder, optimiser, loader = accelerator.prepare(encoder, optimiser, loader)
    seen = []
    for _ in range(4):
        for images, labels in loader:
            optimiser.zero_grad()
            seen.append(
                lab.training.gradients(
                    encoder, lab.losses.gathered(loss), images, labels, chunk=4
                ).loss.item()
            )
            optimiser.step()
    assert len(seen) == 4 * len(loader) and sum(seen[-3:]) < sum(seen[:3])
