"""A guest and the owner at once: every job, every page, every choice and every button, found and not listed."""

from __future__ import annotations

import importlib
import pkgutil
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from torch import nn

import app
import app.views
from app import access
from app.forms import folder_picker
from app.results import cache
from app.shared import background
from app.shared.background import Job
from lab.core import files
from lab.runs import whole_set
from tests import headless

REFUSAL = "Guests may look"
PAGES = [module.name for module in pkgutil.iter_modules(app.views.__path__) if module.ispkg]


def found_jobs() -> dict[str, object]:
    for module in pkgutil.walk_packages(app.__path__, "app."):
        # these draw, or serve, when they load
        if module.name.rpartition(".")[2] not in (
            "page",
            "main",
            "__main__",
        ):
            importlib.import_module(module.name)
    return {f"{one.__module__}.{one.__qualname__}": one for one in background.JOBS}


JOBS = found_jobs()


class Visitors:
    """Whoever asks outside a page is the owner, or a guest while `guest` is set."""

    guest = False


@pytest.fixture
def visitors(monkeypatch):
    found = Visitors()
    monkeypatch.setattr(files, "guest", lambda: getattr(files.thread, "guest", found.guest))
    for job in JOBS.values():
        job.clear()
    yield found
    for job in JOBS.values():
        job.clear()


def value(job: Job) -> object:
    deadline = time.monotonic() + 300
    while not job.over and time.monotonic() < deadline:
        time.sleep(0.005)
    return job.value


@pytest.mark.parametrize("name", JOBS)
def test_what_a_guest_was_refused_is_not_refused_to_the_owner(visitors, monkeypatch, name):
    job, calls = JOBS[name], []

    def work(*_):
        calls.append(files.guest())
        files.check_allowed()
        return "made"

    monkeypatch.setattr(job, "__wrapped__", work)
    visitors.guest = True
    refused = job("these", "arguments")
    assert value(refused) is None and refused.refused, "a page says a sentence instead of an error"
    visitors.guest = False
    assert value(job("these", "arguments")) == "made"
    visitors.guest = True
    assert value(job("these", "arguments")) == "made", "what the owner has made is shown to guests"
    assert calls == [True, False]


@pytest.mark.parametrize("name", JOBS)
def test_what_a_guest_may_see_is_worked_out_once_and_fails_for_guests_alone(
    visitors, monkeypatch, name
):
    job, calls = JOBS[name], []

    def work(*given):
        calls.append(given)
        if files.guest() and given[0] == "bad":
            raise ValueError("not for this visitor")
        return given[0]

    monkeypatch.setattr(job, "__wrapped__", work)
    visitors.guest = True
    assert value(job("good")) == "good"
    with pytest.raises(ValueError, match="not for this visitor"):
        value(job("bad"))
    visitors.guest = False
    assert value(job("good")) == "good" and value(job("bad")) == "bad"
    assert calls == [("good",), ("bad",), ("bad",)]


def test_the_owner_does_not_wait_for_what_guests_have_begun(visitors):
    gate, begun = threading.Event(), threading.Semaphore(0)

    @background.job("Waiting", keep=20)
    def waits(name: str) -> str:
        if files.guest():
            begun.release()
            assert gate.wait(300)
        return name

    try:
        visitors.guest = True
        of_guests = [waits(str(at)) for at in range(6)]
        assert begun.acquire(timeout=300)
        visitors.guest = False
        assert value(waits("0")) == "0" and not any(job.over for job in of_guests)
    finally:
        gate.set()
        background.JOBS.pop()
    assert [value(job) for job in of_guests] == [str(at) for at in range(6)]


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def dashboard(runs, monkeypatch):
    """The dashboard with guests; `open(name, guest, address)` draws a page for one of them."""
    monkeypatch.setattr(access, "_owner", "the owner's cookie")
    monkeypatch.setattr(files, "guest", access.is_guest)
    # the run's own small network is quicker
    monkeypatch.setattr(whole_set, "has_network", lambda: False)
    for job in JOBS.values():
        job.clear()

    def open(name: str, guest: bool, **address):
        test = headless.session(name, 300, **address)
        test.session_state[access._GUEST] = guest
        return test.run()

    yield open
    for job in JOBS.values():
        job.clear()


@pytest.fixture
def refused_work(monkeypatch) -> list[str]:
    """Names of jobs that were refused to a guest after they had run a network or called another machine."""
    calls, found, run, call, connect = (
        Counter(),
        [],
        Job._run,
        nn.Module.__call__,
        socket.socket.connect,
    )

    def counted(self, *given, **more):
        calls[threading.get_ident()] += 1
        return call(self, *given, **more)

    def connected(self, *given):
        calls[threading.get_ident()] += 1
        return connect(self, *given)

    def followed(self, work):
        calls.pop(threading.get_ident(), None)
        run(self, work)
        if self.refused and calls[threading.get_ident()]:
            found.append(self.words)

    monkeypatch.setattr(nn.Module, "__call__", counted)
    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(Job, "_run", followed)
    return found


def content(root: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "lock" not in path.name
    }


def words(test) -> str:
    kinds = (
        "error",
        "warning",
        "info",
        "success",
        "caption",
        "text",
        "markdown",
        "toast",
        "exception",
    )
    return "\n".join(
        str(getattr(one, "value", "")) for kind in kinds for one in getattr(test, kind)
    )


def choices(test) -> list[tuple[str, object]]:
    """Every answer of every short choice of a page but the one that it stands at: its key, and the answer's place."""
    kinds = [
        one
        for kind in ("radio", "button_group")
        for one in getattr(test, kind)
        if one.key and not one.disabled
    ]
    return [
        (one.key, at) for one in kinds if len(one.options) <= 8 for at in range(len(one.options))
    ]


def answer(test, key: str, at: int):
    """Choose an answer by its place, as the browser tells it: by the words that are drawn."""
    widget = next(
        (
            one
            for kind in ("radio", "button_group")
            for one in getattr(test, kind)
            if one.key == key
        ),
        None,
    )
    if widget is None or at >= len(widget.options):
        return test
    states = test._tree.get_widget_states()
    state = next(one for one in states.widgets if one.id == widget.id)
    if widget.type == "radio":
        state.string_value = widget.options[at]
    else:
        state.string_array_value.data[:] = [widget.options[at]]
    return test._run(states)


@pytest.mark.parametrize("name", PAGES)
def test_a_guest_spoils_no_page_for_the_owner(dashboard, runs, refused_work, no_worker, name):
    before, guest = content(runs), dashboard(name, True)
    views = [guest]
    for key, at in choices(guest):
        views.append(answer(dashboard(name, True), key, at))
    for test in views:
        assert not test.exception and REFUSAL not in words(test), words(test)
    for at in range(len(guest.button)):
        test = dashboard(name, True)
        if at < len(test.button) and not test.button[at].disabled:
            assert not test.button[at].click().run().exception
    assert content(runs) == before, "a guest changes nothing"
    assert not refused_work, "the right to write is asked first"
    owner = dashboard(name, False)
    for key, at in choices(owner):
        test = answer(dashboard(name, False), key, at)
        assert (
            not test.exception
            and REFUSAL not in words(test)
            and background.LATER not in words(test)
        ), words(test)


def test_the_guest_sees_a_sentence_until_the_owner_has_looked(dashboard, runs):
    address = {"run": "recall", "show": "labels"}
    guest = dashboard("check", True, **address)
    assert not guest.error and background.LATER in words(guest)
    assert not list((runs / ".features").glob("*"))
    owner = dashboard("check", False, **address)
    assert background.LATER not in words(owner) and REFUSAL not in words(owner)
    assert list((runs / ".features").glob("*"))
    assert background.LATER not in words(guest.run()) and "Guests" not in words(guest)
    cache.features.clear()  # as after another start of the dashboard: a guest reads what is on disk
    assert background.LATER not in words(dashboard("check", True, **address))


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("train", {"images": "folder"}),
        ("train", {"images": "folder", "folder": "HOME/photos"}),
        ("train", {"images": "zip"}),
        ("train", {"images": "recipe", "images-at": "HOME/photos"}),
        ("runs", {"bring": "yes", "folder": "HOME/photos"}),
    ],
)
def test_a_guest_sees_no_folder_of_the_owner(
    dashboard, tmp_path, monkeypatch, pictures, name, address
):
    home = tmp_path / "home"
    (home / "letters-to-lawyer").mkdir(parents=True)
    (home / "photos").symlink_to(pictures)
    monkeypatch.setenv("LAB_DATA", str(home))
    monkeypatch.chdir(tmp_path)
    address = {key: one.replace("HOME", str(home)) for key, one in address.items()}
    test = dashboard(name, True, **address)
    assert not test.exception
    drawn = [
        one.proto
        for kind in ("selectbox", "text_input", "bidi_component", "file_uploader")
        for one in test.get(kind)
    ]
    told = f"{words(test)} {drawn}"
    assert "letters-to-lawyer" not in told and "class00" not in told
    if address.get("images") != "recipe":
        assert folder_picker.OWNER_ONLY in words(test)
    assert folder_picker.OWNER_ONLY not in words(dashboard(name, False, **address))
