"""One flipped bit in any file of a run folder: a sentence that names the file, or all is read as it was."""

import random
import shutil

import pytest

import lab.runs
from lab.__main__ import main
from lab.runs import Run, RunConfig, check, management, marks
from lab.runs.execute import execute


@pytest.fixture(scope="module")
def whole(train_tiny, pictures, tmp_path_factory):
    data = {"name": "class_folders", "root": str(pictures), "validation": 0.5, "test": 0.25}
    encoder = {"name": "small_cnn", "width": 4, "dim": 8}
    root, steps = tmp_path_factory.mktemp("flipped"), {"steps": 4, "validate_every": 2, "checkpoint_every": 2}
    sampler = {"batch_size": 8, "per_class": 2}
    run = train_tiny(
        root, "run", data=data, encoder=encoder, sampler=sampler, training=steps, augmentation={"size": 16}
    )
    management.annotate(run, "worth a look", ["first"])
    marks.mark(run, "class00/1.png", "skip")
    return run


@pytest.fixture
def copied(whole, tmp_path):
    return Run(shutil.copytree(whole.path, tmp_path / "runs" / "run"))


SEALED = ["config.yaml", "status.json", "meta.json", "images.json", "scores/test.json", "remarks.json", "marks.json"]


def flip(path, place, bit=0):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def told(run):
    """All that a reader is told by the sealed files."""
    return (
        run.config.as_dict(), run.status | {"crc32": None}, run.meta.get("started"), run.dataset().keys,
        run.scores(), management.notes(run), marks.read(run), [r | {"crc32": None} for r in run.metrics()],
    )  # fmt: skip


def test_an_untouched_run_has_no_findings(whole):
    assert check.check(whole) == []


@pytest.mark.parametrize("file", [*SEALED, "metrics.jsonl"])
def test_a_flipped_bit_is_a_finding_that_names_the_file_or_harms_nothing(whole, copied, file):
    before, content = told(whole), (copied.path / file).read_bytes()
    draw = random.Random(file)
    for _ in range(12):
        flip(copied.path / file, draw.randrange(len(content)), draw.randrange(8))
        found = {f.file for f in check.check(copied)}
        split = {"embeddings/test.safetensors"} if file.startswith("scores") else set()
        assert found & ({file} | split) or told(Run(copied.path)) == before
        (copied.path / file).write_bytes(content)


@pytest.mark.parametrize("file", ["status.json", "meta.json", "images.json", "remarks.json", "marks.json"])
def test_a_repair_keeps_what_was_there_and_mends_the_rest(whole, copied, file):
    place = (copied.path / file).read_bytes().index(b'"crc32": "') + 10
    content = bytearray((copied.path / file).read_bytes())
    content[place] = ord("1" if content[place] == ord("0") else "0")
    (copied.path / file).write_bytes(content)
    assert [f.file for f in check.check(copied)] == [file]
    list(check.repair(copied))
    assert check.check(copied) == []
    assert management.notes(copied) == management.notes(whole) and marks.read(copied) == marks.read(whole)
    assert (copied.path / f"{file}.damaged").exists() == (file not in check.WORDS)


def test_a_list_of_images_that_was_changed_is_not_trained_with(copied):
    images = copied.path / "images.json"
    images.write_text(images.read_text().replace("class00", "class01", 1))
    with pytest.raises(ValueError, match=r"images\.json is not what was written: .*--repair.*--accept"):
        copied.dataset()
    images.write_text("{")
    with pytest.raises(ValueError, match=r"images\.json is no JSON"):
        copied.dataset()


def test_a_configuration_that_was_changed_is_refused_until_it_is_accepted(copied, capsys):
    config = copied.path / "config.yaml"
    config.write_text(config.read_text().replace("steps: 4", "steps: 6"))
    changed = Run(copied.path)
    with pytest.raises(ValueError, match=r"config\.yaml is not what was written.*lab runs check .* --accept"):
        next(execute(changed))
    assert changed.state == "finished" and changed.scores() is not None  # nothing else suffers
    assert main(["runs", "check", str(copied.path), "--accept"]) == 0
    assert "accepted as found: config.yaml." in capsys.readouterr().err
    list(execute(changed))
    assert changed.status["step"] == 6 and check.check(changed) == []


def test_a_status_that_was_changed_by_hand_is_told_and_can_be_accepted(copied, capsys):
    status = copied.path / "status.json"
    status.write_text(status.read_text().replace('"step": 4', '"step": 3', 1))
    assert copied.state == "damaged" and "--accept" in copied.status["sentence"]
    assert main(["runs", "check", str(copied.path), "--accept"]) == 0
    assert copied.status["step"] == 3 and "status.json" in capsys.readouterr().err


def test_a_damaged_file_is_set_aside_when_a_run_goes_on(whole, copied):
    for name in ("status.json", "meta.json"):
        (copied.path / name).write_text((copied.path / name).read_text().replace("1", "2", 1))
    list(execute(copied))
    assert copied.state == "finished" and check.check(copied) == []
    assert "versions" in (copied.path / "meta.json.damaged").read_text()
    assert "meta.json was damaged; it is kept as meta.json.damaged" in copied.log_tail()


def test_a_begun_run_with_a_damaged_meta_keeps_its_configuration(copied):
    (copied.path / "meta.json").write_text("{")
    with pytest.raises(ValueError, match="has begun"):
        copied.reconfigure(RunConfig.of())


def test_marks_are_not_lost_with_a_damaged_file(copied):
    (copied.path / "marks.json").write_text('{"a.png": "skip"')
    marks.mark(copied, "b.png", "duplicate")
    assert (copied.path / "marks.json.damaged").read_text() == '{"a.png": "skip"'
    assert marks.read(copied) == {"b.png": "duplicate"} and lab.runs.open(copied.path).state == "finished"
