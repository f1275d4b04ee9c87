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


def test_a_path_is_needed(capsys):
    assert main(["data", "check", "sop"]) == 2
    assert "lab data check NAME PATH" in capsys.readouterr().err
