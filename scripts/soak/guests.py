"""Two guests and the owner on one dashboard: nobody sees or changes what is not theirs, and the server keeps answering.

    python scripts/soak/guests.py --seconds 300

The guests press every button, type hostile words, send files that are no images, ask for paths outside the pages and
use the protocol as no browser would. Whatever a guest types or uploads holds a word that only this guest knows, and
whatever is the owner's alone holds another; the campaign fails if one of them is found where it may not be.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import random
import re
import secrets
import shutil
import tempfile
import threading
import time
import traceback
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import common  # first of all, since it chooses kernels
import psutil
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed

import lab.runs
from app import access
from lab.launchers.background import detached
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig, management
from lab.runs.check import check
from tests.dashboards import Server
from tests.data.test_images import bomb
from tests.visitors import Visitor, told

APP = Path(access.__file__).parent
PAGES = sorted(page.parent.name for page in APP.glob("views/*/page.py"))
SOURCES = "\n".join(path.read_text("utf-8") for path in APP.rglob("*.py"))
NAMES = sorted({"run", *re.findall(r'(?:link=|adopt\(|tell\()"([a-z-]+)"', SOURCES)})
"""What the address of some page may hold."""
EVENTS = sorted(set(re.findall(r"on_([a-z]+)_change=", SOURCES)))
"""What our components report."""

REFUSAL, NOT_YET = b"Guests may look", b"once the owner has opened this page"
NEVER = (
    b"Traceback (most recent call last)",
    b"site-packages",
    b"error it did not expect",
    b'File "/',
    b"root:x:0:",
)
"""What nobody may read on a page."""
REFUSALS = 400, 401, 403, 404, 405, 413
MOST_TOLD = 20
"""Failures that are printed."""


class Record:
    """What was tried, and what went wrong; several threads write it."""

    def __init__(self) -> None:
        self.tried, self.failures, self.seconds = Counter[str](), dict[str, str](), list[float]()
        self._lock = threading.Lock()

    def count(self, what: str) -> None:
        with self._lock:
            self.tried[what] += 1

    def fail(self, sentence: str, detail: str = "") -> None:
        with self._lock:
            self.failures.setdefault(sentence, detail[:1_500])


class Scene:
    """A folder with the owner's home, runs and secrets, and the dashboard that is served from it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="soak-guests-"))
        self.home, self.runs = self.folder / "home", self.folder / "runs"
        self.secrets = {
            what: f"{what}-{secrets.token_hex(8)}" for what in ("letter", "face", "note", "upload")
        }
        self.markers = [f"guest{number}x{secrets.token_hex(8)}" for number in (1, 2)]
        self._write_home()
        # Before the runs: the key that signs what the owner writes lies in the home.
        os.environ |= {"HOME": str(self.home), access.GUESTS: secrets.token_urlsafe(24)}
        self._make_runs()
        self.guest_token = os.environ[access.GUESTS]
        self.server = Server(self.runs, self.folder, secrets.token_urlsafe(24), "--guests").wait()
        self.owner, self.guest = self.server.cookie(), self.server.cookie(self.guest_token)
        self.before = self.content()

    def _write_home(self) -> None:
        """Pictures of the owner that no run is trained on, and a text."""
        private = self.home / self.secrets["letter"] / self.secrets["face"]
        private.mkdir(parents=True)
        for at in range(3):
            Image.new("RGB", (32, 32), (200, 10 * at, 0)).save(private / f"{at}.png")
        (private / "note.txt").write_text(self.secrets["note"])

    def _make_runs(self) -> None:
        """Two finished runs, one at work, two that wait in a queue that is paused, and one in the trash."""
        config = RunConfig.of(common.configuration(common.pictures(self.home / "pictures")))
        for name in ("first", "second"):
            run = lab.runs.create(config, self.runs, name)
            assert common.in_child(lambda run=run: common.train(run)) == 0
        for name in ("waiting", "next", "thrown"):
            lab.runs.create(config, self.runs, name)
        management.trash(lab.runs.open("thrown", self.runs))
        self.queue = Queue(self.runs)
        self.queue.pause()
        for name in ("waiting", "next"):
            self.queue.add(lab.runs.open(name, self.runs))
        self.at_work = lab.runs.create(
            config.changed("training.steps", 1_000_000), self.runs, "working"
        )
        self.process = psutil.Process(detached.launch(self.at_work).pid)
        self.process.nice(19)

    def content(self) -> dict[str, bytes]:
        """Every file that must stay: of the home, of the finished and waiting runs, of the trash, and the queue."""
        places = [
            self.home / self.secrets["letter"],
            self.home / "pictures",
            self.runs / management.TRASH,
        ]
        places += [self.runs / name for name in ("first", "second", "waiting", "next")]
        files = [
            file
            for place in places
            for file in place.rglob("*")
            if file.is_file() and file.name != ".lock"
        ]
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in files}

    def close(self) -> None:
        detached.kill(self.at_work)
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Guest:
    """One of the guests, until the time is over. marker: a word in all that this guest brings."""

    def __init__(self, scene: Scene, record: Record, number: int, seed: int, buttons: set[str]):
        self.scene, self.record, self.name = scene, record, f"guest {number}"
        self.marker, self.chance, self.buttons = (
            scene.markers[number - 1],
            random.Random(f"{seed} {number}"),
            buttons,
        )
        others = [marker for marker in scene.markers if marker != self.marker]
        cookie = scene.owner.partition("=")[2]
        self.hidden = [
            word.encode() for word in (*scene.secrets.values(), *others, scene.server.token, cookie)
        ]
        self.doing = ""

    def hear(self, data: bytes) -> None:
        for word in (*self.hidden, *NEVER):
            if word in data:
                at = data.index(word)
                told = repr(data[max(0, at - 300) : at + 300])
                self.record.fail(
                    f"{self.name} was sent {word.decode()!r} by {self.doing.split(' ')[0]}", told
                )

    def visit(self, deadline: float) -> None:
        """Open tabs, one after the other."""
        while time.monotonic() < deadline:
            try:
                with Visitor(self.scene.server, self.scene.guest, self.hear) as tab:
                    for _ in range(self.chance.randrange(1, 6)):
                        self.look(tab, deadline)
            except ConnectionClosed:
                self.record.count("connections that the server closed")

    def look(self, tab: Visitor, deadline: float) -> None:
        """Open a page by an odd address, and do some odd things there."""
        page, chance = self.chance.choice(PAGES), self.chance
        address = {name: self.word() for name in chance.sample(NAMES, chance.randrange(4))}
        if chance.random() < 0.6:
            name = chance.choice(["first", "second", "working", "waiting"])
            address |= {"run": name, "runs": name}
        self.doing = f"{page} {address}"
        tab.open(page, **address)
        self.check(tab, "page loads by guests")
        for _ in range(chance.randrange(1, 6)):
            if time.monotonic() < deadline:
                act = chance.choices([self.press, self.bring, self.ask, self.abuse], [8, 2, 2, 1])[
                    0
                ]
                act(tab)

    def check(self, tab: Visitor, what: str) -> None:
        self.record.count(what)
        for error in tab.errors:
            trace = "\n".join(error.stack_trace)
            self.record.fail(
                f"an exception reached a guest on {tab.page}: {error.type} {error.message}",
                self.doing,
            )
            if trace:
                self.record.fail(f"a traceback reached a guest on {tab.page}", trace)

    def word(self) -> str:
        """What no person would type."""
        mark, home = self.marker, str(self.scene.home)
        return self.chance.choice([
            f"../../{mark}", f"/etc/passwd{mark}", "/etc/passwd", home, f"{home}/.ssh/{mark}", f"file:///{mark}",
            f"http://127.0.0.1:9/{mark}", f"s3://{mark}/x", f"<script>alert('{mark}')</script>", f"{mark}:main",
            f"**{mark}** [x](http://x)", f"$(touch {mark})", f"`touch {mark}`; rm -rf .", f"'; DROP TABLE {mark}; --",
            f"{{{{{mark}}}}}", f"%s%n{mark}", f"{mark}.pt2", f"\u202e{mark}\x1b[31m", mark * 40, f"{mark}\x00", "-1",
            "NaN", "9" * 400, "", "first", "second", "working", "waiting", "yes", "test", "0", "1", f"r@1>{mark}", "[]",
            f"[link](javascript:{mark})", f"con/{mark}", f"~/{mark}", f"\\\\host\\{mark}", "runs.gift.evil:go",
            "os:abort", "💥" * 50,
        ])  # fmt: skip

    def press(self, tab: Visitor) -> None:
        """Answer some widgets, those that are disabled too, and at times one that only the owner's page has drawn."""
        drawn = list(tab.widgets.items())
        chosen = self.chance.sample(drawn, min(len(drawn), self.chance.randrange(1, 7)))
        if self.chance.random() < 0.5:  # what a form needs: all that can be typed, and one button
            buttons = [one for one in drawn if one[1][0] == "button"]
            chosen = [one for one in drawn if one[1][0] in ("text_input", "text_area")]
            chosen += self.chance.sample(buttons, min(len(buttons), 1))
        states = [
            state
            for name, (kind, one) in chosen
            if (state := self.state(name, kind, one)) is not None
        ]
        if self.buttons and self.chance.random() < 0.2:
            states.append(
                WidgetState(id=self.chance.choice(sorted(self.buttons)), trigger_value=True)
            )
            tab.widgets.setdefault(states[-1].id, ("button", None))
        self.doing = f"{tab.page} {tab.query} {states}"
        tab.answer(*states)
        self.check(tab, "answers of widgets by guests")

    def state(self, name: str, kind: str, one: Any) -> WidgetState | None:
        """An answer of the kind that the widget has, mostly; its value may be anything."""
        chance, state = self.chance, WidgetState(id=name)
        options = [*getattr(one, "options", ())]
        words = [getattr(option, "content", option) for option in options]
        word = chance.choice(words) if words and chance.random() < 0.7 else self.word()
        number = chance.choice([0, 1, -1, 2, 0.5, 10**9, -(10**9), float("nan"), float("inf")])
        if kind in ("button", "download_button"):
            state.trigger_value = True
        elif kind in ("text_input", "text_area", "selectbox", "radio"):
            state.string_value = str(word)
        elif kind in ("button_group", "multiselect"):
            state.string_array_value.data[:] = [str(word)]
        elif kind == "checkbox":
            state.bool_value = chance.random() < 0.5
        elif kind == "slider" and words:
            state.string_array_value.data[:] = [str(word)]
        elif kind == "slider":
            state.double_array_value.data[:] = [number]
        elif kind == "number_input":
            state.double_value = number
        elif kind == "pagination":
            state.int_value = chance.choice([0, 1, 2, -1, 10**9])
        elif kind == "dataframe":
            rows = [chance.choice([0, 1, 3, -1, 10**9])]
            state.string_value = json.dumps(
                {"selection": {"rows": rows, "columns": [], "cells": []}}
            )
        elif kind == "bidi_component":
            if chance.random() < 0.15:
                return told(name, chance.choice(EVENTS), self.malformed())
            reports = self.reports(one)
            return told(name, *chance.choice(reports)) if reports else None
        else:
            return None
        return state

    def reports(self, one: Any) -> list[tuple[str, Any]]:
        """What a component of ours may report: of cards and points that are drawn, and of some that are not."""
        chance, word = self.chance, self.word()
        sections = json.loads(one.json or "{}").get("sections") or [{"id": "none", "cards": []}]
        section = chance.choice(sections)
        cards = [card["id"] for card in section["cards"]]
        number = chance.choice([0, 1, 5, -1, 10**9, *cards])
        does = chance.choice(["keep", "relabel", "drop", "duplicate", "undo"])
        entry = {
            "n": int(time.monotonic() * 1e3),
            "at": number,
            "does": does,
            "ids": cards[:3],
            "label": word,
        }
        judged = [("told", {"log": [entry]}), ("chosen", {"ids": cards[:3], "count": 1})]
        known = {
            "gallery": [("picked", {"section": section["id"], "id": number}), *judged],
            "scatter": [
                ("picked", {"id": number}),
                ("lassoed", {"ids": [0, number]}),
                ("lassoed", {"bits": "/w=="}),
            ],
            "matrix": [("picked", {"row": 0, "column": number})],
            "crop": [("drawn", {"box": [0.1, 0.1, 0.6, 0.7]})],
            "keys": [("asked", {"words": word})],
            "threshold": [("moved", {"value": 0.5})],
        }
        return next((reports for name, reports in known.items() if name in one.component_name), [])

    def malformed(self) -> Any:
        """What no component of ours reports."""
        chance = self.chance
        number, word = chance.choice([0, 1, 5, -1, 10**30, 0.5, None, "0"]), self.word()
        entry = {
            "n": 10**6,
            "at": number,
            "does": chance.choice(["drop", "move", "undo", word]),
            "ids": [number],
            "label": word,
        }
        return chance.choice([
            {"section": word, "id": number}, {"id": number}, {"ids": [0, number, word], "count": 3}, {"log": [entry]},
            {"log": [{}]}, {"log": word}, {"box": [0, 0, 1, 1]}, {"box": [number] * 4}, {"box": word}, {"words": word},
            {"values": {word: number}, "count": number}, {"values": [], "count": 1}, {"at": word},
            {"threshold": number}, {}, [], word, number, {"row": number, "column": number}, {"keys": [word]},
        ])  # fmt: skip

    def bring(self, tab: Visitor) -> None:
        """Upload something, where the page has a place for it and where it has none."""
        name, content = self.file()
        self.doing = f"{tab.page} upload of {name!r}"
        place = tab.find("file_uploader")
        status = tab.upload(place.id if place else "none", name, content)
        self.record.count("uploads by guests")
        if status != 204 and status not in REFUSALS:
            self.record.fail(f"an upload was answered with {status}", self.doing)
        if len(content) > 27 * 2**20 and status != 413:
            self.record.fail(
                f"a guest's upload of {len(content):,} bytes was answered with {status}"
            )
        self.check(tab, "answers of widgets by guests")

    def file(self) -> tuple[str, bytes]:
        """Name and content of what is uploaded."""
        mark, chance = self.marker, self.chance
        note = PngInfo()
        note.add_text("Comment", mark)
        Image.new("RGB", (40, 40), "teal").save(picture := io.BytesIO(), "PNG", pnginfo=note)
        with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
            archive.writestr(f"{mark}/1.png", picture.getvalue())
            archive.writestr(f"../../{mark}.png", picture.getvalue())
        program = f"import os; open('{mark}', 'w')".encode()
        contents = [
            picture.getvalue(),
            packed.getvalue(),
            program,
            b"",
            mark.encode(),
            bomb(32_000, 32_000),
        ]
        contents += [
            b"%!PS\n" + mark.encode(),
            b"<svg onload=alert(1)>" + mark.encode(),
            picture.getvalue()[:60],
        ]
        if chance.random() < 0.1:
            contents = [mark.encode() + bytes(30 * 2**20)]
        names = [
            f"{mark}.png",
            f"../../{mark}.png",
            f"<img src=x onerror=alert(1)>{mark}.jpg",
            f"{mark}.zip",
            "x" * 300,
        ]
        names += [
            f"{mark}.py",
            f"{mark}\r\nX-Evil: 1.png",
            f'"{mark}".png',
            f"/etc/{mark}.png",
            "💥.png",
            "",
        ]
        return chance.choice(names), chance.choice(contents)

    def ask(self, tab: Visitor) -> None:
        """Ask for what no page leads to, by every method."""
        word = quote(self.word(), safe="/.%")
        run = base64.urlsafe_b64encode(
            self.chance.choice(["first", "../home", self.word()]).encode()
        ).decode()
        deep, item = "..%2f" * 6, self.chance.choice(["0", "-1", "nan", "9" * 30])
        path = self.chance.choice([
            f"/media/{deep}etc/passwd", f"/rankscope/pictures/{run}/1.0/{item}", f"/rankscope/columns/{word}.f4",
            f"/rankscope/code/x/{deep}app%2faccess.py", f"/rankscope/playground/{word}",
            f"/_stcore/upload_file/{uuid.uuid4()}/{uuid.uuid4()}", "/_stcore/metrics", "/_stcore/host-config",
            f"/app/static/{deep}etc/passwd", f"/component/x/{deep}etc/passwd", f"/static/{deep}etc/passwd", f"/{word}",
            f"/_stcore/bidi-components/{deep}etc/passwd", f"/_stcore/script-health-check/{word}", f"/?token={word}",
        ])  # fmt: skip
        method = self.chance.choice(
            ["GET", "GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]
        )
        self.doing = f"request {method} {path}"
        done = tab.ask(path, method, self.marker.encode() if method in ("POST", "PUT") else b"")
        self.record.count("requests by guests")
        if done.status >= 500:
            self.record.fail(
                f"{method} {path.rpartition('/')[0]} was answered with {done.status}",
                str(done.words),
            )

    def abuse(self, tab: Visitor) -> None:
        """Use the protocol as the browser does not."""
        messages: list[Callable[[], object]] = [
            lambda: tab.send(clear_cache=True),
            lambda: tab.send(debug_shutdown_runtime=True),
            lambda: tab.send(set_run_on_save=True),
            lambda: tab.send(load_git_info=True),
            lambda: tab.send(stop_script=True),
            lambda: tab.send(
                file_urls_request={
                    "request_id": "1",
                    "file_names": [self.word()],
                    "session_id": "x",
                }
            ),
            lambda: tab.send(
                rerun_script={
                    "page_name": self.word(),
                    "query_string": "&&=;%",
                    "fragment_id": self.word(),
                }
            ),
            lambda: tab.send_bytes(self.marker.encode() + bytes(100)),
        ]
        at = self.chance.randrange(len(messages))
        self.doing = f"{tab.page} message {at}"
        messages[at]()
        self.record.count("odd messages by guests")
        tab.open(self.chance.choice(PAGES))
        self.check(tab, "page loads by guests")


class Owner:
    """The owner looks at every page in turn, writes a note and brings images. note: the last that was saved."""

    def __init__(self, scene: Scene, record: Record, buttons: set[str]):
        self.scene, self.record, self.buttons = scene, record, buttons
        self.note, self.brought, self.page = "", 0, ""

    def hear(self, data: bytes) -> None:
        for word in (*(marker.encode() for marker in self.scene.markers), *NEVER, REFUSAL, NOT_YET):
            if word in data:
                at = data.index(word)
                told = repr(data[max(0, at - 300) : at + 300])
                self.record.fail(f"the owner was sent {word.decode()!r} on {self.page}", told)

    def visit(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            with Visitor(self.scene.server, self.scene.owner, self.hear) as tab:
                for page in PAGES:
                    for name in ("first", "working"):
                        if time.monotonic() < deadline:
                            self.look(tab, page, run=name, runs=name)
                self.write(tab)
                self.bring(tab)
                self.search(tab)

    def look(self, tab: Visitor, page: str, **address: str) -> None:
        self.page, began = page, time.monotonic()
        tab.open(page, **address)
        self.record.seconds.append(time.monotonic() - began)
        self.check(tab)
        self.buttons |= {name for name, (kind, _) in tab.widgets.items() if kind == "button"}

    def check(self, tab: Visitor) -> None:
        self.record.count("page loads by the owner")
        for error in tab.errors:
            self.record.fail(
                f"an exception reached the owner on {tab.page}: {error.type} {error.message}",
                tab.query,
            )

    def write(self, tab: Visitor) -> None:
        self.look(tab, "runs", runs="second")
        note, save = tab.find("text_area", "Note"), tab.find("button", "Save note, tags and group")
        words = f"note {self.brought} of the owner"
        tab.answer(
            WidgetState(id=note.id, string_value=words), WidgetState(id=save.id, trigger_value=True)
        )
        self.check(tab)
        self.note = words

    def bring(self, tab: Visitor) -> None:
        """A ZIP of class folders on the page Train."""
        self.look(tab, "train", images="zip")
        Image.new("RGB", (24, 24), "navy").save(picture := io.BytesIO(), "PNG")
        with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
            for at in range(4):
                archive.writestr(
                    f"{self.scene.secrets['face']} {at % 2}/{at}.png", picture.getvalue()
                )
        name = f"{self.scene.secrets['upload']}-{self.brought}"
        status = tab.upload(tab.find("file_uploader").id, f"{name}.zip", packed.getvalue())
        self.check(tab)
        if status != 204 or not (self.scene.runs / ".unpacked" / name).is_dir():
            self.record.fail(f"the owner's ZIP was answered with {status}", " ".join(tab.words))
        self.brought += 1

    def search(self, tab: Visitor) -> None:
        """A picture on the page Browse."""
        self.look(tab, "browse", run="first", queries="upload")
        Image.new("RGB", (24, 24), "gold").save(picture := io.BytesIO(), "PNG")
        tab.upload(
            tab.find("file_uploader").id, f"{self.scene.secrets['upload']}.png", picture.getvalue()
        )
        self.check(tab)


def judge(scene: Scene, record: Record, owner: Owner) -> str:
    """Look at what is left after the campaign; returns what it is, in words."""
    if scene.server.process.poll() is not None:
        record.fail("the server has ended", scene.server.log()[-2_000:])
        return ""
    began = time.monotonic()
    if scene.server.ask("/_stcore/health").status != 200:
        record.fail("the server does not answer")
    with Visitor(scene.server, scene.owner) as tab:
        if not any(
            "first" in message.decode(errors="replace") for message in tab.open("runs").received
        ):
            record.fail("the owner does not see the runs")
    answered = time.monotonic() - began
    remarks = "runs/second/remarks.json"
    after = scene.content()
    for name in sorted({*scene.before, *after}):
        if scene.before.get(name) != after.get(name) and name != remarks:
            record.fail(
                f"{name} has changed",
                f"{scene.before.get(name, b'')[:300]!r} {after.get(name, b'')[:300]!r}",
            )
    if owner.note and management.notes(lab.runs.open("second", scene.runs))["note"] != owner.note:
        record.fail("the owner's note has changed")
    if scene.queue.names != ("waiting", "next") or not scene.queue.paused:
        record.fail(
            f"the queue has changed: {scene.queue.names}, {'' if scene.queue.paused else 'not '}paused"
        )
    if not scene.process.is_running() or scene.at_work.state != "running":
        record.fail(f"the run at work is {scene.at_work.state}", str(scene.at_work.status))
    names = {run.name for run in lab.runs.list(scene.runs)}
    if names != {"first", "second", "waiting", "next", "working"}:
        record.fail(f"the runs are {sorted(names)}")
    for name in ("first", "second"):
        for found in check(lab.runs.open(name, scene.runs)):
            record.fail(f"{name}: {found.file} {found.sentence}")
    _search_disk(scene, record)
    log = re.sub(r"\x1b\[[\d;]*m", "", scene.server.log())
    for block in log.split("(most recent call last)")[1:]:
        if "starlette_websocket.py" in block and "ParseFromString" in block:
            continue  # bytes that are no message: the library tells of them so, and hangs up
        last = next(
            filter(re.compile(r"\w[\w.]*(Error|Exception|Interrupt)").match, block.splitlines()), ""
        )
        record.fail(f"the log has a traceback: {last[:200]}", block)
    memory = psutil.Process(scene.server.process.pid).memory_info().rss
    ordered = sorted(record.seconds)
    slow = ordered[int(0.95 * len(ordered))] if ordered else 0.0
    return f"{memory / 1e6:,.0f} MB, answers in {answered:.1f} s; the owner's pages: 95 % within {slow:.1f} s"


def _search_disk(scene: Scene, record: Record) -> None:
    """Nothing that a guest has brought or typed lies on the disk, in a file or as its name."""
    for path in scene.folder.rglob("*"):
        content = b""
        if path.is_file() and path != scene.server.log_file:
            with suppress(FileNotFoundError):  # the training goes on
                content = path.read_bytes()
        if any(marker in path.name or marker.encode() in content for marker in scene.markers):
            record.fail(f"a guest has written {path.relative_to(scene.folder)}")


def campaign(scene: Scene, seconds: float, seed: int) -> tuple[Record, str]:
    """Let the three use the dashboard for so long; returns what was tried, and what is left in words."""
    record, buttons = Record(), set[str]()
    owner = Owner(scene, record, buttons)
    visitors = [owner, *(Guest(scene, record, number, seed, buttons) for number in (1, 2))]
    deadline = time.monotonic() + seconds

    def visit(one: Owner | Guest) -> None:
        try:
            one.visit(deadline)
        except Exception:
            record.fail(
                f"{getattr(one, 'name', 'the owner')} could not go on", traceback.format_exc()
            )

    threads = [threading.Thread(target=visit, args=(one,)) for one in visitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return record, judge(scene, record, owner)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300, help="default 300")
    parser.add_argument("--seed", type=int, default=0)
    asked, began, scene = parser.parse_args(), time.monotonic(), Scene()
    try:
        record, left = campaign(scene, asked.seconds, asked.seed)
    finally:
        scene.close()
    failures = [f"{sentence}\n    {detail}" for sentence, detail in record.failures.items()]
    tried = ", ".join(f"{count:,} {what}" for what, count in sorted(record.tried.items()))
    told = f"{tried}; {left}"
    common.conclude(
        "guests and owner", record.tried.total(), failures[:MOST_TOLD], asked.seed, began, told
    )


if __name__ == "__main__":
    main()
