"""Tar shards: every image by its place, from a disk or an object store, with an index that is built once."""

import io
import tarfile

import fsspec
import numpy as np
import pytest
import torch
from PIL import Image

import lab
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.data.images.reading import ImageError


def made(folder):
    """The set, two shards; the contract tests take it from here. `folder` holds folders of images."""
    pictures = sorted(folder.glob("*/*.png"))
    for number, half in enumerate((pictures[::2], pictures[1::2])):
        with tarfile.open(folder / f"{number}.tar", "w") as archive:
            for path in half:
                archive.add(path, path.relative_to(folder).as_posix())
    return lab.data.create("tar_shards", root=str(folder))


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "caches"))


def add(archive, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def png(shade):
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "png")
    return file.getvalue()


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["bags/2021/1.png", "bags/2022/2.png", "shoes/3.png"], ["bags", "bags", "shoes"]),
        (["all/bags/2021/1.png", "all/bags/2.png", "all/shoes/3.png"], ["bags", "bags", "shoes"]),
        (["train/bags/1.png", "test/shoes/x/2.png", "test/bags/3.png"], ["bags", "shoes", "bags"]),
    ],
)
def test_the_class_is_the_outermost_folder_as_in_a_folder_of_class_folders(
    tmp_path, names, classes
):
    with tarfile.open(tmp_path / "shard.tar", "w") as archive:
        for number, name in enumerate(names):
            add(archive, name, png(number))
    images = lab.data.create("tar_shards", root=str(tmp_path))
    names_of_images = [str(key).partition("/")[2] for key in images.keys]
    found = dict(
        zip(names_of_images, (images.class_names[label] for label in images.labels), strict=True)
    )
    assert found == dict(zip(names, classes, strict=True))


@pytest.fixture
def stored():
    """Twelve images of three classes in two shards of an object store, the class of each in a member of its own."""
    system = fsspec.filesystem("memory")
    for shard in range(2):
        with (
            system.open(f"/bucket/{shard}.tar", "wb") as file,
            tarfile.open(fileobj=file, mode="w") as archive,
        ):
            for i in range(6):
                add(archive, f"{shard}{i}.png", png(100 * shard + 10 * i))
                add(archive, f"{shard}{i}.cls", f"kind {i % 3}".encode())
            add(archive, f"{shard}9.png", png(0))
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_images_of_a_store_have_the_class_beside_them(stored):
    images = lab.data.create("tar_shards", root=stored)
    assert len(images) == 12 and images.class_names == ["kind 0", "kind 1", "kind 2"]
    assert (np.diff(images.labels) >= 0).all() and "09.png has neither" in images.problems[0]
    for i, key in enumerate(images.keys):
        shard, number = int(key[0]), int(key[-5])
        assert (
            np.asarray(images.load(i))[0, 0, 0] == 100 * shard + 10 * number
            and images.labels[i] == number % 3
        )


def test_bytes_are_asked_for_as_every_store_understands(stored, monkeypatch):
    """s3fs has the version of a file where others have the first byte."""
    system = type(fsspec.filesystem("memory"))
    plain = system.cat_file

    def of_s3(self, path, version_id=None, start=None, end=None):
        assert version_id is None
        return plain(self, path, start=start, end=end)

    monkeypatch.setattr(system, "cat_file", of_s3)
    assert lab.data.create("tar_shards", root=stored).load(3).size == (8, 8)


def test_the_index_is_built_once_and_anew_for_other_files(stored, monkeypatch):
    first = lab.data.create("tar_shards", root=stored)
    monkeypatch.setattr("lab.data.tar_shards._images", lambda *_: pytest.fail("built again"))
    again = lab.data.create("tar_shards", root=stored)
    assert again.keys == first.keys and isinstance(again.index.size, np.memmap)
    monkeypatch.undo()
    monkeypatch.setenv("LAB_CACHE", str(first.index.path.parent.parent))
    fsspec.filesystem("memory").rm("/bucket/1.tar")
    assert len(lab.data.create("tar_shards", root=stored)) == 6
    store = fsspec.filesystem("memory")
    content = store.cat_file("/bucket/0.tar")
    store.pipe_file("/bucket/0.tar", content.replace(b"kind 2", b"kind 7"))  # as long as before
    assert "kind 7" in lab.data.create("tar_shards", root=stored).class_names
    store.pipe_file("/bucket/0.tar", content)
    # cut short: made again, not a failure
    first.index.path.write_bytes(first.index.path.read_bytes()[:50])


def test_batches_are_decoded_in_workers(folders, caches):
    images = made(folders)
    sampler = lab.samplers.create("m_per_class", batch_size=4, per_class=2).bind(
        images.labels, seed=3
    )
    seen = transforms.testing(8, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    batches = [
        [*Loader(images, seen, workers=w).batches([sampler.batch(0), sampler.batch(1)])]
        for w in (0, 2)
    ]
    for one, other in zip(*batches, strict=True):
        assert torch.equal(one.images, other.images) and torch.equal(one.labels, other.labels)


def test_a_run_trains_on_shards(pictures, train_tiny, tmp_path):
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        archive.add(pictures, "pictures")
    data = {
        "name": "tar_shards",
        "root": str(tmp_path / "all.tar"),
        "test": 0.25,
        "validation": 0.25,
    }
    sampler = {"name": "m_per_class", "batch_size": 16}
    run = train_tiny(
        tmp_path,
        "tars",
        data=data,
        sampler=sampler,
        augmentation={"size": 16},
        training={"steps": 2},
    )
    assert run.scores()["queries"] == 16


def test_mistakes_are_sentences(tmp_path, stored):
    for root, words in {
        str(tmp_path / "none"): "holds no file that ends in .tar",
        "nonsense://x": "nonsense://x cannot be read: .*nonsense",
    }.items():
        with pytest.raises(ValueError, match=words):
            lab.data.create("tar_shards", root=root)
    with tarfile.open(tmp_path / "zipped.tar", "w:gz") as archive:
        add(archive, "a/1.png", png(3))
    with pytest.raises(ValueError, match="is no whole, uncompressed tar file"):
        lab.data.create("tar_shards", root=str(tmp_path))
    with tarfile.open(tmp_path / "twice.tar", "w") as archive:
        for name in ("cat/1.left.png", "cat/1.right.png"):
            add(archive, name, png(3))
    with pytest.raises(
        ValueError,
        match="twice.tar has two images of one sample, cat/1.left.png and cat/1.right.png",
    ):
        lab.data.create("tar_shards", root=str(tmp_path / "twice.tar"))
    with tarfile.open(
        tmp_path / "latin.tar", "w", format=tarfile.USTAR_FORMAT, errors="surrogateescape"
    ) as archive:
        for name in ("cat/caf\udce9.png", "cat/2.png", "dog/3.png"):
            add(archive, name, png(3))
    latin = lab.data.create("tar_shards", root=str(tmp_path / "latin.tar"))
    assert (
        len(latin) == 2
        and "caf\\udce9.png' has a name that cannot be written down" in latin.problems[0]
    )
    images = lab.data.create("tar_shards", root=stored)
    fsspec.filesystem("memory").rm("/bucket/0.tar")
    with pytest.raises(ImageError, match="00.png cannot be read from /bucket/0.tar"):
        images.load(0)


def test_what_systems_add_is_left_out_and_counted(tmp_path):
    """The tar of macOS puts `._1.png` beside each file."""
    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    with tarfile.open(tmp_path / "it.tar", "w") as archive:
        for name in ("a/1.png", "a/._1.png", "b/1.png", "__MACOSX/b/2.png", ".git/3.png"):
            member = tarfile.TarInfo(name)
            member.size = len(picture.getvalue())
            archive.addfile(member, io.BytesIO(picture.getvalue()))
    images = lab.data.create("tar_shards", root=str(tmp_path), test=0)
    assert images.class_names == ["a", "b"] and len(images) == 2
    assert images.problems == [
        "3 hidden files and folders are left out, for instance it.tar/a/._1.png."
    ]
