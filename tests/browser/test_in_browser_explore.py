"""The page to explore in Chromium, from a disk with the network cut, and as a folder behind a plain server."""

from __future__ import annotations

import functools
import http.server
import threading

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import lab
from lab.report import explore, page
from lab.report.explore import _packed

HOSTILE = '</script><img src=x onerror="window.attacked=1">'
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory, train_tiny):
    root = tmp_path_factory.mktemp("explored")
    return [
        train_tiny(root, name, training={"steps": 2, "seed": at})
        for at, name in enumerate(["first", "second"])
    ]


@pytest.fixture(scope="module")
def file(tmp_path_factory, runs) -> str:
    return explore.save(runs, tmp_path_factory.mktemp("page") / "out.html").as_uri()


@pytest.fixture
def opened(chromium):
    """Open an address with the network cut; returns the page once it answers. It must ask no host and say nothing."""
    contexts, asked, said = [], [], []

    def start(address: str, offline: bool = True, **look) -> Page:
        contexts.append(chromium.new_context(offline=offline, **look))
        made = contexts[-1].new_page()
        made.on("request", lambda request: asked.append(request.url))
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.goto(address)
        expect(made.locator("#answers .answer").first).to_be_visible()
        return made

    yield start
    for context in contexts:
        context.close()
    assert (
        all(url.startswith(("file:", "blob:", "http://127.0.0.1:")) for url in asked) and not said
    ), (asked, said)


def image_of(run, item: int, runs) -> int:
    """The number of an image in the page: by class, then by item."""
    stored = run.embeddings("test")
    return int(np.flatnonzero(order_of(run) == np.flatnonzero(stored.items == item)[0])[0])


def order_of(run) -> np.ndarray:
    """The rows of a run in the order of the page: by the name of the class, then by item."""
    stored = run.embeddings("test")
    return np.lexsort((stored.items, np.array(run.dataset().class_names)[stored.labels]))


def ranked(element) -> list[int]:
    return [int(one.get_attribute("data-image")) for one in element.locator("ol button").all()]


def test_a_click_asks_and_the_answer_is_that_of_python(opened, file, runs):
    made = opened(file)
    stored = runs[0].embeddings("test")
    shown = made.locator("#cards button").nth(3)
    image = int(shown.get_attribute("data-image"))
    shown.click()
    expect(made.locator("#asked")).to_contain_text("MAP@R")
    expect(made.locator("#message")).to_contain_text("first: Of")
    order = order_of(runs[0])
    row = order[image]
    made.wait_for_function(f"location.hash.includes('query={image}')")
    assert len(ranked(made.locator(".answer"))) == 24
    top = page.nearest(stored.take(np.array([row])), stored, 5, "cosine")[0]
    by_image = np.argsort(order)
    assert ranked(made.locator(".answer"))[0] == by_image[top[0]]
    marks = made.locator(".answer ol li").evaluate_all("all => all.map((one) => one.className)")
    right = [
        stored.labels[order[one]] == stored.labels[row] for one in ranked(made.locator(".answer"))
    ]
    assert marks == ["right" if one else "wrong" for one in right]
    assert all(
        text.startswith("✓" if one else "✗")
        for text, one in zip(made.locator(".answer ol b").all_inner_texts(), right, strict=True)
    )


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_the_worker_ranks_as_numpy_does_with_the_same_bytes(opened, file, similarity):
    random = np.random.default_rng(1)
    vectors = random.normal(size=(300, 24)) * random.uniform(0.5, 2, (300, 1))
    vectors[7] = vectors[8]  # a tie, which the place decides
    codes, scales = _packed.quantised(vectors, similarity)
    searched = random.random(300) < 0.8
    searched[[7, 8]] = True
    wide = scales.astype(float)
    near = wide[5] * wide * (codes.astype(float) @ codes[5].astype(float))
    squares = wide * wide * (codes.astype(float) ** 2).sum(1)
    scores = near if similarity == "cosine" else 2 * near - squares[5] - squares
    rows = np.flatnonzero(searched & (np.arange(300) != 5))
    expected = rows[np.argsort(-scores[rows], kind="stable")]
    found = opened(file).evaluate(
        """async ([codes, scales, searched, similarity]) => {
            const code = document.getElementById("worker").textContent;
            const worker = new Worker(URL.createObjectURL(new Blob([code])));
            const run = { codes: Int8Array.from(codes), scales: Float32Array.from(scales), similarity };
            worker.postMessage({ ...run, searched: Uint8Array.from(searched) });
            const answer = new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)));
            worker.postMessage({ run: 0, row: 5 });
            const { rows, scores } = await answer;
            return [[...rows], [...scores]];
        }""",
        [codes.ravel().tolist(), scales.tolist(), searched.astype(int).tolist(), similarity],
    )
    assert found[0] == expected.tolist()
    assert np.allclose(found[1], scores[expected], rtol=1e-6, atol=1e-6)


def test_two_runs_answer_one_query_side_by_side(opened, file, runs):
    made = opened(file)
    made.get_by_label("Beside it").select_option("second")
    expect(made.locator(".answer h3")).to_have_text(["first", "second"])
    one, other = (ranked(made.locator(".answer").nth(at)) for at in (0, 1))
    for at, image in enumerate(one):
        words = made.locator(".answer").first.locator("ol li").nth(at).inner_text()
        if image in other:
            assert ("beside" in words) == (other.index(image) != at)
            assert other.index(image) == at or f"beside: {other.index(image) + 1}" in words
    made.get_by_label("Order of queries").select_option("gained most")
    changes = [
        [int(part.strip(" %")) for part in text.split("→")]
        for text in made.locator("#cards li span:not(.picture)").all_inner_texts()
    ]
    gains = [after - before for before, after in changes]
    # rounded to percents
    assert all(a >= b - 1 for a, b in zip(gains, gains[1:], strict=False)) and gains[0] > 0


def test_missed_images_are_those_of_the_class_that_come_too_late(opened, file, runs):
    made = opened(file)
    stored = runs[0].embeddings("test")
    order = order_of(runs[0])
    row = order[int(made.evaluate("new URLSearchParams(location.hash.slice(1)).get('query')"))]
    wanted = int((stored.labels == stored.labels[row]).sum()) - 1
    late = made.get_by_role("list", name="Missed by first").locator("button").all()
    ranks = [int(one.inner_text().split("\n")[-1].split(" ")[0]) for one in late]
    found = made.locator(".answer ol li.right").count()
    assert ranks and min(ranks) > wanted and found <= wanted
    told = made.locator("#message").inner_text()
    assert (
        f"Of {wanted} images of its class, {wanted - len(ranks)} are among the nearest {wanted}"
        in told
    )


def test_filters_lists_and_the_address(opened, file, runs):
    made = opened(file)
    made.locator("[name=show]").select_option("nearest wrong")
    expect(made.locator("#cards li.right")).to_have_count(0)
    wrong = int(made.locator("#list-words").inner_text().split(" ")[0].replace(",", ""))
    first = runs[0].per_query("test")["r@1"]
    assert wrong == int((first == 0).sum())
    made.locator("[name=list]").select_option("confused classes")
    pairs = made.locator("#cards li b").all_inner_texts()
    assert (
        pairs
        and "taken for" in pairs[0]
        and int(pairs[0].split(" ")[0]) >= int(pairs[-1].split(" ")[0])
    )
    made.keyboard.press("Escape")
    made.locator("h1").click()
    made.keyboard.press("/")
    name = str(runs[0].dataset().class_names[runs[0].embeddings("test").labels[0]])
    made.keyboard.type(name)
    expect(made.locator("#cards b").first).to_contain_text(name)
    made.keyboard.press("Enter")
    expect(made.locator("#every")).to_contain_text(made.locator("#asked b").inner_text())
    hash = made.evaluate("location.hash")
    assert "kind=" in hash and "show=wrong" in hash
    again = opened(file + hash)
    expect(again.locator("#every")).to_have_text(made.locator("#every").inner_text())
    assert again.locator("[name=show]").input_value() == "wrong"
    opened(
        file + "#run=99&query=-3&show=%3Cimg%3E&list=__proto__&kind=zero&__proto__=1&constructor=2"
    )


def test_keys_walk_along_queries_and_lists(opened, file):
    made = opened(file)
    line = [int(one.get_attribute("data-image")) for one in made.locator("#cards button").all()]
    made.locator("h1").click()
    for image in line[1:3]:
        made.keyboard.press("ArrowRight")
        made.wait_for_function(f"location.hash.includes('query={image}')")
    made.locator("#cards button").nth(4).focus()
    made.keyboard.press("ArrowRight")
    assert int(made.evaluate("document.activeElement.dataset.image")) == line[5]
    made.keyboard.press("Enter")
    made.wait_for_function(f"location.hash.includes('query={line[5]}')")
    assert int(made.evaluate("document.activeElement.dataset.image")) == line[5]  # the focus stays
    made.locator(".answer ol button").first.focus()
    made.keyboard.press("Enter")
    expect(made.locator(".answer ol button").first).to_be_focused()


def test_a_click_on_the_map_asks_for_the_point_under_it(opened, file, runs):
    made = opened(file)
    made.locator("canvas").scroll_into_view_if_needed()
    x, y = made.evaluate("""() => {
        const box = document.querySelector("canvas");
        return [box.clientWidth / 2, box.clientHeight / 2];
    }""")
    before = made.evaluate("location.hash")
    for way in range(0, 200, 8):  # from the middle to the right until there is a point
        made.locator("canvas").click(position={"x": x + way, "y": y})
        if made.evaluate("location.hash") != before:
            break
    assert made.evaluate("location.hash") != before
    made.get_by_label("Zoom in").click()
    made.get_by_label("Mark by").select_option("class")
    expect(made.locator("#map-words")).to_contain_text("Each class has its shape and colour")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_it_fits_and_is_accessible(opened, file, scheme, width):
    made = opened(file + "#rival=1", viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert made.evaluate("document.documentElement.scrollWidth") <= width
    for one in made.locator("details").all():
        one.locator("> summary").click()
    assert made.evaluate("document.documentElement.scrollWidth") <= width
    wrong = Axe().run(made, options={"resultTypes": ["violations"]}).response["violations"]
    assert not wrong, [(one["id"], one["nodes"][0]["html"][:200]) for one in wrong]


def test_hostile_names_stay_words(opened, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = [f"{HOSTILE} {i % 3}" for i in range(12)]
    keys = [f"'{i}\" {HOSTILE} \u2028 🐯 %DATA%" for i in range(12)]
    run = lab.runs.from_embeddings(
        vectors, labels, keys=keys, measure=True, runs=tmp_path, name="hostile"
    )
    made = opened(explore.save([run], tmp_path / "out.html").as_uri())
    for chosen in ("queries", "classes", "confused classes"):
        made.locator("[name=list]").select_option(chosen)
        expect(made.locator("#cards b").first).to_contain_text("onerror=")
    assert made.evaluate("window.attacked") is None and made.locator("main img").count() == 0
    expect(made.locator("#asked")).to_contain_text("🐯 %DATA%")


def test_a_folder_behind_a_plain_server(opened, runs, tmp_path):
    folder = explore.save(runs, tmp_path / "out")
    (folder / "favicon.ico").touch()  # what browsers ask of every server
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made = opened(f"http://127.0.0.1:{server.server_port}/#query=4", offline=False)
        assert len(ranked(made.locator(".answer"))) == 24
        assert "0.webp" in made.locator("#asked .picture").evaluate(
            "one => one.style.backgroundImage"
        )
        server.shutdown()


def test_a_folder_without_a_server_says_what_it_needs(chromium, runs, tmp_path):
    folder = explore.save(runs[:1], tmp_path / "out")
    context = chromium.new_context(offline=True)
    made = context.new_page()
    made.goto((folder / "index.html").as_uri())
    expect(made.locator("#message")).to_contain_text("python -m http.server")
    context.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass
