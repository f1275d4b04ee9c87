"""What else a sender can try: files that take memory or minutes, links, processes, queues, pickles, a terminal's codes.

Each of these got through once.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
import yaml

import lab
import lab.runs
from lab.__main__ import main
from lab.core import arrays, files, ownership, yaml_reader
from lab.core.files import SMALL, parse_json, read_json
from lab.data.images.reading import open_rgb
from lab.launchers.background import detached
from lab.launchers.background.queue import Queue
from lab.runs.execute import execute
from lab.runs.receiving import receive
from lab.search.galleries.shards import Writer
from tests.boundary.watching import watched
from tests.conftest import TINY

SECRET = "a-word-of-somebody-else"
CODES = "\x1b]0;title\x07\x1b[31m\u202e"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
PYTHON = re.compile(
    r"Traceback|invalid literal|recursion|unhashable|Pydantic|Errno|site-packages|'int'"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("sender")
    sections = {
        "training": {**TINY["training"], "steps": 1},
        "evaluation": {"splits": ["test"], "batch_size": 64},
    }
    run = lab.runs.create(lab.runs.RunConfig.of({**TINY, **sections}), root, "gift")
    for _ in execute(run):
        pass
    return run.path


@pytest.fixture
def gift(trained, tmp_path, monkeypatch) -> lab.runs.Run:
    """The run as another account sends it."""
    folder = Path(shutil.copytree(trained, tmp_path / "runs" / "gift"))
    (folder / ownership.FILE).unlink()
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    return lab.runs.Run(folder)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen]:
    """A process of this account that has nothing to do with any run."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_name_that_is_there_twice_is_found_at_once():
    text = "{" + ",".join(f'"{number:x}":0' for number in range(100_000)) + ',"fffff":0,"1869f":0}'
    began = time.process_time()
    with pytest.raises(ValueError, match="names '1869f' twice"):
        parse_json(text.encode())
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", ["? [1]\n: 2\n", "data: {? {a: b} : c}\n", "? {a: 1}\n: 2\n"])
def test_a_yaml_key_that_is_no_text_is_refused_in_our_words(text):
    with pytest.raises(ValueError, match="names something by a list or an object"):
        yaml_reader.load(text)
    assert yaml_reader.load("a: &x {b: 1}\nc: {<<: *x}") == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize("value", [7, -(10**400), True, [], 0.5])
def test_a_number_where_an_entry_is_named_is_refused_without_a_warning(gift, value, recwarn):
    config = gift.config_dict
    with pytest.raises(ValueError, match="rerank"):
        lab.runs.RunConfig.of(
            {**config, "evaluation": {**config["evaluation"], "rerank": value}}, stored=True
        )
    assert not recwarn


@pytest.mark.parametrize(
    "name", ["config.yaml", "owner.json", "metrics.jsonl", "log.txt", "status.json"]
)
def test_a_file_with_a_hole_larger_than_memory_is_not_read_whole(gift, name, capsys):
    with open(gift.path / name, "ab") as file:
        file.truncate(2**40)
    before = psutil.Process().memory_info().rss
    for words in (["runs", str(gift.path)], ["runs", "logs", str(gift.path)], ["runs"]):
        main(words)
    assert not PYTHON.search(capsys.readouterr().err)
    assert psutil.Process().memory_info().rss - before < 2.5e9
    if name == "owner.json":
        with pytest.raises(ValueError, match=f"larger than {SMALL // 10**6} MB"):
            read_json(gift.path / name)


@pytest.mark.parametrize("name", ["log.txt", "metrics.jsonl", "config.yaml"])
def test_no_text_is_read_through_a_link_that_leads_out(gift, tmp_path, name, monkeypatch, capsys):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text(f"{SECRET}\n")
    (gift.path / name).unlink(missing_ok=True)
    (gift.path / name).symlink_to(outside / "file")
    for words in (
        ["runs", str(gift.path)],
        ["runs", "logs", str(gift.path)],
        ["runs", "verdict", str(gift.path)],
    ):
        with watched(outside, monkeypatch):
            main(words)
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err
    reads = {"log.txt": lambda run: run.log_tail(), "metrics.jsonl": lambda run: run.metrics()}
    read = reads.get(name, lambda run: run.config_dict)
    with (
        watched(outside, monkeypatch) as seen,
        pytest.raises(ValueError, match="lies outside its folder"),
    ):
        read(lab.runs.Run(gift.path))
    assert not seen
    (gift.path / name).unlink()
    (gift.path / "beside").write_text("" if name == "metrics.jsonl" else f"# {SECRET}\n")
    (gift.path / name).symlink_to(gift.path / "beside")  # a link inside the folder leads nowhere
    read(lab.runs.Run(gift.path))


def test_a_report_reads_no_list_of_corrections_that_a_stranger_names(
    gift, tmp_path, monkeypatch, capsys
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "list.csv").write_text("image,label\na,\n")
    config = yaml.safe_load((gift.path / "config.yaml").read_text())
    # beside it, the report says how the gift differs
    shutil.copytree(gift.path, gift.path.with_name("other"))
    config["data"]["corrections"] = str(outside / "list.csv")
    (gift.path / "config.yaml").write_text(yaml.safe_dump(config))
    with watched(outside, monkeypatch) as seen:
        assert main(["runs", "report", str(gift.path), str(gift.path.with_name("other"))]) == 0
    assert not seen and "corrected, list list" in capsys.readouterr().out


@pytest.mark.parametrize(
    "encoder",
    [
        {"name": "small_cnn", "width": 1024, "dim": 16384},
        {
            "name": "adapted",
            "base": None,
            "width": 16384,
            "dim": 16384,
            "hidden": 16384,
            "head": "mlp",
        },
        {
            "name": "adapted",
            "base": '{"name": "small_cnn", "width": 1024}',
            "image_size": 4096,
            "dim": 8,
        },
        {"name": "timm_model", "backbone": "vit_giant_patch14_224", "pretrained": False, "dim": 8},
        {
            "name": "timm_model",
            "backbone": "vit_tiny_patch16_224",
            "pretrained": False,
            "image_size": 4096,
            "dim": 8,
        },
    ],
)
def test_an_encoder_that_the_weights_are_not_of_takes_no_memory(gift, encoder):
    config = yaml.safe_load((gift.path / "config.yaml").read_text())
    (gift.path / "config.yaml").write_text(yaml.safe_dump({**config, "encoder": encoder}))
    before = psutil.Process().memory_info().rss
    with pytest.raises(ValueError, match="does not fit its config.yaml: the encoder has"):
        lab.load(gift.path)
    assert psutil.Process().memory_info().rss - before < 3e8


def test_stop_ends_no_process_that_a_stranger_names(gift, sleeper, capsys):
    worker = {
        "host": socket.gethostname(),
        "pid": sleeper.pid,
        "create_time": psutil.Process(sleeper.pid).create_time(),
    }
    meta = json.loads((gift.path / "meta.json").read_text())
    status = {
        **json.loads((gift.path / "status.json").read_text()),
        "state": "running",
        "updated": time.time(),
    }
    (gift.path / "status.json").write_text(json.dumps(status))
    for name, content in (
        ("launch.json", worker),
        ("meta.json", {**meta, "worker": {**worker, "mark": "0" * 64}}),
    ):
        (gift.path / name).write_text(json.dumps(content))
        assert main(["runs", "stop", str(gift.path)]) == 2
        assert "this account did not write that" in capsys.readouterr().err
        with pytest.raises(ValueError, match=f"kill {sleeper.pid}"):
            detached.kill(gift)
        assert sleeper.poll() is None
        (gift.path / name).unlink()
    mine = gift.signed(detached.Worker.of(sleeper.pid))
    (gift.path / "launch.json").write_text(json.dumps(mine))
    assert detached.stop(gift) in ("stopped", "killed") and sleeper.wait(10) is not None


def test_a_queue_of_somebody_else_is_not_taken_up(gift, monkeypatch):
    import app.__main__ as dashboard

    root, begun = gift.path.parent, []
    monkeypatch.setattr(Queue, "ensure_worker", lambda queue: begun.append(queue.root))
    (root / ".queue.json").write_text(
        json.dumps({"waiting": ["gift"], "paused": False, "worker": None})
    )
    dashboard._reconcile(root)
    assert Queue(root).abandoned and not begun, (
        "the page and `lab runs` say that it waits, and have the button"
    )
    lab.runs.create(gift.config, root, "mine")
    Queue(root).add(lab.runs.open("mine", root))
    dashboard._reconcile(root)
    assert begun == [root]
    told = json.loads((root / ".queue.json").read_text())
    (root / ".queue.json").write_text(json.dumps({**told, "waiting": ["mine", "gift"]}))
    assert not Queue(root).is_own


def test_slurm_reads_no_pickle_that_was_there_before(gift, monkeypatch):
    submitit = pytest.importorskip("submitit")
    opened: list[Path] = []

    class Executor:
        def __init__(self, folder, **_):
            opened.append(Path(folder))

        def update_parameters(self, **_):
            pass

        def map_array(self, _, paths):
            return [type("Job", (), {"job_id": "7"})() for _ in paths]

    def job(folder, job_id):
        opened.append(Path(folder, job_id))
        return type("Job", (), {"done": lambda self: False})()

    monkeypatch.setattr(submitit, "AutoExecutor", Executor)
    monkeypatch.setattr(submitit, "SlurmJob", job)
    kept = gift.path.parent / ".slurm"
    kept.mkdir()
    (kept / "7_result.pkl").write_bytes(b"a program")
    mine = lab.runs.create(gift.config, gift.path.parent, "mine")
    launcher = lab.launchers.create("slurm")
    launcher.submit([mine])
    (first,) = opened
    assert (
        first.parent == kept
        and re.fullmatch("[0-9a-f]{16}", first.name)
        and not list(first.iterdir())
    )
    assert first.stat().st_mode & 0o077 == 0
    assert lab.launchers.create("slurm")._found_again(mine) and opened[1:] == [first / "7"]
    sent = json.loads((mine.path / "sent.json").read_text())
    for elsewhere in ("7", "../../7", f"{first.name}/8"):  # of somebody else
        (mine.path / "sent.json").write_text(json.dumps({**sent, "job": elsewhere}))
        assert not lab.launchers.create("slurm")._found_again(mine)
    assert len(opened) == 2


@pytest.mark.parametrize(
    "words",
    ["runs RUN", "runs", "runs logs RUN", "runs report RUN", "runs watch RUN", "runs check RUN"],
)
def test_no_text_of_a_run_acts_on_a_terminal(gift, words, capsys):
    def change(name, **values):
        path = gift.path / name
        path.write_text(
            json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **values})
        )

    change("status.json", sentence=CODES, phase=CODES, state="failed")
    change("remarks.json", note=CODES, tags=[CODES], group=CODES)
    scores = json.loads((gift.path / "scores" / "test.json").read_text())["values"]
    change("scores/test.json", values={**scores, CODES: 0.5})
    with open(gift.path / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"kind": "note", "sentence": CODES}) + "\n")
    with open(gift.path / "log.txt", "a") as file:
        file.write(CODES + "\n")
    main([str(gift.path) if word == "RUN" else word for word in words.split()])
    told = capsys.readouterr()
    assert not ACTS.search(told.out + told.err)


def packed(run: lab.runs.Run, path: Path, change) -> Path:
    """The run as a tar, with what `change(archive)` adds."""
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(run.path, "gift")
        change(archive)
    return path


def _remark(archive: tarfile.TarFile, attributes: dict[str, str]) -> None:
    member = tarfile.TarInfo("gift/x.txt")
    member.pax_headers = attributes
    archive.addfile(member)


def _large_remark(kind: bytes):
    def add(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo("x")
        member.type, member.size = kind, 50_000_000
        archive.fileobj.write(
            member.tobuf(tarfile.USTAR_FORMAT) + bytes(50_000_000 // 512 * 512 + 512)
        )

    return add


def _many_folders(archive: tarfile.TarFile) -> None:
    member = tarfile.TarInfo("gift/d")
    member.type = tarfile.DIRTYPE
    archive.fileobj.write(member.tobuf() * 200_001)


def _nested_remarks(archive: tarfile.TarFile) -> None:
    member = tarfile.TarInfo("x")
    member.type, text = tarfile.XHDTYPE, b"19 comment=nothing\n"
    member.size = len(text)
    archive.fileobj.write((member.tobuf(tarfile.USTAR_FORMAT) + text.ljust(512, b"\0")) * 3000)


ARCHIVES = {
    "a long attribute": _large_remark(tarfile.XHDTYPE),
    "a long name": _large_remark(tarfile.GNUTYPE_LONGNAME),
    "a remark on all": _large_remark(tarfile.XGLTYPE),
    "remarks on remarks": _nested_remarks,
    "folders without number": _many_folders,
    "a number that is none": lambda archive: _remark(archive, {"GNU.sparse.size": "x"}),
    "a file of holes": lambda archive: _remark(
        archive, {"GNU.sparse.size": str(10**10), "GNU.sparse.map": f"{10**10},0"}
    ),
}


@pytest.mark.parametrize("what", ARCHIVES)
def test_a_tar_takes_no_memory_and_says_no_word_of_python(gift, tmp_path, what, capsys):
    archive = packed(gift, tmp_path / "gift.tar.gz", ARCHIVES[what])
    began, before = time.process_time(), psutil.Process().memory_info().rss
    assert main(["receive", str(archive), "--name", "theirs"]) == 2
    told = capsys.readouterr().err
    assert not PYTHON.search(told), told
    assert time.process_time() - began < 10 and psutil.Process().memory_info().rss - before < 2.5e8
    assert not (gift.path.parent / "theirs").exists()


def test_a_zip_whose_list_would_fill_the_memory_is_refused_unread(gift, tmp_path):
    name, count = b"gift/d/", 2_000_000
    one = (
        b"PK\x01\x02"
        + struct.pack("<6H3I5H2I", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 16, 0)
        + name
    )
    path = tmp_path / "gift.zip"
    with open(path, "wb") as file:
        for _ in range(count // 10_000):
            file.write(one * 10_000)
        length = file.tell()
        file.write(
            b"PK\x06\x06" + struct.pack("<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, length, 0)
        )
        file.write(b"PK\x06\x07" + struct.pack("<IQI", 0, length, 1))
        file.write(
            b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        )
    before = psutil.Process().memory_info().rss
    with pytest.raises(ValueError, match="more than 200,000 files"):
        receive(path)
    assert psutil.Process().memory_info().rss - before < 1e8


def test_a_zip_with_a_path_that_is_file_and_folder_says_so(gift, tmp_path):
    with zipfile.ZipFile(tmp_path / "gift.zip", "w") as archive:
        for file in gift.path.rglob("*"):
            archive.write(file, f"gift/{file.relative_to(gift.path)}")
        archive.writestr("gift/pictures/a.png", b"x")
        archive.writestr("gift/pictures/a.png/b.png", b"x")
    with pytest.raises(ValueError, match=r"holds 'pictures/a.png' as a file and as a folder"):
        receive(tmp_path / "gift.zip", name="theirs")


def _vectors(path: Path, keys: str) -> None:
    from safetensors.numpy import save_file

    save_file({"vectors": torch.ones(2, 2).numpy()}, path, {"keys": keys})


@pytest.mark.parametrize("keys", ["[" * 100_000, "3", '{"a": 1}', "[1, 2]", "NaN"])
def test_odd_keys_of_imported_vectors_are_named_in_our_words(tmp_path, keys, capsys):
    _vectors(tmp_path / "v.safetensors", keys)
    assert (
        main(
            [
                "import",
                str(tmp_path / "v.safetensors"),
                "--name",
                "i",
                "--runs",
                str(tmp_path / "runs"),
            ]
        )
        == 2
    )
    told = capsys.readouterr().err
    assert "keys in its head" in told and not PYTHON.search(told)


def test_odd_vectors_in_a_table_are_named_in_our_words(tmp_path, capsys):
    (tmp_path / "v.csv").write_text('key,vector\na,"' + "[" * 100_000 + '"\n')
    (tmp_path / "v.pth").write_bytes(b"cos\nabort\n(tR.")
    for name in ("v.csv", "v.pth"):
        assert (
            main(["import", str(tmp_path / name), "--name", "i", "--runs", str(tmp_path / "runs")])
            == 2
        )
        assert not PYTHON.search(capsys.readouterr().err)


def test_a_model_folder_whose_head_is_too_deep_is_refused_in_our_words(gift, tmp_path):
    folder = Path(lab.exporters.create("huggingface").export(gift, tmp_path / "hub"))
    content = (folder / "model.safetensors").read_bytes()
    head = b'{"a":' * 200 + b"1" + b"}" * 200
    size = int.from_bytes(content[:8], "little")
    (folder / "model.safetensors").write_bytes(
        len(head).to_bytes(8, "little") + head + content[8 + size :]
    )
    with pytest.raises(ValueError, match="no whole model folder") as refused:
        lab.load(folder)
    assert not PYTHON.search(str(refused.value))


def test_a_mark_is_of_its_words_and_of_this_account(monkeypatch, tmp_path):
    mark = ownership.mark_of("process 7")
    assert ownership.is_mark_of(mark, "process 7") and not ownership.is_mark_of(mark, "process 8")
    assert not ownership.is_mark_of(None, "process 7") and not ownership.is_mark_of(
        "\u00fc", "process 7"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert not ownership.is_mark_of(mark, "process 7"), "another account has another key"


@pytest.mark.parametrize("change", ["flat", "none"])
def test_a_report_of_vectors_that_are_no_table_is_one_sentence(gift, change, capsys):
    path = gift.path / "embeddings" / "test.safetensors"
    held, header = arrays.read(path), arrays.header(path)
    vectors = held.pop("query.vectors")
    arrays.write(
        path, held | ({"query.vectors": vectors.reshape(-1)} if change == "flat" else {}), header
    )
    assert main(["runs", "report", str(gift.path)]) == 1
    told = capsys.readouterr().err
    assert "query.vectors" in told and str(path) in told and not PYTHON.search(told)


def test_a_network_of_billions_is_refused_at_once(gift):
    config = yaml.safe_load((gift.path / "config.yaml").read_text())
    for encoder in (
        {"name": "timm_model", "backbone": "vit_7b_patch16_dinov3", "pretrained": False, "dim": 8},
        {"name": "adapted", "base": "vit_7b_patch16_dinov3", "pretrained": False, "dim": 8},
    ):
        (gift.path / "config.yaml").write_text(yaml.safe_dump({**config, "encoder": encoder}))
        began = time.process_time()
        with pytest.raises(
            ValueError, match="the encoder has more than .* many times as many as the checkpoint"
        ):
            lab.load(gift.path)
        assert time.process_time() - began < 2


def _npz(path: Path) -> None:
    np.savez_compressed(path, vectors=np.zeros((4_000, 100), np.float32))


def _torch_of_one_number(path: Path) -> None:
    torch.save({"vectors": torch.zeros(1).expand(100_000, 100_000)}, path)


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    numbers = pa.array(np.zeros(400_000, np.float32))
    pa.parquet.write_table(
        pa.table({"vector": pa.FixedSizeListArray.from_arrays(numbers, 100)}), path
    )


def _npy_with_a_hole(path: Path) -> None:
    np.lib.format.open_memmap(path, "w+", np.float32, (1_000_000, 1_000)).flush()


def _safetensors_with_a_hole(path: Path) -> None:
    head = json.dumps(
        {"vectors": {"dtype": "F32", "shape": [10**6, 100], "data_offsets": [0, 4 * 10**8]}}
    ).encode()
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        file.truncate(8 + len(head) + 4 * 10**8)


BOMBS = {
    "v.npz": _npz,
    "v.pth": _torch_of_one_number,
    "v.parquet": _parquet,
    "v.npy": _npy_with_a_hole,
    "v.safetensors": _safetensors_with_a_hole,
}


@pytest.mark.parametrize("name", BOMBS)
def test_vectors_that_memory_does_not_hold_are_refused_before_they_are_unpacked(
    tmp_path, name, monkeypatch, capsys
):
    BOMBS[name](tmp_path / name)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1_000_000))
    before = psutil.Process().memory_info().rss
    assert (
        main(["import", str(tmp_path / name), "--name", "i", "--runs", str(tmp_path / "runs")]) == 2
    )
    assert re.search(
        rf"{name} takes [\d.]+ (MB|GB) of memory, and 1\b.* MB are free here",
        capsys.readouterr().err,
    )
    assert psutil.Process().memory_info().rss - before < 1e8


@pytest.mark.parametrize("name", ["checkpoints/best.safetensors", "embeddings/test.safetensors"])
def test_stored_arrays_that_memory_does_not_hold_are_refused(gift, name, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=100))
    with pytest.raises(ValueError, match=f"{name} takes .* of memory, and 100 bytes are free here"):
        lab.load(gift.path) if "best" in name else gift.embeddings("test")


def test_a_tar_of_pictures_reads_no_long_remark(tmp_path):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 50_000_000
    (tmp_path / "shard.tar").write_bytes(member.tobuf(tarfile.USTAR_FORMAT) + bytes(50_000_256))
    with pytest.raises(ValueError, match="the head of an entry has 50,000,000 bytes"):
        lab.data.create("tar_shards", root=str(tmp_path))


def test_a_picture_with_a_hole_larger_than_memory_is_not_read(tmp_path):
    with open(tmp_path / "a.jpg", "wb") as file:
        file.write(b"\xff\xd8\xff\xe0")
        file.truncate(2**40)
    with pytest.raises(ValueError, match="is larger than 2 GB"):
        open_rgb(tmp_path / "a.jpg")


def test_a_queue_of_endless_names_is_no_queue(gift):
    (gift.path.parent / ".queue.json").write_text(json.dumps({"waiting": ["gift"] * 10_001}))
    assert list(Queue(gift.path.parent).names) == []


def test_a_guest_makes_no_folder_for_a_gallery(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "guest", lambda: True)
    with pytest.raises(files.GuestRefused):
        Writer(tmp_path / "gallery", {})
    assert not (tmp_path / "gallery").exists()
