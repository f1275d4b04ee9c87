"""What a sender of files may put where an image or a list belongs: pipes, programs, links that lead out."""

from __future__ import annotations

import os

import pytest
from PIL import Image

import lab.data
import lab.runs
from app.shared import settings
from lab.data.images.reading import ImageError, open_rgb

pytestmark = pytest.mark.timeout(600)  # what is wrong here waits for ever


def test_a_picture_of_an_unexpected_format_starts_no_program(tmp_path, monkeypatch):
    """A surrogate for Ghostscript on the PATH writes down that it was called."""
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 1\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "1.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(ImageError, match=r"1\.png is not an image"):
        open_rgb(tmp_path / "1.png")
    assert not (tmp_path / "called").exists()


def test_a_link_to_an_image_outside_the_allowed_folders_is_not_shown(tmp_path, monkeypatch):
    (tmp_path / "mine" / "a").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "mine" / "a" / "1.png")
    (tmp_path / "mine" / "a" / "2.png").symlink_to("1.png")
    monkeypatch.setenv(settings.DATA, str(tmp_path / "mine"))
    inside = lab.data.create("class_folders", root=str(tmp_path / "mine"))
    assert len(settings.confine_images(inside)) == 1, (
        "a link to an image that is listed is the same image"
    )
    assert inside.problems == [
        "1 link to what is listed already is left out, for instance a/2.png, which is a/1.png."
    ]
    (tmp_path / "mine" / "a" / "3.png").symlink_to("../../secret.png")
    with pytest.raises(ValueError, match=r"3\.png is a link .*may read"):
        settings.confine_images(lab.data.create("class_folders", root=str(tmp_path / "mine")))
