"""The published sets in miniature: the official files and folders, with a handful of images."""

import hashlib
import importlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.io import savemat

import lab
from lab.data._published import Published

from .conftest import write_image


def cub200(root: Path) -> Path:
    top = root / "CUB_200_2011"
    classes = {
        1: "001.Black_footed_Albatross",
        100: "100.Brown_Pelican",
        101: "101.White_Pelican",
        200: "200.Yellowthroat",
    }
    images = [
        (number, f"{name}/{name[4:]}_{i}.jpg") for number, name in classes.items() for i in range(2)
    ]
    for _, path in images:
        write_image(top / "images" / path)
    lines(top / "classes.txt", [f"{number} {name}" for number, name in classes.items()])
    lines(top / "images.txt", [f"{i} {path}" for i, (_, path) in enumerate(images, 1)])
    lines(
        top / "image_class_labels.txt", [f"{i} {number}" for i, (number, _) in enumerate(images, 1)]
    )
    return top


CARS = [
    "AM General Hummer SUV 2000",
    *(f"Audi Model{n} 2012" for n in range(2, 99)),
    "Land Rover LR2 SUV 2012",
]


def cars196(root: Path) -> Path:
    """As one file of annotations."""
    top = root / "cars196"
    rows = [(f"car_ims/{i:06d}.jpg", number) for i, number in enumerate((1, 1, 98, 99, 99), 1)]
    for path, _ in rows:
        write_image(top / path)
    kind = [("relative_im_path", object), ("bbox_x1", object), ("class", object), ("test", object)]
    annotations = np.array([[(path, 1, number, 0) for path, number in rows]], dtype=kind)
    savemat(
        top / "cars_annos.mat",
        {"annotations": annotations, "class_names": np.array([CARS], dtype=object)},
    )
    return top


def cars196_devkit(root: Path) -> Path:
    """As the devkit, the labelled test annotations beside it."""
    top = root / "cars196"
    kind = [("bbox_x1", object), ("class", object), ("fname", object)]
    parts = {
        "cars_train": [("00001.jpg", 1), ("00002.jpg", 99)],
        "cars_test": [("00001.jpg", 99), ("00002.jpg", 98)],
    }
    (top / "devkit").mkdir(parents=True)
    for folder, rows in parts.items():
        for name, _ in rows:
            write_image(top / folder / name)
        annotations = np.array([[(1, number, name) for name, number in rows]], dtype=kind)
        file = (
            "devkit/cars_train_annos.mat"
            if folder == "cars_train"
            else "cars_test_annos_withlabels.mat"
        )
        savemat(top / file, {"annotations": annotations})
    savemat(top / "devkit" / "cars_meta.mat", {"class_names": np.array([CARS], dtype=object)})
    return top


def sop(root: Path) -> Path:
    top = root / "Stanford_Online_Products"
    number = 0
    for split, classes in {"train": ("bicycle", "chair"), "test": ("bicycle", "sofa")}.items():
        found = ["image_id class_id super_class_id path"]
        for super_id, kind in enumerate(classes, 1):
            for i in range(2):
                number += 1
                path = f"{kind}_final/{number}_{i}.JPG"
                found.append(f"{number} {split == 'test'}{super_id} {super_id} {path}")
                write_image(top / path, format="JPEG")
        lines(top / f"Ebay_{split}.txt", found)
    return top


def in_shop(root: Path) -> Path:
    top = root / "In-shop Clothes Retrieval Benchmark"
    rows = []
    for item, parts in {
        1: ("train", "train"),
        2: ("train",),
        3: ("query", "gallery"),
        4: ("gallery", "query"),
    }.items():
        for i, part in enumerate(parts):
            kind = "MEN/Denim" if item % 2 else "WOMEN/Dresses"
            path = f"img/{kind}/id_{item:08d}/0{i}_1_front.jpg"
            rows.append(f"{path}  id_{item:08d}  {part}")
            write_image(top / path)
    lines(
        top / "Eval" / "list_eval_partition.txt",
        [str(len(rows)), "image_name item_id evaluation_status", *rows],
    )
    return top


def inaturalist2018(root: Path) -> Path:
    top = root / "Inaturalist"
    for split, classes in {"train": ("Aves/11", "Plantae/12"), "test": ("Aves/13",)}.items():
        paths = [f"train_val2018/{name}/{i}abc.jpg" for name in classes for i in range(2)]
        lines(top / "Inat_dataset_splits" / f"Inaturalist_{split}_set1.txt", paths)
        for path in paths:
            write_image(top / path)
    return top


def mini_inaturalist2021(root: Path) -> Path:
    top = root / "inaturalist2021"
    species = [
        ("Lumbricus terrestris", "Animals"),
        ("Parus major", "Birds"),
        ("Bellis perennis", "Plants"),
        ("Acer", "Plants"),
    ]
    listed = {"images": [], "annotations": [], "categories": []}
    for number, (name, kind) in enumerate(species):
        listed["categories"].append(
            {"id": number, "name": name, "supercategory": kind, "order": f"order {number % 2}"}
        )
        for i in range(2):
            image = number * 10 + i
            path = f"train_mini/{number:05d}_{name.replace(' ', '_')}/{i}.jpg"
            listed["images"].append({"id": image, "file_name": path})
            listed["annotations"].append({"image_id": image, "category_id": number})
            write_image(top / path)
    (top / "train_mini.json").write_text(json.dumps(listed))
    return top


def vehicle_id(root: Path) -> Path:
    top = root / "VehicleID_V1.0"
    lists = {
        "train_list": (1, 2),
        "test_list_800": (3, 4),
        "test_list_1600": (3, 4, 5),
        "test_list_2400": (3, 4, 5, 6),
    }
    for name, vehicles in lists.items():
        images = [(f"{vehicle:05d}{i}", vehicle) for vehicle in vehicles for i in range(3)]
        lines(
            top / "train_test_split" / f"{name}.txt",
            [f"{image} {vehicle}" for image, vehicle in images],
        )
        for image, _ in images:
            write_image(top / "image" / f"{image}.jpg")
    return top


def food101(root: Path) -> Path:
    top = root / "food-101"
    for split, numbers in {"train": (1, 2, 3), "test": (4,)}.items():
        names = [f"{dish}/{n}" for dish in ("apple_pie", "ramen") for n in numbers]
        lines(top / "meta" / f"{split}.txt", names)
        for name in names:
            write_image(top / "images" / f"{name}.jpg")
    return top


def tiny_imagenet(root: Path) -> Path:
    top = root / "tiny-imagenet-200"
    lines(top / "wnids.txt", ["n01", "n02"])
    lines(
        top / "words.txt",
        ["n00\tentity", "n01\tgoldfish, Carassius auratus", "n02\tEuropean fire salamander"],
    )
    for wnid in ("n01", "n02"):
        for i in range(3):
            write_image(top / "train" / wnid / "images" / f"{wnid}_{i}.JPEG")
    for i in range(2):
        write_image(top / "val" / "images" / f"val_{i}.JPEG")
    lines(
        top / "val" / "val_annotations.txt",
        [f"val_{i}.JPEG\tn0{2 - i}\t0\t0\t62\t57" for i in range(2)],
    )
    return top


def cifar100(root: Path) -> Path:
    """The checksums of what is written here take the place of the published ones."""
    top = root / "cifar-100-python"
    top.mkdir(parents=True)
    random = np.random.default_rng(0)
    for name, count in {"train": 6, "test": 4}.items():
        stored = {
            "data": random.integers(0, 256, (count, 3072), dtype=np.uint8),
            "fine_labels": [i % 2 for i in range(count)],
            "coarse_labels": [i % 2 for i in range(count)],
            "filenames": [f"{name}_{i}.png" for i in range(count)],
        }
        (top / name).write_bytes(pickle.dumps(stored, protocol=2))
    names = {
        "fine_label_names": ["apple", "beaver"],
        "coarse_label_names": ["fruit", "aquatic mammals"],
    }
    (top / "meta").write_bytes(pickle.dumps(names, protocol=2))
    digests = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in top.iterdir()}
    lab.data.get("cifar100").checksums = lambda self: digests
    return top


def svhn(root: Path) -> Path:
    top = root / "svhn"
    top.mkdir(parents=True)
    random = np.random.default_rng(0)
    for name, digits in {"train": (1, 10, 1, 10, 1, 10), "test": (10, 1)}.items():
        images = random.integers(0, 256, (32, 32, 3, len(digits)), dtype=np.uint8)
        savemat(
            top / f"{name}_32x32.mat", {"X": images, "y": np.array(digits, dtype=np.uint8)[:, None]}
        )
    return top


JUDGED = {
    "imlist": ["all_souls_1", "radcliffe_2", "oxford_3", "all_souls_4"],
    "qimlist": ["all_souls_1", "radcliffe_9"],
    "gnd": [
        {"bbx": [2.0, 3.0, 12.0, 15.0], "easy": [0], "hard": [3], "junk": [2]},
        {"bbx": [0.0, 0.0, 20.0, 8.0], "easy": [], "hard": [1], "junk": []},
    ],
}


def _revisited(top: Path, file: str) -> Path:
    for name in {*JUDGED["imlist"], *JUDGED["qimlist"]}:
        write_image(top / "jpg" / f"{name}.jpg")
    (top / file).write_text(json.dumps(JUDGED))
    return top


def google_landmarks_v1(root: Path) -> Path:
    top = root / "google-landmarks-v1"
    listed = [
        (f"{landmark}abc{i}", f"http://nowhere/{i}.jpg", landmark)
        for landmark in (17, 4096)
        for i in range(2)
    ]
    for name, _, _ in listed:
        write_image(top / "train" / f"{name}.jpg")
    lines(top / "train.csv", ["id,url,landmark_id", *(",".join(map(str, row)) for row in listed)])
    return top


def revisited_oxford(root: Path) -> Path:
    return _revisited(root / "roxford5k", "gnd_roxford5k.json")


def revisited_paris(root: Path) -> Path:
    return _revisited(root / "rparis6k", "gnd_rparis6k.json")


def lines(path: Path, content: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(content) + "\n")


def _writer(name: str) -> Callable[[Path], Path]:
    """The function of that name here, or `miniature` of tests/data/test_NAME.py, where a new set brings its own."""
    here = globals().get(name)
    return here or importlib.import_module(f"tests.data.test_{name}").miniature


WRITERS = {
    name: _writer(name)
    for name, entry in lab.data.entries().items()
    if issubclass(entry, Published)
}
"""Published set to the function that writes its miniature below a folder and returns the official top folder."""
