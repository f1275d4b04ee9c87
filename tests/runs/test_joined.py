"""Two runs on data that changed in between speak of the same images, or say that they do not."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lab
from lab.report.same_queries import same_queries
from lab.runs import examples

CLASSES, EACH = 8, 4


def picture(kind: int, number: int) -> Image.Image:
    """A noisy picture of a class; the same for the same numbers."""
    random = np.random.default_rng([kind, number])
    colour = np.random.default_rng(kind).integers(0, 255, 3)
    return Image.fromarray(
        np.clip(colour + random.normal(0, 70, (16, 16, 3)), 0, 255).astype(np.uint8)
    )


@pytest.fixture
def photos(tmp_path) -> Path:
    root = tmp_path / "photos"
    for kind in range(CLASSES):
        (root / f"c{kind}").mkdir(parents=True)
        for number in range(EACH):
            picture(kind, number).save(root / f"c{kind}" / f"{number + 1}.png")
    return root


def untrained(root: Path, name: str, data: dict, **sections) -> lab.runs.Run:
    """A run of one and the same untrained network on a data set."""
    config = {
        "data": {"test": 0.5, "validation": 0.0, **data},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 2},
        "training": {"steps": 0, "device": "cpu", "keep_frames": 0, "seed": 0},
        "evaluation": {"splits": ["test"]},
        **sections,
    }
    run = lab.runs.create(lab.runs.RunConfig.of(config), root, name)
    for _ in lab.runs.execute(run):
        pass
    assert run.state == "finished"
    return run


def add_first(root: Path) -> None:
    for kind in range(CLASSES):
        picture(kind, 50).save(root / f"c{kind}" / "0.png")


def remove(root: Path) -> None:
    for kind in range(CLASSES):
        (root / f"c{kind}" / "1.png").unlink()


def rename(root: Path) -> None:
    for kind in range(CLASSES):
        (root / f"c{kind}" / "1.png").rename(root / f"c{kind}" / "9.png")


def replace(root: Path) -> None:
    for kind in range(CLASSES):
        picture(kind, 60).save(root / f"c{kind}" / "1.png")


def swap(root: Path) -> None:
    for kind in range(CLASSES):
        folder = root / f"c{kind}"
        (folder / "1.png").rename(folder / "x.png")
        (folder / "2.png").rename(folder / "1.png")
        (folder / "x.png").rename(folder / "2.png")


def move(root: Path) -> None:
    for kind in range(CLASSES):
        (root / f"c{kind}" / "1.png").rename(root / f"c{(kind + 1) % CLASSES}" / "from-before.png")


@pytest.mark.parametrize(
    ("change", "lost", "of_others", "renamed"),
    [
        (add_first, 0, 1, 0),
        (remove, 1, 0, 0),
        (rename, 0, 0, 1),
        (replace, 1, 1, 0),
        (swap, 0, 0, 2),
    ],
)
def test_a_folder_that_changed_pairs_no_two_pictures(
    photos, tmp_path, change, lost, of_others, renamed
):
    """lost, of_others, renamed: images of each class that only the first and only the second run has, and that have
    another name in the second."""
    data, runs = {"name": "class_folders", "root": str(photos)}, tmp_path / "runs"
    one = untrained(runs, "one", data)
    read = {key: (photos / key).read_bytes() for key in one.dataset().keys}
    change(photos)
    two = untrained(runs, "two", data)
    joined, tested = lab.runs.join([one, two]), CLASSES // 2
    assert joined.sizes == (EACH * tested, (EACH - lost + of_others) * tested)
    assert (
        len(joined) == (EACH - lost) * tested
        and joined.renamed == renamed * tested
        and not joined.unknown
    )
    for mine, theirs in joined.items.T:
        assert read[one.dataset().keys[mine]] == (photos / two.dataset().keys[theirs]).read_bytes()

    found = same_queries([one, two])  # one network on the same images: there is no difference
    np.testing.assert_array_equal(*found.values["MAP@R"])
    assert f"{len(joined)} images joined by name and content" in found.note and not found.unlike
    vectors = [run.embeddings().take(np.argsort(run.embeddings().items)) for run in (one, two)]
    for mine, theirs in joined.items.T:
        rows = [
            np.flatnonzero(part.items == item)[0]
            for part, item in zip(vectors, (mine, theirs), strict=True)
        ]
        np.testing.assert_allclose(
            vectors[0].vectors[rows[0]], vectors[1].vectors[rows[1]], atol=1e-6
        )


def test_a_picture_in_another_class_folder_is_the_same_picture_of_another_class(photos, tmp_path):
    data, runs = {"name": "class_folders", "root": str(photos), "test": 0.75}, tmp_path / "runs"
    one = untrained(runs, "one", data)
    move(photos)
    two = untrained(runs, "two", data)
    joined = lab.runs.join([one, two])
    classes = [
        run.pictures().of_items(items).classes
        for run, items in zip((one, two), joined.items, strict=True)
    ]
    moved = classes[0] != classes[1]
    assert moved.sum() == joined.renamed > 0
    found = same_queries([one, two])
    assert found.unlike == ("two",) and "Classes are those of one; two had others" in found.note
    assert not found.corrected, "nobody has corrected anything"
    np.testing.assert_array_equal(*found.values["MAP@R"])
    assert {found.class_names[label] for label in found.labels} == set(classes[0])


def test_a_new_class_moves_all_class_numbers_and_nothing_else(photos, tmp_path):
    """Classes are joined by name: each number means another class afterwards."""
    data, runs = {"name": "manifest", "path": str(tmp_path / "list.csv")}, tmp_path / "runs"
    rows = [
        f"photos/c{kind}/{n + 1}.png,kind {kind},{'test' if kind > 3 else 'train'}"
        for kind in range(8)
        for n in range(4)
    ]
    (tmp_path / "list.csv").write_text("\n".join(["path,label,split", *rows]))
    one = untrained(runs, "one", data)
    extra = [f"photos/extra-{n}.png,another,test" for n in range(4)]
    for n in range(4):
        picture(70, n).save(photos / f"extra-{n}.png")
    (tmp_path / "list.csv").write_text("\n".join(["path,label,split", *extra, *rows[::-1]]))
    two = untrained(runs, "two", data)
    joined, found = lab.runs.join([one, two]), same_queries([one, two])
    assert len(joined) == 16 and joined.sizes == (16, 20) and not joined.renamed
    assert not found.unlike and found.class_names == ["kind 4", "kind 5", "kind 6", "kind 7"]
    np.testing.assert_array_equal(*found.values["r@1"])


def shards(folder: Path, names: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "images.tar", "w") as tar:
        for name in names:
            kind, number = map(int, name.split("/"))
            content = io.BytesIO()
            picture(kind, number).save(content, "PNG")
            member = tarfile.TarInfo(f"c{kind}/{number}.png")
            member.size = len(content.getvalue())
            tar.addfile(member, io.BytesIO(content.getvalue()))


def test_tar_shards_that_grew_are_joined_and_the_old_numbers_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    data, runs = {"name": "tar_shards", "root": str(tmp_path / "shards")}, tmp_path / "runs"
    names = [f"{kind}/{number}" for kind in range(CLASSES) for number in range(1, 4)]
    shards(tmp_path / "shards", names)
    one = untrained(runs, "one", data)
    shards(tmp_path / "shards", [f"{kind}/0" for kind in range(CLASSES)] + names)
    two = untrained(runs, "two", data)
    found = same_queries([one, two])
    assert len(found.labels) == 12 and found.joined.sizes == (12, 16) and not found.joined.unknown
    np.testing.assert_array_equal(*found.values["MAP@R"])
    with pytest.raises(
        ValueError, match="lists other images than when one embedded.*lab evaluate .*--split test"
    ):
        lab.runs.open(one.path).dataset()
    assert len(two.dataset()) == 32


def test_pictures_in_two_folders_and_in_a_tar_file_are_joined_by_content(
    photos, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    copied = Path(shutil.copytree(photos, tmp_path / "elsewhere"))
    runs = tmp_path / "runs"
    one = untrained(runs, "one", {"name": "class_folders", "root": str(photos)})
    two = untrained(runs, "two", {"name": "class_folders", "root": str(copied)})
    assert lab.runs.join([one, two]).whole
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        tar.add(photos, ".")
    three = untrained(runs, "three", {"name": "tar_shards", "root": str(tmp_path / "all.tar")})
    assert len(lab.runs.join([one, three])) > 0 and not lab.runs.join([one, three]).unknown


def test_runs_of_0_2_are_joined_by_name_and_say_so(tmp_path):
    examples.copy_into(tmp_path)
    old = list(lab.runs.list(tmp_path))
    joined = lab.runs.join(old)
    assert joined.same_numbers and joined.unknown == tuple(run.name for run in old)
    new = untrained(tmp_path, "new", {"name": "emoji7", "test": 0.02})
    found = same_queries([old[0], new])
    assert len(found.labels) == len(new.embeddings()) and "joined by name;" in found.note
    assert f"The contents of the images of {old[0].name} are not recorded." in found.note


def test_vectors_made_elsewhere_are_joined_by_their_keys_or_not_at_all(tmp_path):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(12, 4)).astype(np.float32)
    labels = [f"kind {row // 3}" for row in range(12)]
    keys = [f"sku-{row}" for row in range(12)]

    def brought(name, rows, labels, **known):
        return lab.runs.from_embeddings(
            vectors[rows], labels, normalise=True, name=name, runs=tmp_path, **known
        )

    some = np.array([11, 2, 3, 4, 5, 0])
    one = brought("one", slice(None), labels, keys=keys)
    two = brought("two", some, [labels[row] for row in some], keys=[keys[row] for row in some])
    joined = lab.runs.join([one, two])
    assert joined.items.tolist() == [sorted(some.tolist()), np.argsort(some).tolist()]
    assert "joined by name; not joined: 6 of one" in joined.sentence

    # names that somebody gave, though they look like row numbers
    numbers = [str(row) for row in range(12)]
    named = brought("named", slice(None), labels, keys=numbers)
    relabelled = brought("relabelled", slice(None), ["other", *labels[1:]], keys=numbers)
    assert len(lab.runs.join([named, relabelled])) == 12
    assert same_queries([named, relabelled]).unlike == ("relabelled",)

    bare, again = brought("bare", slice(None), labels), brought("again", slice(None), labels)
    joined = lab.runs.join([bare, again])
    assert joined.by_row and "The rows have no names" in joined.sentence
    other = brought("other", slice(None), labels[::-1])
    assert len(lab.runs.join([bare, other])) == 0 == len(lab.runs.join([bare, named]))
    with pytest.raises(ValueError, match="have no test query in common, .*: 0 images joined"):
        same_queries([bare, other])

    nothing, more = brought("nothing", slice(None), None), brought("more", slice(None), None)
    assert len(lab.runs.join([nothing, more])) == 0, (
        "rows without names and classes may be of any images"
    )
    assert len(lab.runs.join([nothing, nothing])) == 12
    alike = lab.runs.from_embeddings(
        vectors, like=nothing, normalise=True, name="alike", runs=tmp_path
    )
    assert len(lab.runs.join([nothing, alike])) == 12, "which is said to be of the same images"


def brought_with_pictures(photos: Path, name: str, runs: Path, **known) -> lab.runs.Run:
    """Random vectors of the pictures in a folder, imported with their files."""
    keys = sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.png"))
    vectors = np.random.default_rng(0).normal(size=(len(keys), 4)).astype(np.float32)
    labels = None if "like" in known else [key.split("/")[0] for key in keys]
    return lab.runs.from_embeddings(
        vectors, labels, keys=keys, normalise=True, name=name, runs=runs, **known
    )


@pytest.mark.parametrize("measure", [True, False])
def test_imported_pictures_are_joined_by_content(photos, tmp_path, measure):
    runs = tmp_path / "runs"
    one = brought_with_pictures(photos, "one", runs, root=photos, measure=measure)
    again = brought_with_pictures(photos, "again", runs, root=photos, measure=measure)
    assert (
        lab.runs.join([one, again]).sentence
        == "32 images joined by name and content; none is left out."
    )
    like = brought_with_pictures(photos, "like", runs, like=one, measure=measure)

    picture(3, 77).save(photos / "c3" / "2.png")
    (photos / "c5" / "1.png").rename(photos / "c5" / "9.png")
    two = brought_with_pictures(photos, "two", runs, root=photos, measure=measure)
    for before in (one, again, like):
        joined = lab.runs.join([before, two])
        assert (
            len(joined) == 31
            and joined.renamed == 1
            and joined.replaced == 1
            and not joined.unknown
        )
        assert joined.sentence == (
            f"31 images joined by name and content, 1 of them renamed; not joined: 1 of {before.name}, 1 of two "
            "(1 name with another content)."
        )
        lost = np.setdiff1d(before.embeddings().items, joined.items[0])
        assert [before.dataset().keys[item] for item in lost] == ["c3/2.png"]


def test_imported_vectors_without_picture_files_say_that_contents_are_unknown(photos, tmp_path):
    runs = tmp_path / "runs"
    pictured = brought_with_pictures(photos, "pictured", runs, root=photos)
    bare = brought_with_pictures(photos, "bare", runs)
    joined = lab.runs.join([pictured, bare])
    assert joined.whole and joined.unknown == ("bare",)
    assert joined.sentence.endswith("The contents of the images of bare are not recorded.")


def test_recorded_pictures_are_joined_by_content(photos, tmp_path):
    runs = tmp_path / "runs"
    keys = sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.png"))
    vectors = np.random.default_rng(0).normal(size=(len(keys), 4)).astype(np.float32)

    def recorded(name: str) -> lab.runs.Run:
        with lab.runs.record(name, runs=runs, normalise=True, split="test") as recorder:
            recorder.embeddings(1, vectors, [key.split("/")[0] for key in keys], keys, root=photos)
        return recorder.run

    one = recorded("one")
    picture(3, 77).save(photos / "c3" / "2.png")
    joined = lab.runs.join([one, recorded("two")])
    assert len(joined) == 31 and joined.replaced == 1 and not joined.unknown


def test_a_run_whose_folder_is_gone_is_still_joined(photos, tmp_path):
    data = {"name": "class_folders", "root": str(photos)}
    one, two = (untrained(tmp_path / "runs", name, data) for name in ("one", "two"))
    shutil.rmtree(photos)
    assert lab.runs.join([one, two]).whole and len(same_queries([one, two]).labels) == 16
