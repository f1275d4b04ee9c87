"""A trained run and a model folder from somebody else, opened by every command and page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from PIL import Image

import lab
import lab.runs
from lab.__main__ import main
from lab.core import ownership
from lab.runs.execute import execute
from lab.training import checkpoint
from tests.boundary.watching import watched
from tests.conftest import TINY

PROGRAM, DATA, EITHER = "program", "data", "either"

HARMS = {
    "a function of the folder": {"encoder": {"base": "evil:go"}},
    "a function of an installed module": {"encoder": {"base": "os:abort"}},
    "TorchScript": {"encoder": {"base": "x.ts"}},
    "torch.export": {"encoder": {"base": "x.pt2"}},
    "ONNX": {"encoder": {"base": "x.onnx"}},
    "an address": {"data": {"name": "tar_shards", "root": "http://127.0.0.1:1/x.tar"}},
    "an address behind a cache": {
        "data": {"name": "tar_shards", "root": "filecache::http://127.0.0.1:1/x.tar"}
    },
    "a folder of somebody": {"data": {"name": "class_folders", "root": "{secret}"}},
    "a list of somebody's images": {"images": "{secret}"},
}
"""What a sender can do: the sections that are changed in config.yaml and in the checkpoint, or the root of its list."""

COMMANDS = {
    PROGRAM: [
        ["query", "{run}", "{photo}"],
        ["evaluate", "{run}"],
        ["embed", "{photos}", "--encoder", "{run}", "--name", "embedded"],
        ["export", "{run}", "--to", "torch", "--output", "{out}/net.pt2"],
        ["export", "{run}", "--to", "huggingface", "--output", "{out}/hub"],
        ["serve", "{run}", "--port", "0"],
        ["adapt", "{run}"],
        ["papers", "protocol", "reality_check", "{run}", "--name", "again"],
        ["train", "--resume", "{run}"],
        ["train", "--config", "{run}/config.yaml", "--name", "anew"],
    ],
    DATA: [
        ["query", "{run}", "{photo}"],
        ["evaluate", "{run}"],
        ["export", "{run}", "--to", "parquet", "--output", "{out}/rows.parquet"],
        ["threshold", "{run}"],
        ["adapt", "{run}"],
        ["play", "{run}", "--no-browser", "--output", "{out}/play.html"],
        ["serve", "{run}", "--port", "0"],
        ["train", "--resume", "{run}"],
    ],
    EITHER: [
        ["runs", "check", "{run}"],
        ["runs", "report", "{run}"],
        ["runs", "report", "{run}", "--html", "{out}/page.html"],
        ["runs", "verdict", "{run}"],
        ["runs", "{run}"],
        ["runs"],
    ],
}
"""Commands that open a run; those that need its program or its data must refuse it, the others never run or read it."""


def kind_of(harm: str) -> str:
    return PROGRAM if "encoder" in HARMS[harm] else DATA


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A finished run: a head on a small network that is named as JSON, one step."""
    root = tmp_path_factory.mktemp("sender")
    sections = {
        "data": {"name": "digits"},
        "encoder": {
            "name": "adapted",
            "base": '{"name": "small_cnn", "width": 8}',
            "image_size": 32,
            "dim": 8,
        },
        "training": {**TINY["training"], "steps": 1},
        "evaluation": {"splits": ["test"], "batch_size": 64},
    }
    run = lab.runs.create(lab.runs.RunConfig.of({**TINY, **sections}), root, "gift")
    for _ in execute(run):
        pass
    return run.path


@pytest.fixture
def places(tmp_path, monkeypatch) -> dict[str, Path]:
    """Where a person stands: folders of pictures and of results, and one that is nobody's business."""
    found = {name: tmp_path / name for name in ("runs", "photos", "out", "secret")}
    for folder in found.values():
        folder.mkdir()
    for folder in ("secret/a", "secret/b", "photos"):
        for number in range(4):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.new("RGB", (32, 32), (40 * number, 90, 120)).save(
                tmp_path / folder / f"{number}.png"
            )
    monkeypatch.setenv("LAB_RUNS", str(found["runs"]))
    return {**found, "run": found["runs"] / "gift", "photo": found["photos"] / "1.png"}


def sent(trained: Path, places: dict[str, Path], harm: str) -> lab.runs.Run:
    """The trained run as another account sends it, with programs in its folder, and what it names changed."""
    folder = Path(shutil.copytree(trained, places["run"]))
    (folder / ownership.FILE).unlink()
    (folder / "evil.py").write_text(f"open({str(places['out'] / 'ran')!r}, 'w')\ndef go(): pass\n")
    for name in ("x.ts", "x.pt2", "x.onnx"):
        (folder / name).write_bytes(b"a program")
    state = checkpoint.load(folder / "checkpoints" / "last.safetensors")
    change = json.loads(json.dumps(HARMS[harm]).replace("{secret}", str(places["secret"])))
    if "images" in change:
        data = {"name": "class_folders", "root": "digits"}
        listed = {
            "data": lab.runs.RunConfig.of({"data": data}).data.as_dict(), "root": change.pop("images"),
            "class_disjoint": True, "keys": ["a/0.png", "a/1.png"], "labels": [0, 0], "class_names": ["a"],
            "super_labels": None, "super_names": [], "attributes": {}, "problems": [],
            "splits": {"test": [[0, 1], None]},
        }  # fmt: skip
        (folder / "images.json").write_text(json.dumps(listed))
        (folder / "digits").mkdir()
        change = {"data": data}
    config = state["config"]
    for section, values in change.items():
        config[section] = {**config[section], **values} if section == "encoder" else values
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    checkpoint.save(folder / "checkpoints" / "last.safetensors", {**state, "config": config})
    return lab.runs.Run(folder)


@pytest.mark.parametrize("harm", HARMS)
def test_every_command_refuses_in_a_sentence(harm, trained, places, monkeypatch, capsys):
    run = sent(trained, places, harm)
    monkeypatch.chdir(run.path)  # where a program of the folder would be found
    for kind in (EITHER, kind_of(harm)):
        for words in COMMANDS[kind]:
            words = [word.format(**places) for word in words]
            with watched(places["secret"], monkeypatch) as seen:
                status = main(words)
            said = capsys.readouterr().err
            assert not seen, (words, seen)
            assert not (places["out"] / "ran").exists(), words
            assert "Traceback" not in said
            if kind != EITHER:
                assert status == 2, (words, said)
                sentence = "names the " in said or "give it again" in said
                # other data, or not fit for it
                assert sentence or words[0] in ("adapt", "papers"), (
                    words,
                    said,
                )
    assert [path.name for path in places["out"].iterdir()] == ["page.html"]


@pytest.mark.parametrize("harm", HARMS)
def test_no_export_runs_or_reads_what_a_stranger_names(harm, trained, places, monkeypatch, capsys):
    """Some exports need neither the network nor the images, and are written; the others are refused."""
    run = sent(trained, places, harm)
    monkeypatch.chdir(run.path)
    for name in lab.exporters.names():
        with watched(places["secret"], monkeypatch) as seen:
            status = main(
                ["export", str(run.path), "--to", name, "--output", str(places["out"] / name)]
            )
        said = capsys.readouterr().err
        # a written program is tried, which the watch forbids
        own = [one for one in seen if str(places["out"]) in one]
        assert seen == own, (name, seen)
        assert not (places["out"] / "ran").exists(), name
        assert own or status == 0 or "names the " in said or "give it again" in said, (name, said)


@pytest.mark.parametrize("harm", HARMS)
def test_python_refuses_in_a_sentence(harm, trained, places, monkeypatch):
    run = sent(trained, places, harm)
    monkeypatch.chdir(run.path)
    doors = {
        PROGRAM: [
            lambda: lab.load(run),
            lambda: lab.load(run.path),
            lambda: lab.resume(run),
            lambda: lab.adapt(run),
        ],
        DATA: [run.dataset, lambda: lab.load(run).images, lambda: lab.resume(run)],
    }
    for door in doors[kind_of(harm)]:
        with (
            watched(places["secret"], monkeypatch) as seen,
            pytest.raises(ValueError, match="names the|give it again"),
        ):
            door()
        assert not seen
    found = [one for one in run.references() if not one.allowed]
    assert len(found) == 1 and found[0].kind in ("program", "address", "path")
    if kind_of(harm) == PROGRAM:
        with pytest.raises(ValueError, match="no program is run because a file names it"):
            lab.load(lab.runs.open(run.path, allow=["paths", "addresses", "downloads"]))


def test_a_right_opens_what_it_names(trained, places, monkeypatch):
    run = sent(trained, places, "a list of somebody's images")
    with pytest.raises(ValueError, match="--allow paths"):
        run.dataset()
    allowed = lab.runs.open(run.path, allow="paths").dataset()
    assert allowed.root == places["secret"] and allowed.load(0).size == (32, 32)


def test_a_run_of_this_account_opens_until_somebody_edits_it(trained, places):
    run = lab.runs.Run(shutil.copytree(trained, places["run"]))
    (run.path / "digits").mkdir()
    config = run.config.changed("data", {"name": "class_folders", "root": str(places["secret"])})
    run.write_config(config)
    assert len(lab.runs.Run(run.path).dataset(changed=True)) == 8, "this account wrote that"
    (run.path / "config.yaml").write_text(
        (run.path / "config.yaml").read_text().replace("'", "' ") + "\n"
    )
    with pytest.raises(ValueError, match="this account did not write that"):
        lab.runs.Run(run.path).dataset()


def test_a_program_is_given_again_and_a_changed_one_is_told(places, monkeypatch, capsys):
    (places["out"] / "mine.py").write_text(
        "import torch\n\n\ndef net():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten())\n"
    )
    monkeypatch.chdir(places["out"])
    monkeypatch.syspath_prepend(str(places["out"]))
    words = [
        "--data",
        "digits",
        "--encoder",
        "adapted",
        "--encoder.base",
        "mine:net",
        "--encoder.dim",
        "8",
    ]
    words += [
        "--training.steps",
        "2",
        "--training.device",
        "cpu",
        "--sampler.batch_size",
        "32",
        "--evaluation.splits",
        "test",
    ]
    assert main(["train", *words, "--name", "own", "--queue"]) == 2
    assert "only the process that is given it may run" in capsys.readouterr().err
    assert main(["train", *words, "--name", "own"]) == 0
    run = lab.runs.open("own", places["runs"])
    assert run.meta["program"]["words"] == "mine:net" and len(run.meta["program"]["digest"]) == 64
    capsys.readouterr()
    photo = str(places["photo"])
    assert main(["query", "own", photo]) == 2
    assert "names the program 'mine:net'" in capsys.readouterr().err
    for more in (
        ["query", "own", photo],
        ["evaluate", "own"],
        ["export", "own", "--to", "onnx"],
        ["train", "--resume", "own"],
    ):
        assert main([*more, "--encoder", "mine:net"]) == 0, capsys.readouterr().err
        assert "has changed" not in capsys.readouterr().err
    with open(places["out"] / "mine.py", "a") as file:
        file.write("# edited\n")
    with pytest.warns(
        UserWarning, match="The program mine:net has changed since run own was made with it"
    ):
        lab.load(run, encoder="mine:net")


def test_a_model_folder_runs_nothing(trained, places, monkeypatch, capsys):
    source = lab.runs.Run(shutil.copytree(trained, places["run"]))
    folder = Path(lab.exporters.create("huggingface").export(source, places["out"] / "hub"))
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["encoder"]["base"] = "os:abort"
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setattr("lab.runs.building.published.fetched", lambda address: folder)
    for model in (str(folder), "hf://somebody/net"):
        with watched(places["secret"], monkeypatch) as seen:
            assert (
                main(["query", model, str(places["photo"]), "--gallery", str(places["photos"])])
                == 2
            )
        assert not seen and "names the program 'os:abort'" in capsys.readouterr().err
