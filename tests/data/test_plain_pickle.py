import collections
import importlib.util
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from lab.data import _plain_pickle

from .miniatures import JUDGED

CONVERTER = Path(__file__).parents[2] / "scripts" / "convert_revisited.py"


class Evil:
    def __reduce__(self):
        return (os.system, ("touch evil",))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_plain_data_comes_through(tmp_path, protocol):
    data = {"a": [1, "é", None, 2.5, (True, b"x")], "b": np.arange(6).reshape(2, 3), "c": np.float32(2)}
    (tmp_path / "x").write_bytes(pickle.dumps(data, protocol=protocol))
    read = _plain_pickle.load(tmp_path / "x")
    assert read["a"] == data["a"] and read["c"] == 2
    np.testing.assert_array_equal(read["b"], data["b"])


@pytest.mark.parametrize("thing", [Evil(), collections.Counter("ab"), Path("x"), np.random.default_rng(0)])
def test_anything_else_is_refused_and_does_not_run(tmp_path, monkeypatch, thing):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(pickle.dumps({"a": thing}))
    with pytest.raises(ValueError, match="not plain data"):
        _plain_pickle.load(tmp_path / "x")
    assert not (tmp_path / "evil").exists()


def test_the_official_ground_truth_is_converted(tmp_path):
    spec = importlib.util.spec_from_file_location("convert_revisited", CONVERTER)
    converter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(converter)
    official = JUDGED | {"gnd": [one | {"easy": np.array(one["easy"], dtype=np.int64)} for one in JUDGED["gnd"]]}
    (tmp_path / "gnd.pkl").write_bytes(pickle.dumps(official, protocol=2))
    assert json.loads(converter.convert(tmp_path / "gnd.pkl").read_text()) == JUDGED
    (tmp_path / "bad.pkl").write_bytes(pickle.dumps({"imlist": []}))
    with pytest.raises(ValueError, match="not a ground truth"):
        converter.convert(tmp_path / "bad.pkl")
