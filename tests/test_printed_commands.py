"""Each command line of README.md and docs/, run as printed: in this process, on stand-ins, and without long work."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import lab.cli
import lab.runs
from lab.__main__ import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLLOWED = (
    "extending.md"  # whose lines tests/test_contributing.py runs, on the files that the page writes
)
BEGINNING = re.compile(r"(?:[A-Z_]+=\S+ )?lab (.*)")

PARSED_ONLY = {
    "lab adapt": "a network on all images (tests/adaptation)",
    "lab demo": "trains two networks (tests/install/test_distribution.py runs a short one)",
    "lab embed photos --encoder vit_": "weights from a network",
    "lab layers emoji7": "a network on all images (tests/adaptation)",
    "lab layers photos --encoder resnet50": "weights from a network",
    "lab list data sop ~/data/sop": "images that may not be handed on",
    "lab papers protocol tricks": "hours of training",
    "lab papers reproduce": "images that may not be handed on (tests/protocols)",
    "lab runs compare": "trainings with further seeds (tests/report)",
    "lab runs knobs --group taus": "the runs of a sweep (tests/report)",
    "lab play": "opens a browser",
    "lab serve": "a server (tests/cli)",
    "lab sweep": "a Ray cluster (tests/sweeps)",
    "lab train --data class_folders --data.root photos --encoder timm_model": "weights from a network",
}
"""How lines begin whose flags are read, and which are not carried out; and why."""


def printed() -> list[str]:
    """The lines of fenced and indented blocks that begin with `lab`, without what is said of them."""
    found = []
    for page in [page for page in PAGES if page.name != FOLLOWED]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL) + re.findall(
            r"^ {4}(.*)$", text, re.MULTILINE
        )
        lines = [
            line.strip().split(" #")[0].strip() for block in blocks for line in block.splitlines()
        ]
        found += [match[0] for line in lines if (match := BEGINNING.fullmatch(line))]
    return sorted(set(found))


LINES = printed()


def mentioned() -> set[str]:
    """What the pages call a command within a sentence."""
    return {
        words
        for page in PAGES
        for words in re.findall(r"`(lab [^`]+)`", page.read_text(encoding="utf-8"))
    }


@pytest.fixture(scope="module")
def folder(train_tiny, tmp_path_factory):
    """A folder with all that the lines name: three runs, pictures, vectors and a table."""
    here = tmp_path_factory.mktemp("printed")
    run = train_tiny(here / "runs", "RUN", loss={"name": "contrastive"})
    for name in ("A", "B"):
        shutil.copytree(run.path, here / "runs" / name)
    images = run.dataset()
    for number in range(24):
        place = here / "photos" / f"class{number // 4}" / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        images.load(number).save(place)
    for name in ("a.png", "b.png", "photo.jpg"):
        images.load(3).save(here / name)
    np.save(here / "vectors.npy", np.tile(np.eye(8, dtype=np.float32), (3, 1)))
    np.save(here / "X.npy", np.load(here / "vectors.npy"))
    np.save(here / "y.npy", np.arange(24) // 4)
    (here / "labels.csv").write_text("class\n" + "".join(f"{i // 4}\n" for i in range(24)))
    return here


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Trainings take a step on little, servers are not begun, and what has tests of its own and takes long is left out
    at its very end: the drawing of a figure, the notebooks of a class, the measurements of a benchmark."""
    begin = lab.runs.create
    fast = {
        "training.steps": 1,
        "training.device": "cpu",
        "augmentation.size": 16,
        "encoder.width": 4,
    }

    def create(config, *where):
        for knob, value in (fast | {"evaluation.splits": ("validation",)}).items():
            config = config.changed(knob, value)
        return begin(config, *where)

    monkeypatch.setattr("lab.runs.create", create)
    monkeypatch.setattr("os.execve", lambda *_: None)
    monkeypatch.setattr("lab.doctor.bench.measure", lambda *_: iter(()))
    monkeypatch.setattr("lab.figures.live_page.live_page", lambda *_: "a page")
    monkeypatch.setattr("lab.figures.save_figure", lambda *_: None)
    monkeypatch.setattr("lab.cli._classroom.prepare", lambda *_: [])


@pytest.mark.parametrize("line", [*LINES, "lab train --data digits", "lab train --data letters"])
def test_a_printed_line_runs(line, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = shlex.split(BEGINNING.fullmatch(line)[1])
    if any(line.startswith(beginning) for beginning in PARSED_ONLY):
        assert lab.cli.parse(words)[0] is not None
        return
    if "gallery" in words and "--shards" not in words:  # an earlier line of the page makes it
        for made in ("gallery", "queries"):
            main(["embed", "photos", "--encoder", "RUN", "--shards", made, "-q"])
    if "--index" in words and not Path("RUN-faiss").exists():
        main(["export", "RUN", "--to", "faiss"])
    if "receive" in words:
        words[words.index("ARCHIVE")] = shutil.make_archive("sent", "zip", "runs", "A")
        words += ["--name", "received"]
        shutil.rmtree("runs/received", ignore_errors=True)
    if "--compare" in words:
        main(["doctor", "bench", "--output", words[-1], "-q"])
    if "--unknown" in words:
        main(["threshold", "RUN", "-q"])
    if "--resume" in words:
        lab.runs.create(lab.runs.RunConfig.of({"loss": "contrastive"}), "runs", "begun")
        words[-1] = "begun"
    for made in ("RUN-faiss", "runs/vectors", "runs/X"):  # by another line
        if "--index" not in words:
            shutil.rmtree(made, ignore_errors=True)
    assert main(words) == 0, capsys.readouterr().err


def test_nothing_is_left_out_that_is_not_there():
    idle = [one for one in PARSED_ONLY if not any(line.startswith(one) for line in LINES)]
    assert len(LINES) > 40 and not idle


@pytest.mark.parametrize("words", sorted(mentioned()))
def test_what_a_sentence_calls_a_command_is_one(words):
    rest, path = lab.cli.rearranged(words.split()[1:])
    assert path or rest[0].startswith("--") or rest == ["COMMAND", "--help"]
