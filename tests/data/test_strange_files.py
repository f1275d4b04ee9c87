"""What a sender of files may put where an image or a list belongs: pipes, programs, links that lead out."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

import lab.data
import lab.runs
from app.shared import settings
from lab.data.images.reading import ImageError, check_header, check_whole, open_rgb
from lab.data.manifest import Manifest
from lab.encoders import read_weights
from lab.runs.config import read_yaml

pytestmark = pytest.mark.timeout(600)  # what is wrong here waits for ever


def test_no_reader_opens_a_pipe(tmp_path):
    for name in ("x.png", "list.csv", "list.parquet", "config.yaml", "weights.pth", "weights.safetensors"):
        os.mkfifo(tmp_path / name)
    for read in (check_header, check_whole, open_rgb):
        with pytest.raises(ImageError, match=r"x\.png is a pipe, socket or device, not an image"):
            read(tmp_path / "x.png")
    for name, read in {"list.csv": Manifest, "list.parquet": Manifest}.items():
        with pytest.raises(ValueError, match=name):
            read(path=str(tmp_path / name))
    for name, read in {
        "config.yaml": read_yaml,
        "weights.pth": read_weights,
        "weights.safetensors": read_weights,
    }.items():
        with pytest.raises(ValueError, match=name):
            read(tmp_path / name)


def test_a_set_with_a_pipe_or_a_device_is_read_without_it(tmp_path):
    for label in "ab":
        (tmp_path / label).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / label / "1.png")
    os.mkfifo(tmp_path / "a" / "2.png")
    (tmp_path / "b" / "2.png").symlink_to("/dev/zero")
    (tmp_path / "list.csv").write_text("path,label\na/1.png,a\na/2.png,a\nb/2.png,b\n")
    assert lab.data.create("class_folders", root=str(tmp_path)).keys == ["a/1.png", "b/1.png"]
    said = Manifest(path=str(tmp_path / "list.csv")).problems
    assert "a pipe, socket or device" in said[0] and "a pipe, socket or device" in said[1]


def test_a_run_folder_whose_records_are_no_files_can_still_be_looked_at(tmp_path):
    run = lab.runs.create(lab.runs.RunConfig.of(), tmp_path, "sent")
    for name in ("status.json", "metrics.jsonl", "log.txt", "remarks.json"):
        (run.path / name).unlink(missing_ok=True)
        os.mkfifo(run.path / name)
    assert run.state and run.metrics() == [] and run.log_tail() == ""


def test_a_picture_of_an_unexpected_format_starts_no_program(tmp_path, monkeypatch):
    """A surrogate for Ghostscript on the PATH writes down that it was called."""
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 1\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "1.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n")
    with pytest.raises(ImageError, match=r"1\.png is not an image"):
        open_rgb(tmp_path / "1.png")
    assert not (tmp_path / "called").exists()


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
