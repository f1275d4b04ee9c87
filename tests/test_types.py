"""Types: mypy finds nothing to say, and an editor knows the parts of `lab` and what their catalogues make."""

import os
import pkgutil
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import lab

ROOT = Path(__file__).parent.parent

WHAT_AN_EDITOR_KNOWS = """
import lab
from lab.losses import SmoothAP

reveal_type(lab.losses.create("smooth_ap", tau=0.02))
reveal_type(lab.losses.names())
reveal_type(lab.metrics.create("map_at_r"))
reveal_type(lab.runs.open("a run").scores)
reveal_type(SmoothAP(tau=0.02, variant="released").tau)
lab.wrappers.SiMix(lab.losses.SmoothAP(), seed=3)
lab.search.Exact(k=3, device="cpu")
lab.encoders.SmallCNN(dim=None)
lab.metrics.RecallAtK(k=(1, 5))
SmoothAP(tua=1)  # wrong
SmoothAP(tau="x")  # wrong
lab.losses.ArcFace(num_classes=3)  # wrong
lab.losses.Roadmap(tua=1)  # wrong
lab.samplers.MPerClass(batch_size="x")  # wrong
lab.reranking.Contextual(q=1)  # wrong
lab.wrappers.SiMix()  # wrong
lab.losses.SmoothApp()  # wrong
"""


def test_the_library_is_sound_and_a_script_completes_and_fails_where_it_should(tmp_path):
    """One call for all, which reads everything once, and keeps what it read for the next time and for `make lint`."""
    (tmp_path / "an_editor.py").write_text(WHAT_AN_EDITOR_KNOWS)
    command = [sys.executable, "-m", "mypy", "-p", "lab", "-p", "app", "-m", "an_editor"]
    asked = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    told = asked.stdout + asked.stderr
    wrong = [
        n for n, line in enumerate(WHAT_AN_EDITOR_KNOWS.split("\n"), 1) if line.endswith("# wrong")
    ]
    assert [int(n) for n in re.findall(r"an_editor\.py:(\d+): error", told)] == wrong, told
    assert f"Found {len(wrong)} errors in 1 file" in told, told
    kinds = re.findall(r'Revealed type is "(.*)"', told)
    expected = (
        r"lab\..*\.Loss",
        r"tuple\[.*str, \.\.\.\]",
        r"lab\..*\.Metric",
        r"def \(.*dict\[.*str, Any\].*",
        "float",
    )
    assert len(kinds) == len(expected) and all(map(re.fullmatch, expected, kinds)), told


def test_type_checkers_see_every_room():
    parts = {
        module.name
        for module in pkgutil.iter_modules(lab.__path__)
        if not module.name.startswith("_")
    }
    assert parts - set(dir(lab)) == {"cli"}, "lab/__init__.pyi lists each part of the library"
    assert (ROOT / "lab" / "py.typed").is_file()


def test_an_editable_installation_is_a_path_to_lab_alone(tmp_path):
    """A path, which type checkers follow as they follow no import hook; so types hold outside the checkout, too."""
    build = "import sys, setuptools.build_meta as b; b.build_editable(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (path,) = (
            packed.read(name).decode().strip()
            for name in packed.namelist()
            if name.endswith(".pth")
        )
    assert os.listdir(path) == ["lab"] and Path(path, "lab").samefile(ROOT / "lab")
