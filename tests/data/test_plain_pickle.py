import collections
import importlib.util
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lab.data import _plain_pickle

from .crafted_pickles import AT, CRAFTED, U1, array, dtype, scalar, short, whole
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


READER = """
import sys
from pathlib import Path
import lab.data
from lab.data import _plain_pickle
for folder in sorted(Path(sys.argv[1]).iterdir()):
    print(folder.name, "-> ", end="", flush=True)
    try:
        found = _plain_pickle.load(folder / "train")
        lab.data.create("cifar100", root=str(folder))
        print("read:", type(found).__name__)
    except ValueError as error:
        print("refused:", str(error))
    sys.stdout.flush()
"""


def test_crafted_pickles_end_in_a_sentence_and_not_in_a_crash(tmp_path):
    """In a process of its own, whose end would show a crash; each file is read alone and as a part of CIFAR-100."""
    for name, data in CRAFTED.items():
        folder = tmp_path / "sent" / name
        folder.mkdir(parents=True)
        for part in ("train", "test", "meta"):
            (folder / part).write_bytes(data)
    words = [sys.executable, "-c", READER, str(tmp_path / "sent")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    lines = dict(line.split(" -> ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-300:]} {done.stderr[-2000:]}"
    assert set(lines) == set(CRAFTED) and len(CRAFTED) >= 32
    for name, said in lines.items():
        assert said.startswith("refused: ") and said.endswith(".") and len(said) < 600, f"{name}: {said[:600]}"
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("core", ["core", "_core"])
def test_arrays_of_numbers_and_words_come_through_as_they_were_written(tmp_path, core):
    counts = {"u1": 8, "i4": 2, "f8": 1, "S8": 1, "U2": 1, "b1": 8}
    parts = [array(dtype(k, "<"), short(bytes(8)), n, module=f"numpy.{core}.multiarray") for k, n in counts.items()]
    (tmp_path / "x").write_bytes(whole(b"](", *parts, array(U1, short(AT), 2, 4), scalar(U1, short(b"A")), b"e"))
    *read, table, letter = _plain_pickle.load(tmp_path / "x")
    assert [len(one) for one in read] == list(counts.values())
    assert table.shape == (2, 4) and table.dtype == np.uint8 and table.flags.writeable and letter == 0x41
