"""Every published set, in miniature and in its official layout: whole, incomplete and broken."""

import json
import pickle

import numpy as np
import pytest
from PIL import Image

import lab
from lab.core.results import EASY, HARD, JUNK
from lab.data._published import ClosedSet, Published
from lab.data.images import loading, transforms

from . import miniatures
from .miniatures import WRITERS

PUBLISHED = sorted(name for name in lab.data.names() if issubclass(lab.data.get(name), Published))


@pytest.fixture
def put(tmp_path):
    """Write a miniature; returns its official top folder."""
    return lambda name: WRITERS[name](tmp_path)


def create(name, root, **knobs):
    return lab.data.create(name, root=str(root), **knobs)


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_read_from_its_folder_or_the_one_above(name, put):
    top = put(name)
    found, above = create(name, top), create(name, top.parent)
    assert found.keys == above.keys and len(found) > 2
    assert len(set(found.keys)) == len(found.labels) == len(found)
    assert sorted(set(found.labels.tolist())) == list(range(len(found.class_names)))
    assert found.load(len(found) - 1).mode == "RGB"
    closed = isinstance(found, ClosedSet)  # whose training images are the gallery of the test, too
    items = np.concatenate(
        [split.query if closed else split.items for split in found.splits.values()]
    )
    assert sorted(items) == list(range(len(found)))
    if found.class_disjoint and {"train", "test"} <= set(found.splits):
        train, test = (set(found.labels[found.splits[part].items]) for part in ("train", "test"))
        assert not train & test
    loader = loading.Loader(found, transforms.testing(16))
    assert (
        sum(len(batch) for batch in loader.split(np.arange(len(found)))) == len(found)
        and not loader.problems
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_are_checked_and_a_complete_set_has_no_problem(name, put, monkeypatch):
    """Against the published counts first, then with the miniature's own, and its checksums, in place of these."""
    top = put(name)
    entry = lab.data.get(name)
    if entry.counts:
        problems = lab.data.check(name, str(top))
        counted = [p for p in problems if "published are" in p]
        assert counted and len(problems) == len(counted) + 2 * (name == "svhn"), problems

    def counts(found):
        return {
            part: ((len(set(found.labels[i].tolist())), len(i)),)
            for part, i in found.parts().items()
        }

    monkeypatch.setattr(entry, "counts", property(counts))
    if name == "svhn":
        monkeypatch.setattr(entry, "checksums", lambda self: {})
    assert lab.data.check(name, str(top)) == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_folder_says_where_to_get_it(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name} is not complete") as raised:
        create(name, tmp_path / "nowhere")
    assert lab.data.get(name).get in str(raised.value)
    assert lab.data.check(name, str(tmp_path / "nowhere")) == [str(raised.value)]


@pytest.mark.parametrize("name", ["sop", "revisited_oxford", "sfm120k_validation"])
def test_missing_and_corrupt_images_are_named(name, put):
    top = put(name)
    found = create(name, top)
    absent, broken = found.path(len(found) - 1), found.path(len(found) - 2)
    absent.unlink()
    Image.effect_noise((64, 64), 80).convert("RGB").save(broken, "JPEG")
    broken.write_bytes(broken.read_bytes()[:-500])
    problems = [p for p in lab.data.check(name, str(top)) if "published are" not in p]
    assert len(problems) == 2
    assert any(str(absent) in p and "is missing" in p for p in problems)
    assert any(str(broken) in p and "damaged" in p for p in problems)
    loader = loading.Loader(found, transforms.testing(16))
    assert sum(len(batch) for batch in loader.split(np.arange(len(found)))) == len(found) - 2
    assert len(loader.problems) == 2


@pytest.mark.parametrize(
    ("name", "file"),
    [("cub200", "classes.txt"), ("sop", "Ebay_test.txt"), ("in_shop", "Eval/list_eval_partition.txt"),
     ("vehicle_id", "train_test_split/train_list.txt"), ("tiny_imagenet", "val/val_annotations.txt")],
)  # fmt: skip
def test_a_list_in_another_format_is_named_with_its_line(name, file, put):
    path = put(name) / file
    last = len(path.read_text().splitlines()) + 1
    lonely = path.read_bytes() + b"lonely\n"
    wrong = {
        b"": "is empty",
        b"\xff\xfe\x00broken": "is not UTF-8",
        lonely: f", line {last}: 1 columns instead of",
    }
    for content, sentence in wrong.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path.name} ?{sentence}"):
            create(name, path.parents[file.count("/")])


@pytest.mark.parametrize(
    ("name", "file", "content", "sentence"),
    [
        ("cub200", "image_class_labels.txt", "1 777\n", "gives image 1 no class"),
        (
            "inaturalist2018",
            "Inat_dataset_splits/Inaturalist_test_set1.txt",
            "x.jpg\n",
            "does not end in",
        ),
        (
            "tiny_imagenet",
            "val/val_annotations.txt",
            "val_0.JPEG n99 0 0 1 1\n",
            "n99, which wnids.txt does not list",
        ),
        ("mini_inaturalist2021", "train_mini.json", "{}", "not in the layout of the challenge"),
        ("cars196", "cars_annos.mat", "noise", "not a MATLAB file"),
        ("svhn", "train_32x32.mat", "noise", "is not a MATLAB file, or is damaged"),
        ("cifar100", "train", "noise", "is not the published file, so it is not opened"),
        ("revisited_oxford", "gnd_roxford5k.json", "{", "is not JSON"),
        (
            "revisited_oxford",
            "gnd_roxford5k.json",
            json.dumps(miniatures.JUDGED | {"gnd": []}),
            "0 judgements for 2",
        ),
    ],
)
def test_wrong_content_gets_a_sentence(name, file, content, sentence, put):
    top = put(name)
    (top / file).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        create(name, top)
    assert any(sentence in problem for problem in lab.data.check(name, str(top)))


def test_cub_trains_on_the_first_hundred(put):
    found = create("cub200", put("cub200"))
    assert found.labels[found.splits["train"].query].tolist() == [0, 0, 1, 1]
    assert found.class_names[2] == "101.White_Pelican" and found.super_labels is None


def test_cub_reads_a_hierarchy_of_ones_own(put):
    top = put("cub200")
    rows = ["class_id,family,order", "1,albatrosses,tubenoses", "100,pelicans,pelecaniformes"]
    (top / "hierarchy.csv").write_text(
        "\n".join([*rows, "101,pelicans,pelecaniformes", "200,warblers,passerines"])
    )
    found = create("cub200", top)
    assert found.super_names == ["tubenoses", "pelecaniformes", "passerines"]
    assert (
        found.attributes["family"].tolist()
        == ["albatrosses"] * 2 + ["pelicans"] * 4 + ["warblers"] * 2
    )
    (top / "hierarchy.csv").write_text("\n".join(rows))
    with pytest.raises(
        ValueError, match="no class_id, family and order for class 101 and 1 others"
    ):
        create("cub200", top)


def test_cars_in_both_layouts(tmp_path):
    one = create("cars196", miniatures.cars196(tmp_path / "one"))
    assert one.class_names == [
        "AM General Hummer SUV 2000",
        "Audi Model98 2012",
        "Land Rover LR2 SUV 2012",
    ]
    assert one.super_names == ["AM General", "Audi", "Land Rover"]
    assert one.splits["train"].query.tolist() == [0, 1, 2] and one.splits[
        "test"
    ].query.tolist() == [3, 4]
    top = miniatures.cars196_devkit(tmp_path / "two")
    two = create("cars196", top)
    assert two.keys[two.splits["train"].query[0]] == "cars_train/00001.jpg"
    assert two.keys[two.splits["test"].query[-1]] == "cars_test/00001.jpg"
    assert two.class_names == [
        "AM General Hummer SUV 2000",
        "Land Rover LR2 SUV 2012",
        "Audi Model98 2012",
    ]
    (top / "cars_test_annos_withlabels.mat").unlink()
    with pytest.raises(ValueError, match="lacks cars_test_annos_withlabels.mat"):
        create("cars196", top)


def test_in_shop_queries_search_the_gallery(put):
    found = create("in_shop", put("in_shop"))
    test = found.splits["test"]
    assert len(test.query) == len(test.gallery) == 2
    assert sorted(found.labels[test.query]) == sorted(found.labels[test.gallery])
    assert found.super_names == ["MEN/Denim", "WOMEN/Dresses"]


def test_mini_inaturalist_halves_the_species(put):
    found = create("mini_inaturalist2021", put("mini_inaturalist2021"))
    names = [found.class_names[c] for c in found.labels[found.splits["train"].query]]
    assert names == ["Lumbricus terrestris"] * 2 + ["Parus major"] * 2
    assert (
        found.super_names == ["Animals", "Birds", "Plants"]
        and found.attributes["order"][2] == "order 1"
    )


def test_vehicle_id_draws_one_gallery_image_of_each_vehicle(put):
    top = put("vehicle_id")
    for size, vehicles in {"small": 2, "medium": 3, "large": 4}.items():
        test = create("vehicle_id", top, test_size=size).splits["test"]
        assert len(test.gallery) == vehicles and len(test.query) == 2 * vehicles
    found = create("vehicle_id", top)
    assert len(set(found.labels[found.splits["test"].gallery])) == 2
    drawn = {
        tuple(create("vehicle_id", top, gallery_seed=s).splits["test"].gallery) for s in range(20)
    }
    assert len(drawn) > 3
    assert create("vehicle_id", top, random_gallery=False).splits["test"].gallery is None


@pytest.mark.parametrize("name", [n for n in PUBLISHED if issubclass(lab.data.get(n), ClosedSet)])
def test_closed_sets_test_on_the_classes_they_train_on(name, put):
    top = put(name)
    found = create(name, top)
    assert not found.class_disjoint
    train, test = (found.labels[found.splits[part].items] for part in ("train", "test"))
    assert set(test) <= set(train)
    held = create(name, top, validation=0.34)
    assert set(held.labels[held.splits["validation"].items]) == set(train)
    assert len(held.splits["validation"]) + len(held.splits["train"]) == len(found.splits["train"])


@pytest.mark.parametrize("name", [n for n in PUBLISHED if issubclass(lab.data.get(n), ClosedSet)])
def test_closed_sets_search_the_training_images_as_003_does(name, put):
    """The gallery is the whole published training set, whatever of it validates or is a shot."""
    top = put(name)
    whole = create(name, top).splits["train"].items
    for knobs in ({}, {"validation": 0.34}, {"shots": 1}):
        test = create(name, top, **knobs).splits["test"]
        np.testing.assert_array_equal(test.gallery, whole)
        assert not set(test.query) & set(test.gallery)
    among = create(name, top, gallery="test").splits["test"]
    assert among.gallery is None and len(among) == len(test.query)


@pytest.mark.parametrize("name", ["food101", "cifar100"])
def test_more_shots_keep_the_images_of_fewer(name, put):
    top = put(name)
    one, two = (create(name, top, shots=shots).splits["train"].items for shots in (1, 2))
    assert set(one) < set(two) and len(one) == 2 and len(two) == 4
    # few shots have no published count to check
    assert "train" not in create(name, top, shots=1).parts()


def test_cifar_images_are_the_right_way_round(put):
    top = put("cifar100")
    stored = pickle.loads((top / "train").read_bytes())
    found = create("cifar100", top)
    pixel = found.pixels[2, 5, 7]
    assert pixel.tolist() == [
        stored["data"][2, channel * 1024 + 5 * 32 + 7] for channel in range(3)
    ]
    assert found.super_names == ["fruit", "aquatic mammals"]


def test_revisited_judgements_and_boxes(put, tmp_path):
    top = put("revisited_oxford")
    found = create("revisited_oxford", top)
    test, judged = found.splits["test"], found.relevance["test"]
    assert (
        set(found.splits) == {"test"}
        and test.query.tolist() == [0, 1]
        and test.gallery.tolist() == [2, 3, 4, 5]
    )
    assert judged.offsets.tolist() == [0, 3, 4] and judged.items.tolist() == [0, 3, 2, 1]
    assert judged.grades.tolist() == [EASY, HARD, JUNK, HARD]
    assert (
        found.load(0).size == (10, 12)
        and found.load(1).size == (20, 8)
        and found.load(2).size == (20, 16)
    )
    assert create("revisited_oxford", top, crop_queries=False).load(0).size == (20, 16)
    judgements = next(top.glob("*.json"))
    boxless = json.loads(judgements.read_text())
    boxless["gnd"][0]["bbx"] = None
    judgements.write_text(json.dumps(boxless))
    found = create("revisited_oxford", top)
    assert found.load(0).size == (20, 16) and found.load(1).size == (20, 8), (
        "a box stays with its query"
    )
    for name in ("x/1.jpg", "x/2.jpg"):
        miniatures.write_image(tmp_path / "far" / "jpg" / name)
    miniatures.lines(tmp_path / "far" / "revisitop1m.txt", ["x/1.jpg", "x/2.jpg"])
    more = create("revisited_oxford", top, distractors=str(tmp_path / "far"))
    assert len(more.splits["test"].gallery) == 6 and more.load(7).size == (20, 16)
    assert more.relevance["test"].items.tolist() == judged.items.tolist()
