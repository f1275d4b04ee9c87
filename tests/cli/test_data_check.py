"""`lab list data NAME FOLDER`."""

import json

from lab.__main__ import main


def test_a_complete_folder(tmp_path, capsys):
    from PIL import Image

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / name / "1.png")
    assert main(["list", "data", "class_folders", str(tmp_path)]) == 0
    assert "is complete" in capsys.readouterr().err


def test_problems_are_listed_and_the_status_says_so(tmp_path, capsys):
    assert main(["list", "data", "sop", str(tmp_path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert "lacks Ebay_train.txt, Ebay_test.txt" in told["problems"][0] and told["splits"] == []


def test_what_cannot_be_fetched_is_one_sentence(tmp_path, capsys):
    assert main(["list", "data", "sop", str(tmp_path), "--download"]) == 2
    said = capsys.readouterr().err
    assert "sop cannot be downloaded. Get Stanford_Online_Products.zip" in said


def test_sizes_of_classes(tmp_path, capsys):
    from PIL import Image

    for name, count in (("a", 9), ("b", 4), ("c", 2)):
        (tmp_path / name).mkdir()
        for i in range(count):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{i}.png")
    words = ["list", "data", "class_folders", str(tmp_path), "--json"]
    assert main(words) == 0
    rows = {row["split"]: row for row in json.loads(capsys.readouterr().out)["splits"]}
    assert (
        sum(row["images"] for row in rows.values()) == 15
        and sum(row["classes"] for row in rows.values()) == 3
    )
    assert all(row["least"] <= row["mean"] <= row["most"] for row in rows.values())
