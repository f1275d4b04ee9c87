"""`lab receive`: what somebody sent is unpacked where it can do no harm, checked whole, or refused without a trace."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile

import pytest

from lab.__main__ import main
from lab.runs.receiving import receive


@pytest.fixture
def sent(whole, tmp_path):
    """A copy of a whole run, to be changed and packed."""
    return shutil.copytree(
        whole.path, tmp_path / "sent" / "theirs", ignore=shutil.ignore_patterns(".lock")
    )


def packed(folder, kind="gztar"):
    return shutil.make_archive(
        str(folder.parent.parent / "archive"), kind, folder.parent, folder.name
    )


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_a_run_is_unpacked_checked_and_listed(sent, tmp_path, kind, capsys):
    (sent / "launch.json").write_text(json.dumps({"host": "x", "pid": 1, "create_time": 0}))
    (sent / "letter.docx").write_text("hello")
    assert main(["receive", packed(sent, kind), "--into", str(tmp_path / "runs")]) == 0
    said = capsys.readouterr().out
    assert (
        "a run: small_cnn, smooth_ap, class_folders" in said and "checkpoints: best, last" in said
    )
    assert "data.root" in said and "--allow paths" in said and "letter.docx" in said
    assert said.rstrip().endswith(f"Next: lab runs {tmp_path / 'runs' / 'theirs'}")
    held = {one.name for one in (tmp_path / "runs" / "theirs").iterdir()}
    assert {"config.yaml", "checkpoints"} <= held and not held & {
        "launch.json",
        "letter.docx",
        ".lock",
    }


def refused(archive, tmp_path, told):
    with pytest.raises(ValueError, match=told) as error:
        receive(archive, tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*")) and not list((tmp_path / "runs").glob(".*"))
    assert str(error.value).endswith(".") and ".tmp" not in str(error.value)


@pytest.mark.parametrize("name", ["evil.py", "model.pt2", "x.ts", "weights.onnx", "data.pkl"])
def test_programs_are_refused(sent, tmp_path, name):
    (sent / name).write_text("x")
    refused(packed(sent), tmp_path, f"holds the program.*{name}")


@pytest.mark.parametrize(
    ("file", "text"),
    [("meta.json", '{"versions": []}'), ("images.json", '{"data": []}'), ("scores/test.json", "[1]"),
     ("config.yaml", "training: [1]"), ("metrics.jsonl", '{"kind": 3}\n'), ("remarks.json", '{"tags": {}}'),
     ("embeddings/test.safetensors", "x"), ("checkpoints/best.safetensors", "x")],
)  # fmt: skip
def test_a_damaged_file_is_named_and_nothing_is_kept(sent, tmp_path, file, text):
    (sent / file).write_text(text)
    refused(
        packed(sent), tmp_path, f"not received, and nothing was kept of it: .*{file.split('/')[-1]}"
    )


@pytest.mark.parametrize(
    "path", ["../x/config.yaml", "/tmp/x/config.yaml", "a/../../config.yaml", "C:\\x", "a\u202eb"]
)
def test_paths_that_lead_out_are_refused(tmp_path, path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(path, "x")
    refused(tmp_path / "a.zip", tmp_path, "leads out of its folder")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(path), io.BytesIO())
    refused(tmp_path / "a.tar", tmp_path, "leads out of its folder")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_devices_are_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("x/config.yaml")
        member.type, member.linkname = kind, "/etc/hostname"
        archive.addfile(member)
    refused(tmp_path / "a.tar", tmp_path, "a link or device")


@pytest.mark.parametrize("content", [b"", b"PK\3\4 no more", b"\x1f\x8b\x08", b"x" * 2_000])
def test_what_is_no_archive_is_a_sentence(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    refused(tmp_path / "a.zip", tmp_path, "no ZIP or tar, or is damaged")


def test_large_and_repeated_files_are_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/config.yaml", "{}")
        archive.writestr("x/log.txt", b"0" * 100_000)
    monkeypatch.setattr("lab.runs.receiving.MOST_BYTES", 50_000)
    refused(tmp_path / "a.zip", tmp_path, "holds more than")
