"""`lab.train`: a person's own encoder, data and loss, each alone and all together."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import lab
from lab.__main__ import main
from lab.runs.check import check
from lab.search.two_stage import TwoStage

QUICK = {
    "steps": 4,
    "batch_size": 8,
    "training": {"device": "cpu", "validate_every": 2, "checkpoint_every": 2},
}


class Shapes(torch.utils.data.Dataset):
    """Eight classes of eight pictures, each class a colour."""

    classes = [f"colour {c}" for c in range(8)]

    def __init__(self, kind="pil", of=64):
        self.kind, self.of = kind, of

    def __len__(self):
        return self.of

    def __getitem__(self, i):
        random = np.random.default_rng(i)
        pixels = random.integers(0, 90, (16, 16, 3)).astype(np.uint8)
        pixels[4:12, 4:12] = np.random.default_rng(1000 + i % 8).integers(90, 255, 3)
        if self.kind == "pil":
            return Image.fromarray(pixels), i % 8
        tensor = torch.from_numpy(pixels).permute(2, 0, 1)
        return (tensor if self.kind == "uint8" else tensor / 255), torch.tensor(i % 8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.last = nn.Linear(16, 8)

    def forward(self, images):
        return self.last(self.layers(images).flatten(1))


class Proxies(nn.Module):
    def __init__(self):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(8, 8))

    def forward(self, embeddings, labels):
        return nn.functional.cross_entropy(embeddings @ self.proxies.T, labels)


def pulling(embeddings, labels):
    same = labels[:, None] == labels[None, :]
    return ((embeddings @ embeddings.T - same.float()) ** 2).mean()


def test_all_three_of_ones_own_make_a_run_like_any_other(tmp_path):
    net, loss, heard = Net(), Proxies(), []
    before, proxies = net.last.weight.detach().clone(), loss.proxies.detach().clone()
    run = lab.train(net, Shapes(), loss, name="own", runs=tmp_path, listen=heard.append, **QUICK)
    assert run.state == "finished" and run.splits == ("test", "validation")
    assert not torch.equal(net.last.weight, before) and not torch.equal(loss.proxies, proxies), (
        "both are trained"
    )
    assert (
        run.scores()["values"]
        and len(run.metrics("stepped")) == 4
        and run.batches()
        and run.frames()
    )
    assert [r.step for r in heard if type(r).__name__ == "Stepped"] == [1, 2, 3, 4]
    assert run.config.encoder.values["what"] == "Net" and run.config.augmentation.knobs.size == 16
    images = run.dataset()
    assert (
        np.array_equal(np.asarray(images.load(3)), np.asarray(Shapes()[3][0]))
        and "colour 3" in images.class_names
    )
    assert np.allclose(np.linalg.norm(run.embeddings().vectors, axis=1), 1, atol=1e-4)
    assert not list(check(run)) and main(["runs", "report", str(run.path)]) == 0


def test_the_module_given_again_finds_the_same_neighbours(tmp_path):
    run = lab.train(Net(), Shapes(), "smooth_ap", name="own", runs=tmp_path, **QUICK)
    stored, images = run.embeddings(), run.dataset()
    model = lab.load(run, encoder=Net())
    assert np.allclose(
        model.embed([images.load(int(stored.items[0]))])[0], stored.vectors[0], atol=1e-5
    )
    assert model.search(images.load(int(stored.items[0])), k=1)[0].item == stored.items[0]
    with pytest.raises(
        ValueError, match=r"encoder of your own \(Net\).*lab.load\(run, encoder=module\)"
    ):
        lab.load(run)
    with pytest.raises(ValueError, match="does not fit"):
        lab.load(run, encoder=nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 8)))


def test_stored_vectors_are_measured_as_they_are_and_searched_as_is_asked(
    tmp_path, monkeypatch, capsys
):
    run = lab.train(Net(), Shapes(), "class_anchor_margin", name="own", runs=tmp_path, **QUICK)
    built, build = [], TwoStage.build
    seen = lambda *given, **named: built.append(named["anchors"]) or build(*given, **named)  # noqa: E731
    monkeypatch.setattr(TwoStage, "build", seen)
    words = ["evaluate", str(run.path), "--split", "test", "--evaluation.search", "two_stage"]
    assert main(words) == 0 and len(built) == 1
    np.testing.assert_array_equal(built[0], run.anchors()[0])
    assert main([*words, "--evaluation.flip"]) == 2
    assert (
        "evaluation.flip cannot be changed; leave it out, or give the encoder"
        in capsys.readouterr().err
    )


class Broken(Shapes):
    def __getitem__(self, i):
        if i == 7:
            raise RuntimeError("the file is torn")
        return super().__getitem__(i)


def bare(item):
    return [item] * 16


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"encoder": Net}, "encoder must be a torch.nn.Module.* the class Net itself"),
        ({"encoder": "no_such"}, "no_such"),
        ({"encoder": nn.Conv2d(3, 4, 3)}, r"features \[n d\].* makes \[2, 4, 14, 14\]"),
        ({"encoder": nn.Linear(5, 4)}, "cannot be used on images .* of 16 pixels"),
        ({"data": 3}, "data must be a torch data set"),
        ({"data": []}, "train data is empty"),
        ({"data": Broken()}, "Item 7 of the train data cannot be read: .*torn"),
        ({"data": bare(torch.zeros(3, 8, 8))}, "Item 0 .* pair of image and label, got Tensor"),
        ({"data": bare((torch.full((3, 8, 8), -2.0), 1))}, "pixels from -2 to -2"),
        ({"data": bare((torch.zeros(3, 8, 8), -1))}, "label '-1'"),
        ({"data": bare((torch.zeros(3, 8, 8), 1))}, "single class"),
        ({"validation": 1.5}, "validation must be a data set, or the share"),
        ({"loss": 3}, "loss must be a callable"),
        ({"loss": nn.CosineEmbeddingLoss()}, "The loss fails on embeddings"),
        ({"loss": lambda e, y: e}, r"scalar tensor; this one returned a tensor \[4, 8\]"),
        ({"loss": lambda e, y: e.detach().sum()}, "no gradient"),
        ({"steps": -1}, "steps"),
        ({"data": "emoji7", "test": 0.5}, "go with data of your own"),
        ({"training": {"whitening": 4}}, "whitening"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path, given, told):
    with pytest.raises(ValueError, match=told) as refused:
        lab.train(
            **{
                "encoder": Net(),
                "data": Shapes(),
                "loss": pulling,
                "name": "b",
                "runs": tmp_path,
                **QUICK,
                **given,
            }
        )
    assert "\n" not in str(refused.value) and not list(tmp_path.iterdir())


def stopping_after(steps):
    """Says stop once this many steps have been heard of."""
    heard = []
    return (
        heard.append,
        lambda: sum(type(record).__name__ == "Stepped" for record in heard) >= steps,
    )


def own(seed):
    torch.manual_seed(seed)
    return Net(), Proxies()


def test_a_resumed_training_ends_as_one_that_was_never_interrupted(tmp_path):
    net, loss = own(0)
    whole = lab.train(net, Shapes(), loss, name="whole", runs=tmp_path, **QUICK)
    net, loss = own(0)
    listen, stop = stopping_after(2)
    halved = lab.train(
        net, Shapes(), loss, name="halved", runs=tmp_path, listen=listen, stop=stop, **QUICK
    )
    assert halved.state == "stopped" and halved.status["step"] == 3
    net, loss = own(1)  # other weights: those of the checkpoint take their place
    assert lab.resume("halved", net, loss, runs=tmp_path).state == "finished"
    assert np.array_equal(halved.embeddings().vectors, whole.embeddings().vectors)
    steps = [[record["loss"] for record in run.metrics("stepped")] for run in (whole, halved)]
    assert steps[0] == steps[1] and len(steps[0]) == 4


def test_what_cannot_be_resumed_is_one_sentence_and_the_run_stays(tmp_path, capsys):
    net, loss = own(0)
    listen, stop = stopping_after(2)
    run = lab.train(
        net, Shapes(), loss, name="own", runs=tmp_path, listen=listen, stop=stop, **QUICK
    )
    status = (run.path / "status.json").read_bytes()

    class Wider(Proxies):
        def __init__(self):
            super().__init__()
            self.proxies = nn.Parameter(torch.randn(9, 8))

    for given, told in (
        (
            {},
            r"with an encoder \(Net\) and a loss \(Proxies\) of your own.*lab.resume\('own', encoder=..., loss=...\)",
        ),
        ({"encoder": Net()}, r"a loss \(Proxies\) of your own"),
        ({"encoder": Net, "loss": loss}, "encoder must be a torch.nn.Module"),
        ({"encoder": Net(), "loss": Proxies}, "loss must be a callable"),
        (
            {"encoder": nn.Sequential(nn.Flatten(), nn.Linear(768, 8)), "loss": loss},
            "The encoder does not fit run own",
        ),
        ({"encoder": Net(), "loss": Wider()}, "The loss does not fit run own: .*proxies"),
    ):
        with pytest.raises(ValueError, match=told):
            lab.resume(run, **given)
        assert (run.path / "status.json").read_bytes() == status
    for words in ([], ["--queue"]):
        assert main(["train", "--resume", "own", "--runs", str(tmp_path), *words]) == 2
        assert "lab.resume('own'" in capsys.readouterr().err
    assert (run.path / "status.json").read_bytes() == status and not (
        tmp_path / "queue.json"
    ).exists()
    brought = lab.runs.from_embeddings(
        np.eye(4), ["a", "a", "b", "b"], name="brought", runs=tmp_path
    )
    with pytest.raises(ValueError, match="made elsewhere, so there is nothing to train"):
        lab.resume(brought)


MODULE = """
import torch

def net():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 8))

def nothing():
    return 3
"""


def test_an_encoder_of_ones_own_is_exported_and_asked_by_its_function(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "made_here.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import made_here

    run = lab.train(made_here.net(), Shapes(), "smooth_ap", name="own", runs="runs", **QUICK)
    stored = run.embeddings()
    first = run.dataset().load(int(stored.items[0]))
    assert (
        main(["export", "own", "--to", "torch"]) == 2
        and "--encoder module:function" in capsys.readouterr().err
    )
    assert main(["export", "own", "--to", "csv", "--encoder", "made_here:net"]) == 2
    assert main(["export", "own", "--to", "torch", "--encoder", "made_here:nothing"]) == 2
    assert not list(tmp_path.glob("own*"))
    assert main(["export", "own", "--to", "torch", "--encoder", "made_here:net"]) == 0
    program = torch.export.load("own.pt2").module()
    pixels = lab.load(run, encoder=made_here.net()).encoder.transform.batch([first])
    assert np.allclose(program(pixels).detach().numpy()[0], stored.vectors[0], atol=1e-4)
    place = lab.exporters.create("huggingface").export(
        run, tmp_path / "model", encoder=made_here.net()
    )
    card = (place / "README.md").read_text()
    assert (
        "`Sequential` trained with the loss `smooth_ap` on `Shapes`" in card
        and "lab.encoders.create" not in card
    )
    first.save("q.png")
    capsys.readouterr()
    assert main(["query", "own", "q.png", "--k", "1", "--encoder", "made_here:net", "--json"]) == 0
    assert '"score": 1.0' in capsys.readouterr().out
    assert (
        main(["evaluate", "own", "--encoder", "made_here:net", "--quiet", "--evaluation.flip"]) == 0
    )
    assert not np.allclose(run.embeddings().vectors, stored.vectors), (
        "embedded anew, mirror images too"
    )
    assert len(lab.load("own", encoder="made_here:net").search(first, k=3)) == 3
