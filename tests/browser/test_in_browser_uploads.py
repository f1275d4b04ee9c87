"""ZIPs of images brought to the page Train: what it then says, what lies on the disk, and the server's memory."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from app import uploads
from tests.dashboards import Dashboard
from tests.data.test_images import bomb

pytestmark = pytest.mark.browser

TOKEN = "what-these-tests-chose"
MEGABYTE = 2**20
NOT_A_SENTENCE = re.compile(r"Traceback|Errno|Error\b|object at 0x|site-packages|\n")


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A dashboard without a run."""
    folder = tmp_path_factory.mktemp("uploads")
    (folder / "runs").mkdir()
    server = Dashboard(folder / "runs", folder, TOKEN).wait()
    yield server
    server.stop()


def picture(side: int = 24, seed: int = 0) -> bytes:
    """A PNG of noise, which no ZIP makes smaller."""
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file := io.BytesIO(), "PNG", compress_level=0)
    return file.getvalue()


def packed(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def claiming(path: Path, size: int, content: bytes) -> Path:
    """A ZIP of one picture whose table of contents says another size."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cats/1.png", content)
        archive.filelist[0].file_size = size
    return path


def bring(page: Page, server: Dashboard, file: Path) -> Page:
    """Choose a file on the page Train."""
    page.goto(f"{server.url}/train?images=zip")
    page.locator("input[type=file]").set_input_files(file)
    return page


def unpacked(server: Dashboard, name: str) -> set[str]:
    """The files that a ZIP has left beside the runs."""
    folder = server.runs / ".unpacked" / name
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def everything(server: Dashboard) -> set[Path]:
    return set(server.runs.rglob("*"))


def test_the_page_says_how_large_a_zip_may_be(empty, tab):
    page = tab(f"{empty.url}/train?images=zip")
    expect(page.get_by_text(f"A ZIP has at most {uploads.LARGEST:,} MB;")).to_be_visible()


def test_a_zip_of_one_picture_can_be_embedded(empty, tab, tmp_path):
    page = bring(tab(empty.url), empty, packed(tmp_path / "one.zip", ("one.png", picture())))
    expect(page.get_by_text("This folder has 1 picture without a class.")).to_be_visible()
    page.get_by_role("link", name="Embed these pictures").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(page.get_by_label("Folder", exact=True)).to_have_value(str(empty.runs / ".unpacked/one"))
    assert unpacked(empty, "one") == {"one.png"}


@pytest.mark.parametrize("megabytes", [30, pytest.param(300, marks=pytest.mark.soak)])
def test_a_large_zip_is_not_kept_in_memory(empty, tab, tmp_path, wait_for, megabytes):
    page = bring(
        tab(empty.url),
        empty,
        packed(tmp_path / f"first of {megabytes}.zip", ("one.png", picture())),
    )
    # What the page needs is loaded.
    expect(page.get_by_text("This folder has 1 picture without a class.")).to_be_visible()
    one = picture(side=592)
    assert len(one) > MEGABYTE
    members = [(f"{at}.png", one) for at in range(megabytes)]
    file = packed(tmp_path / f"photos of {megabytes}.zip", *members)
    memory = psutil.Process(empty.process.pid).memory_info
    used = [memory().rss]
    bring(page, empty, file)
    told = page.get_by_text(f"This folder has {megabytes} pictures without a class.")

    def is_told() -> bool:
        used.append(memory().rss)
        return told.is_visible()

    wait_for(is_told, "the end of unpacking")
    assert max(used) - used[0] < file.stat().st_size / 2
    assert unpacked(empty, f"photos-of-{megabytes}") == {name for name, _ in members}


BAD = {
    "too large when unpacked": (
        lambda path: claiming(path, 5 * 2**30, picture()),
        "holds 1 image of 5.37 GB; at most",
    ),
    "larger than it says": (
        lambda path: claiming(path, 100, picture()[:64] + bytes(50 * MEGABYTE)),
        "Bad CRC-32",
    ),
    "outside": (
        lambda path: packed(path, ("../../out.png", picture()), ("/tmp/out.png", picture())),
        "lead out of",
    ),
    "no image": (
        lambda path: packed(path, ("cats/notes.txt", b"miaow")),
        "1 file that is no image is left out",
    ),
    "a text that is called an image": (
        lambda path: packed(path, ("cats/1.png", b"miaow"), ("dogs/2.png", b"wuff")),
        "holds no image. 2 files that are no images are left out, for instance cats/1.png",
    ),
    "no ZIP": (lambda path: path.write_bytes(b"PK\3\4 no") and path, "cannot be unpacked as a ZIP"),
    "an empty ZIP": (lambda path: packed(path), "This ZIP holds no image."),
}
"""A ZIP that is refused, and words of the refusal."""


@pytest.mark.parametrize("name", BAD)
def test_a_bad_zip_gets_a_sentence_and_leaves_nothing(empty, tab, tmp_path, name):
    make, words = BAD[name]
    before = everything(empty)
    page = bring(tab(empty.url), empty, make(tmp_path / "bad.zip"))
    alert = page.get_by_test_id("stMain").get_by_role("alert").filter(has_text="ZIP")
    expect(alert).to_contain_text(words)
    told = alert.inner_text().strip()
    assert told.endswith(".") and len(told) < 200 and not NOT_A_SENTENCE.search(told), told
    assert everything(empty) == before and not list(empty.runs.parents[1].rglob("out.png"))


def test_a_picture_of_too_many_pixels_is_named_and_left_out(empty, tab, tmp_path):
    members = [
        ("cats/huge.png", bomb(32_000, 32_000)),
        ("cats/1.png", picture()),
        ("cats/2.png", picture(seed=1)),
    ]
    page = bring(
        tab(empty.url),
        empty,
        packed(tmp_path / "pixels.zip", *members, ("dogs/1.png", picture(seed=2))),
    )
    expect(page.get_by_text("3 images in 2 classes")).to_be_visible()
    page.get_by_text("What was left out, and why").click()
    expect(page.get_by_text(re.compile(r"huge\.png .*pixels"))).to_be_visible()


def test_a_file_above_the_limit_is_refused_by_the_browser(empty, tab, tmp_path):
    with open(tmp_path / "huge.zip", "wb") as file:
        file.truncate(uploads.LARGEST * MEGABYTE + 1)
    before = everything(empty)
    page = bring(tab(empty.url), empty, tmp_path / "huge.zip")
    expect(page.get_by_test_id("stFileUploader")).to_contain_text("File must be 2.0GB or smaller.")
    assert everything(empty) == before


def test_a_zip_of_class_folders_can_be_trained_on(empty, tab, tmp_path):
    """The last test: the page then measures how fast this machine trains, which takes memory for a minute."""
    members = [(f"photos/kind {at % 4}/{at}.png", picture(seed=at)) for at in range(12)]
    page = bring(tab(empty.url), empty, packed(tmp_path / "my pets.zip", *members))
    expect(page.get_by_text("12 images in 4 classes")).to_be_visible()
    expect(page.get_by_label("Folder of the classes", exact=True)).to_have_value(
        str(empty.runs / ".unpacked/my-pets/photos")
    )
    assert unpacked(empty, "my-pets") == {name for name, _ in members}
