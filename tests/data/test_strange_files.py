"""What a sender of files may put where an image or a list belongs: pipes, devices, programs, links that lead out."""

from __future__ import annotations

import os
import socket

import numpy as np
import pytest
from PIL import Image

import lab.data
import lab.runs
from app.shared import settings
from lab.data.images.reading import ImageError, check_header, check_whole, open_rgb
from lab.data.manifest import Manifest
from lab.protocols.hierarchical_ap import levels_from_table
from lab.report.curves import Journal
from lab.runs.check import check
from lab.runs.config import read_yaml


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def listening(path):
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's name may have a hundred bytes only
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


STRANGE = {"pipe": pipe, "device": device, "socket": listening}
WORDS = "a pipe, socket or device"


@pytest.fixture(params=STRANGE)
def strange(request):
    """Puts something that is no file at a path; and what sentences call it."""
    return STRANGE[request.param], WORDS


pytestmark = pytest.mark.timeout(600)  # what is wrong here waits for ever


@pytest.mark.parametrize("read", [check_header, check_whole, open_rgb])
def test_no_image_reader_opens_what_is_no_file(tmp_path, strange, read):
    put, words = strange
    put(tmp_path / "x.png")
    with pytest.raises(ImageError, match=rf"x\.png is {words}, not an image"):
        read(tmp_path / "x.png")


def test_a_class_folder_with_a_strange_file_is_read_without_it(tmp_path, strange):
    for label in "ab":
        (tmp_path / label).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / label / "1.png")
    strange[0](tmp_path / "a" / "2.png")
    found = lab.data.create("class_folders", root=str(tmp_path))
    assert found.keys == ["a/1.png", "b/1.png"]
    assert not found.problems or strange[1] in found.problems[0]


@pytest.mark.parametrize("name", ["list.csv", "list.parquet"])
def test_a_manifest_that_is_no_file_gets_a_sentence(tmp_path, strange, name):
    strange[0](tmp_path / name)
    with pytest.raises(ValueError, match=name):
        Manifest(path=str(tmp_path / name))


def test_a_manifest_may_list_a_strange_file(tmp_path, strange):
    Image.new("RGB", (8, 8)).save(tmp_path / "1.png")
    strange[0](tmp_path / "2.png")
    (tmp_path / "list.csv").write_text("path,label\n1.png,a\n2.png,b\n")
    assert strange[1] in Manifest(path=str(tmp_path / "list.csv")).problems[0]


def test_lists_tables_and_configurations_are_files(tmp_path, strange, train_data):
    put, words = strange
    put(tmp_path / "config.yaml")
    with pytest.raises(ValueError, match=f"{words}, not a file"):
        read_yaml(tmp_path / "config.yaml")
    put(tmp_path / "levels.csv")
    with pytest.raises(ValueError, match=f"{words}, not a file"):
        levels_from_table(train_data, tmp_path / "levels.csv")


@pytest.fixture(scope="module")
def train_data():
    return lab.data.create("emoji7", test=0.04, validation=0.04)


def test_a_run_folder_whose_records_are_no_files_can_still_be_looked_at(tmp_path, strange):
    run = lab.runs.create(lab.runs.RunConfig.of(), tmp_path, "sent")
    for name in ("status.json", "metrics.jsonl", "log.txt", "remarks.json"):
        (run.path / name).unlink(missing_ok=True)
        strange[0](run.path / name)
    assert run.state and run.metrics() == [] and run.log_tail() == ""
    assert any(found.file == "metrics.jsonl" and strange[1] in found.sentence for found in check(run))
    assert Journal(run.path / "metrics.jsonl").read_on().steps == []
    (run.path / "config.yaml").unlink()
    strange[0](run.path / "config.yaml")
    with pytest.raises(ValueError, match="There is no run"):
        lab.runs.open(run.path)


@pytest.mark.parametrize("name", ["weights.pth", "weights.safetensors"])
def test_weights_are_files(tmp_path, strange, name):
    from lab.encoders._timm import read_weights

    strange[0](tmp_path / name)
    with pytest.raises(ValueError, match=name):
        read_weights(tmp_path / name)


PROGRAMS = {
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n",
    "PDF": b"%PDF-1.4\n",
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "MSP": b"DanM" + bytes(100),
    "FITS": b"SIMPLE  =                    T" + bytes(3000),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_picture_of_an_unexpected_format_starts_no_program(tmp_path, monkeypatch, kind):
    """A surrogate for Ghostscript on the PATH writes down that it was called."""
    for program in ("gs", "gswin32c"):
        (tmp_path / program).write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 1\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "set" / "a").mkdir(parents=True)
    (tmp_path / "set" / "a" / "1.png").write_bytes(PROGRAMS[kind])
    Image.new("RGB", (8, 8)).save(tmp_path / "set" / "a" / "2.png")
    (said,) = lab.data.create("class_folders", root=str(tmp_path / "set")).problems
    with pytest.raises(ImageError, match="1.png is not an image"):
        open_rgb(tmp_path / "set" / "a" / "1.png")
    assert "1.png is not an image" in said and not (tmp_path / "called").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_picture_of_floats_that_are_no_numbers_gets_a_sentence(tmp_path, value):
    grey = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    Image.fromarray(grey).save(tmp_path / "good.tif")
    assert np.ptp(np.asarray(open_rgb(tmp_path / "good.tif"))) == 255
    grey[3, 3] = value
    Image.fromarray(grey).save(tmp_path / "bad.tif")
    with pytest.raises(ImageError, match=r"bad\.tif.*no finite number"):
        open_rgb(tmp_path / "bad.tif")


def test_a_link_to_an_image_outside_the_allowed_folders_is_not_shown(tmp_path, monkeypatch):
    (tmp_path / "mine" / "a").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "mine" / "a" / "1.png")
    (tmp_path / "mine" / "a" / "2.png").symlink_to("1.png")
    monkeypatch.setenv(settings.DATA, str(tmp_path / "mine"))
    inside = lab.data.create("class_folders", root=str(tmp_path / "mine"))
    assert len(settings.confine_images(inside)) == 2, "a link that stays inside is none of our business"
    (tmp_path / "mine" / "a" / "3.png").symlink_to("../../secret.png")
    with pytest.raises(ValueError, match=r"3\.png is a link .*may read"):
        settings.confine_images(lab.data.create("class_folders", root=str(tmp_path / "mine")))


@pytest.mark.parametrize("error", [MemoryError(), OSError("out of memory error when reading image file")])
def test_an_image_for_which_memory_is_short_is_not_called_damaged(tmp_path, monkeypatch, error):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")

    def short(*_):
        raise error

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", short)
    with pytest.raises(MemoryError, match=r"a\.png could not be decoded for lack of memory"):
        open_rgb(tmp_path / "a.png")
