"""`lab data check` and `lab data download`."""

import json

from lab.__main__ import main


def test_a_complete_folder(tmp_path, capsys):
    from PIL import Image

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / name / "1.png")
    assert main(["data", "check", "class_folders", str(tmp_path)]) == 0
    assert "is complete" in capsys.readouterr().out


def test_problems_are_listed_and_the_status_says_so(tmp_path, capsys):
    assert main(["data", "check", "sop", str(tmp_path), "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert "lacks Ebay_train.txt, Ebay_test.txt" in row["problem"]


def test_what_cannot_be_fetched_is_one_sentence(tmp_path, capsys):
    assert main(["data", "download", "sop", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "sop cannot be downloaded. Get Stanford_Online_Products.zip" in said


def test_sizes_of_classes_and_what_an_epoch_is(tmp_path, capsys):
    from PIL import Image

    for name, count in (("a", 9), ("b", 4), ("c", 2)):
        (tmp_path / name).mkdir()
        for i in range(count):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{i}.png")
    words = ["data", "sizes", "class_folders", str(tmp_path), "--batch-size", "4", "--per-class", "2", "--json"]
    assert main(words) == 0
    rows = {row["split"]: row for row in json.loads(capsys.readouterr().out)}
    assert sum(row["images"] for row in rows.values()) == 15 and sum(row["classes"] for row in rows.values()) == 3
    assert all(row["least"] <= row["mean"] <= row["most"] and row["fewer than 2"] == 0 for row in rows.values())
    train = rows["train"]
    # Two classes a batch: with a single training class there is none, whatever images // batch says.
    assert train["classes"] == 1 and train["images // 4"] == train["images"] // 4
    assert train["epoch of RS@k and ROADMAP"] == 0
