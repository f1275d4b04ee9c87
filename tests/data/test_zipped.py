"""ZIPs as people make them: one picture, no class folders, a ZIP in a ZIP, a broken one; nothing is left behind."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lab.data.images import zipped

PNG = io.BytesIO()
Image.new("RGB", (8, 8)).save(PNG, "PNG")
PNG = PNG.getvalue()


def packed(*names: str, content: bytes = PNG) -> io.BytesIO:
    with zipfile.ZipFile(whole := io.BytesIO(), "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return whole


@pytest.mark.parametrize(
    ("names", "inside", "pictures"),
    [
        (["one.png"], "", ["one.png"]),
        (["a.png", "b.png"], "", ["a.png", "b.png"]),
        (["photos/a.png"], "", ["photos/a.png"]),  # its folder is the class
        (["photos/a.png", "photos/b.png"], "", ["photos/a.png", "photos/b.png"]),
        (["cats/a.png", "dogs/b.png"], "", ["cats/a.png", "dogs/b.png"]),
        (
            ["photos/cats/a.png", "photos/dogs/b.png", "__MACOSX/photos/a.png"],
            "photos",
            ["cats/a.png", "dogs/b.png"],
        ),
        (["x/y/cats/a.png", "x/y/dogs/b.png"], "x/y", ["cats/a.png", "dogs/b.png"]),
    ],
)
def test_the_folder_of_the_classes_is_found(tmp_path, names, inside, pictures):
    folder, left_out = zipped.unpack(packed(*names), tmp_path / "deep" / "new")
    assert folder == tmp_path / "deep" / "new" / inside
    assert bool(left_out) == any("__MACOSX" in name for name in names)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png")) == pictures
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["new"]


def test_a_zip_in_a_zip_is_said(tmp_path):
    with pytest.raises(
        ValueError, match=r"no image but 1 other ZIP, such as photos\.zip; unpack it"
    ):
        zipped.unpack(
            packed("photos.zip", content=packed("a/1.png").getvalue()), tmp_path / "deep" / "new"
        )
    assert not list(tmp_path.iterdir())


def test_a_damaged_picture_inside_leaves_nothing(tmp_path):
    whole = bytearray(
        packed(
            "a/1.png", "a/2.png", content=PNG[:16] + np.random.default_rng(0).bytes(5_000)
        ).getvalue()
    )
    whole[7_000] ^= 255
    with pytest.raises(ValueError, match="cannot be unpacked as a ZIP"):
        zipped.unpack(io.BytesIO(bytes(whole)), tmp_path / "deep" / "new")
    assert not list(tmp_path.iterdir())


def test_what_was_there_stays(tmp_path):
    (tmp_path / "deep" / "other").mkdir(parents=True)
    with pytest.raises(ValueError):
        zipped.unpack(io.BytesIO(b"PK\3\4 no"), tmp_path / "deep" / "new")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["other"]


PARTS = st.sampled_from(["a", "b", "..", ".hidden", "c.png", "d.txt", "e.zip", "__MACOSX", "ü"])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(PARTS, min_size=1, max_size=4).map("/".join), min_size=1, max_size=6, unique=True
    )
)
def test_any_tree_ends_in_a_folder_or_in_one_sentence(tmp_path_factory, names):
    root = tmp_path_factory.mktemp("any")
    try:
        folder, _ = zipped.unpack(packed(*names), root / "deep" / "new")
    except (ValueError, OSError) as error:
        assert isinstance(error, OSError) or "\n" not in str(error)
        assert not list(root.iterdir())
    else:
        assert folder.is_relative_to(root / "deep" / "new") and any(
            path.is_file() for path in folder.rglob("*")
        )
        assert [path.name for path in root.rglob("*") if path.name.startswith(".")] == []


def test_folders_that_windows_separates_by_backslashes_are_classes(tmp_path):
    folder, left_out = zipped.unpack(
        packed("cats\\a.png", "cats\\b.png", "dogs\\c.png"), tmp_path / "new"
    )
    keys = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
    assert keys == ["cats/a.png", "cats/b.png", "dogs/c.png"] and not left_out
    with pytest.raises(ValueError, match="1 file whose path leads out of the ZIP is left out"):
        zipped.unpack(packed("..\\..\\a.png"), tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_of_one_name_and_names_that_cannot_be_written_are_told(tmp_path):
    long, other = "x" * 300 + ".png", io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(other, "PNG")
    whole = packed("a/1.png", f"a/{long}", "b/1.png", "b/1.png/2.png")
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("./a/1.png", other.getvalue())
    folder, left_out = zipped.unpack(whole, tmp_path / "new")
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png")) == [
        "a/1.png",
        "b/1.png",
    ]
    assert Image.open(folder / "a" / "1.png").size == (9, 9), "the later one counts"
    assert (
        "1 file that a later one of the same name replaces is left out, for instance a/1.png."
        in left_out
    )
    assert "2 files whose names cannot be written here are left out" in left_out
