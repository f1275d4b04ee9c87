"""The validation list of Tolias et al. (2020), and the script that converts it and Revisited Oxford and Paris."""

import importlib.util
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import lab.data
from lab.core.results import EASY, JUNK
from tests.data.conftest import write_image

CONVERTER = Path(__file__).parents[2] / "scripts" / "convert_revisited.py"
IMAGES = ["0a1b2c3d4e5f", "1a1b2c3d4e50", "2a1b2c3d4e51", "3a1b2c3d4e52"]
OFFICIAL = {
    "cids": IMAGES,
    "qidx": np.array([0, 1]),
    "gnd": [{"ok": np.array([3]), "junk": np.array([0])}, {"ok": np.array([0, 2])}],
}


def converted(official: dict, folder: Path, protocol: int = 2) -> Path:
    """What the script makes of the official file."""
    spec = importlib.util.spec_from_file_location("convert_revisited", CONVERTER)
    assert spec and spec.loader
    converter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(converter)
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / "retrieval-SfM-120k-val-eccv2020.pkl"
    stored.write_bytes(pickle.dumps(official, protocol=protocol))
    return converter.convert(stored)


def miniature(root: Path) -> Path:
    """The set in small; returns its official top folder."""
    top = root / "retrieval-SfM-120k"
    for name in IMAGES:
        drawn = top / "ims" / name[-2:] / name[-4:-2] / name[-6:-4] / name
        write_image(drawn.with_suffix(".jpg"))
        drawn.with_suffix(".jpg").rename(drawn)
    converted(OFFICIAL, top)
    return top


def test_the_official_list_is_converted_and_read(tmp_path):
    found = lab.data.create("sfm120k_validation", root=str(miniature(tmp_path)))
    assert found.keys[:2] == [f"query/{name}.jpg" for name in IMAGES[:2]] and len(found) == 6
    assert found.path(0) == found.path(2) and found.path(5).name == IMAGES[3]
    assert found.path(5).parts[-4:-1] == ("52", "4e", "3d")
    split = found.splits["test"]
    judged = found.judged("test", split.query, split.gallery)
    assert judged.items.tolist() == [3, 0, 0, 2] and judged.offsets.tolist() == [0, 2, 4]
    assert judged.grades.tolist() == [EASY, JUNK, EASY, EASY]


def test_what_is_no_list_gets_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="nor of the validation of Tolias et al."):
        converted({**OFFICIAL, "qidx": np.array([9])}, tmp_path)
    top = miniature(tmp_path)
    (top / "retrieval-SfM-120k-val-eccv2020.json").write_text(json.dumps({"imlist": IMAGES}))
    with pytest.raises(ValueError, match="not a converted ground truth"):
        lab.data.create("sfm120k_validation", root=str(top))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_the_ground_truth_of_oxford_is_converted(tmp_path, protocol):
    from tests.data.miniatures import JUDGED  # which imports this file

    judged = [one | {"easy": np.array(one["easy"], np.int64)} for one in JUDGED["gnd"]]
    judged[0]["bbx"] = list(np.array(judged[0]["bbx"]))
    assert json.loads(converted(JUDGED | {"gnd": judged}, tmp_path, protocol).read_text()) == JUDGED


class Evil:
    def __reduce__(self):
        return (os.system, ("touch evil",))


def test_what_a_pickle_asks_for_beyond_plain_data_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="it asks for"):
        converted({**OFFICIAL, "qidx": np.array([Evil()])}, tmp_path)
    assert not (tmp_path / "evil").exists()
