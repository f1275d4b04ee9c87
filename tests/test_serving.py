"""`lab serve`: what the service answers, what it refuses and in which words, and one real start."""

import io
import json
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from starlette.testclient import TestClient

import lab
import lab.threshold
from lab.core.installed import children
from lab.serving import Limits, application
from tests.core.test_connections import opened
from tests.dashboards import free_port

TOKEN = "sixteen letters or more"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def model(tmp_path_factory, train_tiny):
    return lab.load(train_tiny(tmp_path_factory.mktemp("serving"), "tiny", training={"steps": 2}))


@pytest.fixture(scope="module")
def client(model):
    limits = Limits(megabytes=0.2, pixels=10_000, vectors=3, k=50)
    return TestClient(application(model, TOKEN, limits), raise_server_exceptions=False)


def png(*size: int) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, "teal").save(written, "png")
    return written.getvalue()


def test_a_picture_gets_what_search_finds(client, model):
    picture = model.images.load(int(model.gallery.items[3]))
    written = io.BytesIO()
    picture.save(written, "png")
    answer = client.post("/search?k=5", content=written.getvalue(), headers=HEADERS)
    expected = model.search(picture, 5)
    (found,) = answer.json()["results"]
    assert answer.status_code == 200 and len(found) == 5
    assert [one["key"] for one in found] == [one.key for one in expected]
    assert [one["score"] for one in found] == pytest.approx([one.score for one in expected])
    assert set(found[0]) == {"rank", "score", "key", "class", "item"}, (
        "no threshold is kept, so none is told"
    )


def test_a_picture_without_a_class_is_told_as_null(model, tmp_path):
    (tmp_path / "bags").mkdir()
    for place in ("bags/1.png", "loose.png"):
        (tmp_path / place).write_bytes(png(40, 40))
    asked = TestClient(application(lab.load(model.run, gallery=tmp_path), TOKEN))
    (found,) = asked.post("/search", content=png(40, 40), headers=HEADERS).json()["results"]
    assert {one["key"].rpartition("/")[2]: one["class"] for one in found} == {
        "1.png": "bags",
        "loose.png": None,
    }


def test_vectors_are_searched_each_by_itself(client, model):
    vectors = model.gallery.vectors[:2]
    answer = client.post("/search?k=2", json={"vectors": vectors.tolist()}, headers=HEADERS)
    first, second = answer.json()["results"]
    assert [first[0]["item"], second[0]["item"]] == model.gallery.items[:2].tolist()


def test_health_asks_for_nothing(client, model):
    assert client.get("/health").json() == {
        "status": "ok",
        "searches": len(model.gallery),
        "width": 128,
    }


@pytest.mark.parametrize(
    ("request_", "status", "sentence"),
    [
        (
            {"content": png(9, 9), "headers": {}},
            401,
            "send the header `Authorization: Bearer TOKEN`",
        ),
        (
            {"content": png(9, 9), "headers": {"Authorization": "Bearer no"}},
            401,
            "asks for its token",
        ),
        (
            {"content": b"no picture"},
            400,
            "The body of the request is not an image of a known format",
        ),
        ({"content": b""}, 400, "The body of the request is not an image"),
        ({"content": png(101, 100)}, 400, "has 101 x 100 pixels, more than 10,000"),
        ({"content": png(9, 9)[:50]}, 400, "The body of the request"),
        ({"content": bytes(200_001)}, 413, "A request may have 0.2 MB; this one has more."),
        (
            {"content": png(9, 9), "params": {"k": "51"}},
            400,
            "k must be a whole number from 1 to 50, got '51'",
        ),
        ({"content": png(9, 9), "params": {"k": "-1"}}, 400, "k must be a whole number"),
        (
            {"json": {"vectors": [[1.0, 2.0]]}},
            400,
            "128 finite numbers in each; got an array of shape [1, 2]",
        ),
        ({"json": {"vectors": [[1.0], [1.0, 2.0]]}}, 400, "this body is something else"),
        ({"json": [1]}, 400, "this body is something else"),
        ({"json": {"vectors": [[1.0] * 128] * 4}}, 400, "A request may have 1 to 3 vectors, got 4"),
        ({"json": {"vectors": [[1e39] * 128]}}, 400, "not finite"),
        ({"json": {"vectors": [["1"] * 128]}}, 400, "this body is something else"),
        ({"json": {"vectors": [[True] * 128]}}, 400, "this body is something else"),
        (
            {"json": {"vectors": [[1.0] * 128], "k": 5}},
            400,
            "and nothing else; got 'k'. k, least and unknown are parameters",
        ),
        ({"json": "vectors and more"}, 400, "this body is something else"),
        (
            {
                "content": b'{"vectors": [], "vectors": []}',
                "headers": {**HEADERS, "Content-Type": "Application/JSON"},
            },
            400,
            "JSON is",
        ),
        ({"files": {"file": png(9, 9)}}, 400, "Send the picture itself as the body"),
        (
            {"content": b"[" * 100_000, "headers": {**HEADERS, "Content-Type": "application/json"}},
            400,
            "JSON is",
        ),
    ],
)
def test_a_refusal_is_one_sentence(client, request_, status, sentence):
    answer = client.post("/search", **{"headers": HEADERS, **request_})
    assert answer.status_code == status and sentence in answer.json()["error"]
    assert list(answer.json()) == ["error"] and "\n" not in answer.json()["error"]


@pytest.fixture(scope="module")
def chosen(model):
    """A service of a run with a threshold, and the threshold."""
    pairs = lab.threshold.measure(model.run)
    kept = lab.threshold.save(model.run, pairs, pairs.let_through(0.2))
    yield TestClient(application(model), raise_server_exceptions=False), kept
    (model.run.path / lab.threshold.FILE).unlink()


def test_a_threshold_is_served_as_lab_query_takes_it(chosen, model):
    client, kept = chosen
    body = {"vectors": model.gallery.vectors[:3].tolist()}

    def asked(address: str) -> list:
        answer = client.post(address, json=body)
        assert answer.status_code == 200, answer.json()
        return answer.json()["results"]

    everything = asked("/search?k=50")
    for row, found, known in zip(
        body["vectors"], everything, asked("/search?k=50&unknown=true"), strict=True
    ):
        expected = model.search(np.array(row, np.float32), 50, unknown=True)
        assert [one["key"] for one in known] == [one.key for one in expected]
        assert [one["same"] for one in known] == pytest.approx([one.same for one in expected])
        assert [one["score"] >= kept.value for one in found].count(True) == len(known) < len(found)
        assert all(0 <= one["same"] <= 1 for one in found)
    for least in (0.5, kept.value - 0.1, "9e-1"):
        shown, both = (
            asked(f"/search?k=50&least={least}"),
            asked(f"/search?k=50&least={least}&unknown=true"),
        )
        assert shown == [
            [one for one in found if one["score"] >= float(least)] for found in everything
        ]
        bound = max(float(least), kept.value)
        assert both == [[one for one in found if one["score"] >= bound] for found in everything]
    assert asked("/search?least=1.5&unknown=true") == [[], [], []]
    assert asked("/search?unknown=false") == asked("/search")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/search?n=2", "/search has no parameter 'n'; it takes k, least, unknown."),
        (
            "/search?filter=category:bags",
            "/search has no parameter 'filter'; it takes k, least, unknown.",
        ),
        ("/search?leest=1", "/search has no parameter 'leest'; did you mean least?"),
        ("/search?K=5", "/search has no parameter 'K'; "),
        ("/search?k=5&k=6", "The parameter k is there twice; give it once."),
        (
            "/search?k=" + "9" * 5000,
            "k must be a whole number from 1 to 50, got '99999999999999999999...'.",
        ),
        ("/search?k=1.5", "k must be a whole number from 1 to 50, got '1.5'."),
        ("/search?k=", "k must be a whole number from 1 to 50, got ''."),
        ("/search?k=\u0665", "k must be a whole number from 1 to 50"),
        ("/search?least=nan", "least must be a number, the lowest score, got 'nan'."),
        ("/search?least=1e999", "least must be a number"),
        ("/search?least=" + "1" * 5000, "least must be a number"),
        ("/search?unknown=yes", "unknown must be true or false, got 'yes'."),
        (
            "/search?unknown=true",
            "The run has no threshold, so nothing can be unknown; choose one with `lab threshold`",
        ),
        ("/health?verbose=1", "/health has no parameter 'verbose'; it takes none."),
    ],
)
def test_what_an_address_asks_and_nobody_knows_is_refused(client, address, sentence):
    ask = client.get if address.startswith("/health") else client.post
    answer = ask(address, headers=HEADERS)
    assert answer.status_code == 400 and sentence in answer.json()["error"], answer.json()
    assert "\n" not in answer.json()["error"]


@settings(
    derandomize=True,
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["k", "least", "unknown", "kk", "", "token"]), st.text(max_size=30)
        ),
        max_size=4,
    )
)
def test_an_address_is_answered_or_refused_in_one_sentence(client, model, given):
    """Random parameters: those that are known once and have a legal value are answered, all others a sentence."""
    answer = client.post(
        "/search",
        params=given,
        json={"vectors": model.gallery.vectors[:1].tolist()},
        headers=HEADERS,
    )
    names = [name for name, _ in given]
    if answer.status_code == 200:
        assert len(set(names)) == len(names) and set(names) <= {"k", "least", "unknown"}
        (found,) = answer.json()["results"]
        values = dict(given)
        assert len(found) <= int(values.get("k", 10))
        assert all(one["score"] >= float(values.get("least", "-inf")) for one in found)
    else:
        said = answer.json()["error"]
        assert answer.status_code == 400 and list(answer.json()) == ["error"] and "\n" not in said
        assert said.startswith(
            (
                "/search has no parameter",
                "The parameter",
                "k must",
                "least must",
                "unknown must",
                "The run",
            )
        )


def test_other_addresses_say_what_there_is(client):
    for answer in (client.get("/search"), client.get("/"), client.post("/health")):
        assert answer.status_code in (404, 405) and "POST a picture" in answer.json()["error"]


def test_what_fails_here_tells_no_stranger_why(model, client, monkeypatch):
    def broken(*_):
        raise RuntimeError("a secret")

    monkeypatch.setattr(model, "search", broken)
    answer = client.post("/search", content=png(9, 9), headers=HEADERS)
    assert answer.status_code == 500 and answer.json() == {
        "error": "The search failed on this server; its log says why."
    }


def test_more_at_once_than_the_limit_are_told_to_come_again(model, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_, **__):
        begun.set()
        assert go_on.wait(60)
        return []

    monkeypatch.setattr(model, "search", slow)
    with TestClient(application(model, limits=Limits(at_once=1))) as client:
        answers = []
        first = threading.Thread(
            target=lambda: answers.append(client.post("/search", content=png(9, 9)))
        )
        first.start()
        assert begun.wait(60)
        refused = client.post("/search", content=png(9, 9))
        go_on.set()
        first.join()
    assert refused.status_code == 503 and refused.headers["Retry-After"] == "1"
    assert "1 searches are under way" in refused.json()["error"] and answers[0].status_code == 200


def test_the_command_starts_answers_and_ends(model, tmp_path):
    port = free_port()
    picture = tmp_path / "photos" / "a.png"
    picture.parent.mkdir()
    picture.write_bytes(png(40, 30))
    words = [
        "-m",
        "lab",
        "serve",
        str(model.run.path),
        "--gallery",
        str(picture.parent),
        "--port",
        str(port),
    ]
    environment = {**children.environment(), "LAB_TOKEN": TOKEN}
    # descriptors, the default of macOS's shells
    few = [
        "bash",
        "-c",
        'ulimit -n 256; exec "$0" "$@"',
    ]
    server = subprocess.Popen(
        [*few, sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        line = server.stdout.readline()
        assert f"http://127.0.0.1:{port}/search (token {TOKEN}; stop with Ctrl-C)" in line
        address = f"http://127.0.0.1:{port}/search"
        request = urllib.request.Request(address, png(40, 30), HEADERS)
        (found,) = json.load(urllib.request.urlopen(request, timeout=60))["results"]
        assert found[0]["key"].endswith("a.png") and found[0]["score"] == pytest.approx(1, abs=1e-4)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address, b"x", timeout=60)
        # strangers, who send half a header
        with opened(port, 300, b"POST /search HTTP/1.1\r\nHost: x\r\n"):
            (again,) = json.load(urllib.request.urlopen(request, timeout=60))["results"]
            assert again == found
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60).close()
        second = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env=environment
        )
        assert second.returncode == 2 and "Nothing can listen on 127.0.0.1" in second.stderr
        assert second.stderr.count("\n") <= 2 and "Traceback" not in second.stderr
    finally:
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=60)
    assert server.returncode == 130 and "Traceback" not in said and len(said) < 2_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--address", "0.0.0.0", "--no-token"], "requests must bring a token: drop --no-token"),
        (["--index", "there", "--gallery", "here"], "leave out --gallery here"),
    ],
)
def test_mistakes_of_the_command_are_sentences(model, capsys, words, sentence):
    from lab.__main__ import main

    assert main(["serve", str(model.run.path), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_short_token_is_refused(model, capsys, monkeypatch):
    from lab.__main__ import main

    monkeypatch.setenv("LAB_TOKEN", "short")
    assert main(["serve", str(model.run.path)]) == 2
    assert "at least 16 characters" in capsys.readouterr().err
