"""Real runs, small enough to train in seconds, and a way to read and click the gallery without a browser."""

from __future__ import annotations

import json
import pkgutil
import shutil
from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from app.shared import changes
from lab.launchers.background.queue import Queue
from tests import headless


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """Pages wait for what they have begun, so that one look shows the result; tests of the waiting set `SOON` back."""
    monkeypatch.setattr("app.shared.background.SOON", 300.0)


@pytest.fixture(scope="session")
def trained(tmp_path_factory, train_tiny) -> Path:
    """A folder of two finished runs, `recall` and `smooth`. Do not write into it."""
    root = tmp_path_factory.mktemp("trained")
    train_tiny(root, "recall", loss="recall_at_k")
    train_tiny(root, "smooth", loss="smooth_ap")
    return root


@pytest.fixture
def runs(trained, tmp_path, monkeypatch) -> Path:
    """A copy of the trained runs that a test may spoil; the dashboard looks here."""
    root = shutil.copytree(trained, tmp_path / "runs")
    monkeypatch.setenv("LAB_RUNS", str(root))
    return root


@pytest.fixture
def no_runs(tmp_path, monkeypatch) -> Path:
    """An empty folder where the dashboard looks."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_worker(monkeypatch):
    """Let nothing start: the queue only holds."""
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)


class Page:
    """One page in a headless session."""

    def __init__(self, page: str = "browse", /, **address):
        self.name = page
        self.test = headless.session(page, 300, **address)
        self.test.run()

    def run(self) -> Page:
        self.test.run()
        return self

    def again(self) -> Page:
        """The address of this page in a fresh tab."""
        return Page(self.name, **self.test.query_params)

    def gallery(self, key: str) -> dict:
        """What a gallery on the page was given to draw."""
        found = [e for e in self.test.get("bidi_component") if e.key == key]
        assert len(found) == 1, f"{len(found)} galleries {key!r}; the page says {self.words()}"
        return json.loads(found[0].proto.json)

    def section(self, key: str, section: str) -> dict:
        return next(s for s in self.gallery(key)["sections"] if s["id"] == section)

    def pick(self, key: str, section: str, card: int) -> Page:
        """Click a card, as the browser tells the server."""
        return self.tell(key, "picked", {"section": section, "id": card})

    def tell(self, key: str, event: str, value: dict) -> Page:
        """Let one of our components report an event, as the browser does."""
        element = next(e for e in self.test.get("bidi_component") if e.key == key)
        states, told = (
            self.test._tree.get_widget_states(),
            json.dumps([{"event": event, "value": value}]),
        )
        trigger = f"$$STREAMLIT_INTERNAL_KEY_{element.proto.id}__events"
        states.widgets.append(WidgetState(id=trigger, json_trigger_value=told))
        self.test._run(states)
        return self

    def followed(self, key: str) -> dict:
        """What a part of the page follows, by the number and the version that the browser was given."""
        (found,) = (e for e in self.test.get("bidi_component") if e.key == key)
        return json.loads(found.proto.json)

    def changed(self, followed: dict) -> bool:
        """Whether the server, when it looks now, finds another version of what is followed."""
        number = followed["number"]
        return changes.REGISTER.versions({number}).get(number) != followed["version"]

    def words(self) -> str:
        """Every message on the page."""
        kinds = (
            "error",
            "warning",
            "info",
            "success",
            "caption",
            "text",
            "code",
            "markdown",
            "exception",
        )
        return "\n".join(
            str(getattr(e, "value", None) or getattr(e, "message", ""))
            for k in kinds
            for e in getattr(self.test, k)
        )

    @property
    def calm(self) -> bool:
        """No traceback and no error on the page."""
        return not self.test.exception and not self.test.error


@pytest.fixture
def open_page():
    return Page


@pytest.fixture
def count_calls(monkeypatch):
    """Functions named by their path note every call, with its arguments, in the list that comes back."""

    def count(*names: str) -> list[tuple]:
        calls = []
        for name in names:
            true = pkgutil.resolve_name(name)

            def noted(*given, _true=true, _name=name, **more):
                calls.append((_name, *given))
                return _true(*given, **more)

            monkeypatch.setattr(name, noted)
        return calls

    return count
