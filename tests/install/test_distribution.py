"""Wheel and source distribution hold what is tracked, and what was installed from them works as the checkout does.

The wheel is built from the unpacked source distribution, as pip does it, and installed into an environment in which
nothing else of Rankscope lies; its libraries are those of the environment that runs the tests. No network is needed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from test_children import NAMES, TRAP, caught

from tests.dashboards import free_port

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

TRACKED = (
    subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True
    ).stdout.splitlines()
    if (ROOT / ".git").exists()
    else []
)

BUILD = "import sys; import setuptools.build_meta as build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def built(kind: str, source: Path, target: Path) -> Path:
    """What setuptools builds of a folder, as a build front end would let it."""
    words = [sys.executable, "-c", BUILD, f"build_{kind}", str(target)]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return target / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """The source distribution of the tracked files alone, as they are on disk."""
    if not TRACKED:
        pytest.skip("no repository to compare with")
    folder = tmp_path_factory.mktemp("checkout")
    for name in filter(lambda name: (ROOT / name).is_file(), TRACKED):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return built("sdist", folder, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory) -> Path:
    return built("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_source_distribution_is_what_is_tracked(unpacked):
    made = {"PKG-INFO", "setup.cfg"}
    found = {
        n: c
        for n, c in contents(unpacked).items()
        if n not in made and not n.startswith("rankscope.egg-info")
    }
    assert sorted(found) == sorted(TRACKED)
    assert not [name for name, content in found.items() if content != (ROOT / name).read_bytes()]


def test_the_wheel_is_the_package_with_its_tutorials_documents_and_dashboard(wheel):
    inside = {name: name for name in TRACKED if name.startswith("lab/")}
    inside |= {
        f"lab/_shipped/{name}": name
        for name in TRACKED
        if re.fullmatch(r"notebooks/.*\..*|docs/[^/]*\.md|app/.*", name)
    }
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert sorted(found) == sorted(inside)
        assert not [
            name
            for name, source in inside.items()
            if archive.read(name) != (ROOT / source).read_bytes()
        ]
    assert wheel.stat().st_size < 21.5e6  # 5 of them are the example runs


def test_what_it_says_of_itself(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(archive.read(name).decode())
    assert (
        about["Name"] == "rankscope"
        and about["Author"]
        and about["Keywords"]
        and about.get_all("Classifier")
    )
    assert len(about.get_all("Project-URL")) >= 4
    page = about.get_payload()
    assert "## Two commands, from a checkout" in page and "CONTRIBUTING.md" in page
    targets = re.findall(r"\]\(([^)]*)\)", page)
    assert not [target for target in targets if not target.startswith(("https://", "#"))], (
        "a link that leads nowhere"
    )


# ---------------------------------------------------------------------------------------------- installed


class Installed:
    """The command `lab` of an environment of its own; `run` gives what it prints, `serve` lets it go on."""

    def __init__(self, folder: Path):
        self.bin = folder / "bin"
        away = {"PYTHONPATH", "LAB_RUNS", "VIRTUAL_ENV"}
        own = {name: value for name, value in os.environ.items() if name not in away}
        # The plain kernels: the compiled ones would be compiled anew.
        self.variables = own | {
            "LAB_KERNELS": "plain",
            "OMP_NUM_THREADS": "1",
            "HOME": str(folder),
            "JUPYTER_TOKEN": "t",
        }

    def run(self, where: Path, *words) -> str:
        command = [self.bin / "lab", *map(str, words)]
        done = subprocess.run(
            command, cwd=where, env=self.variables, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{words}\n{done.stderr[-3000:]}"
        return done.stdout

    def serve(self, where: Path, *words) -> subprocess.Popen:
        with open(where / "server.log", "wb") as log:
            command = [self.bin / "lab", *map(str, words)]
            return subprocess.Popen(
                command,
                cwd=where,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Installed:
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    where = next((folder / "lib").glob("python*")) / "site-packages"
    (where / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = str(folder / "bin" / "python")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
    ]
    # What others installed is not looked at: an editable Rankscope among the libraries would count as installed.
    subprocess.run([*pip, "--ignore-installed", "--quiet", wheel], check=True)
    made = Installed(folder)
    look = [python, "-P", "-c", "import lab; print(lab.__file__)"]
    said = subprocess.run(look, env=made.variables, capture_output=True, text=True)
    assert Path(said.stdout.strip()).is_relative_to(where), said
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The folder in which the commands are given: it holds modules that have names of ours, and another application's
    configuration. The demo of `runs` is given in an empty one."""
    folder = tmp_path_factory.mktemp("occupied")
    for name in (*NAMES, "jupyterlab.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TRAP)
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(
        "[browser]\ngatherUsageStats = true\n[theme]\nbaseRadius = 'none'\n"
    )
    return folder


@pytest.fixture(scope="module")
def runs(installed, tmp_path_factory) -> Path:
    """The runs of a short demo."""
    folder = tmp_path_factory.mktemp("demo")
    rows = json.loads(installed.run(folder, "demo", "--steps", 2, "--no-serve", "--json"))
    assert [row["model"] for row in rows] == ["raw pixels", "cross-entropy", "recall@k with SiMix"]
    return folder / "runs"


def test_a_run_says_nothing_of_a_revision(runs):
    about = json.loads((runs / "demo-cross_entropy" / "meta.json").read_text())
    assert about["git"] is None and about["versions"]["rankscope"]


def test_a_picture_is_searched(installed, place, runs):
    from PIL import Image

    Image.new("RGB", (32, 32), "yellow").save(place / "mine.png")
    wanted = ("demo-cross_entropy", "mine.png", "--runs", runs, "--k", 3, "--json")
    rows = json.loads(installed.run(place, "query", *wanted))
    assert [row["rank"] for row in rows] == [1, 2, 3] and not caught(place)


def test_figures_are_written_here(installed, place):
    saved = installed.run(place, "papers", "figure", "precision_counter", "--save", "figure.html")
    assert saved.strip() == "figure.html"
    assert "<script src=" not in (place / "figure.html").read_text(encoding="utf-8")
    assert not caught(place)


def answer(url: str, process: subprocess.Popen, log: Path) -> bytes:
    """What the server says, once it does."""
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=10) as said:
                return said.read()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))


def ended(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_the_tutorials_open(installed, place):
    port = free_port()
    process = installed.serve(place, "learn", "--port", port, "--no-browser")
    try:
        address = f"http://127.0.0.1:{port}/api/contents/?token=t"
        listed = json.loads(answer(address, process, place / "server.log"))["content"]
    finally:
        ended(process)
    originals = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {entry["name"] for entry in listed} == {
        *originals,
        "whole_lab.py",
        "docs",
    } and not caught(place)


def test_the_dashboard_is_ours(installed, place, runs):
    """It answers, and its first page is told what our configuration says: no usage statistics, our colours."""
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.sync.client import connect

    port = free_port()
    process = installed.serve(place, "app", "--runs", runs, "--port", port, "--no-token")
    try:
        answer(f"http://127.0.0.1:{port}/_stcore/health", process, place / "server.log")
        assert b"<title>" in answer(f"http://127.0.0.1:{port}/", process, place / "server.log")
        with connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"]) as line:
            line.send(BackMsg(rerun_script={}).SerializeToString())
            messages = (ForwardMsg.FromString(line.recv(timeout=300)) for _ in range(100))
            session = next(m.new_session for m in messages if m.WhichOneof("type") == "new_session")
    finally:
        ended(process)
    log = (place / "server.log").read_text(encoding="utf-8")
    assert "Rankscope: http://" in log and "sage statistics" not in log
    assert not session.config.gather_usage_stats and session.custom_theme.base_radius == "0.4rem"
    # A browser that forgets what the server believes it to have hangs up for ever.
    assert session.config.max_cached_message_age == 20
    assert not caught(place)
