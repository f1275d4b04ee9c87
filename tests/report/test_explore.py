"""The page to explore, as Python writes it: what it holds, how well eight bits rank, and names that attack it."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
import safetensors.numpy
from PIL import Image

import lab
from lab.__main__ import main
from lab.report import explore
from lab.report.explore import _packed

HOSTILE = '</script><img src=x onerror="window.attacked=1">'


@pytest.fixture(scope="module")
def runs(tmp_path_factory, train_tiny):
    root = tmp_path_factory.mktemp("explored")
    return [
        train_tiny(root, name, training={"steps": 2, "seed": seed})
        for seed, name in enumerate(["first", "second"])
    ]


@pytest.fixture(scope="module")
def made(runs):
    return explore.render(runs)


def held(html: str, name: str) -> str:
    return re.search(rf'<script [^>]*id="{re.escape(name)}">(.*?)</script>', html, re.DOTALL).group(
        1
    )


def numbers(html: str) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(gzip.decompress(base64.b64decode(held(html, "numbers.bin"))))


def test_it_holds_what_is_known_of_every_image(runs, made):
    about, arrays = json.loads(held(made, "data")), numbers(made)
    images = runs[0].dataset()
    for at, run in enumerate(runs):
        stored = run.embeddings("test")
        mine = {
            name.partition(".")[2]: values
            for name, values in arrays.items()
            if name.startswith(f"{at}.")
        }
        assert (
            about["runs"][at]["name"] == run.name and mine["asked"].all() and mine["searched"].all()
        )
        assert [about["names"][i] for i in mine["images"]] == [
            str(images.keys[item]) for item in stored.items
        ]
        assert [about["kinds"][i] for i in mine["labels"]] == [
            str(images.class_names[kind]) for kind in stored.labels
        ]
        assert np.allclose(mine["score"], run.per_query("test")[about["column"]], equal_nan=True)
        rebuilt = mine["vectors"] * mine["scales"][:, None]
        assert np.abs(rebuilt - stored.vectors).max() < 0.01 and np.allclose(
            np.linalg.norm(rebuilt, axis=1), 1
        )
        cosines = stored.vectors @ stored.vectors.T - 2 * np.eye(len(stored))
        assert (mine["nearest"] == cosines.argmax(1)).mean() > 0.99


def test_eight_bits_keep_direction_or_length():
    vectors = np.random.default_rng(0).normal(size=(40, 32)) * np.linspace(0.1, 9, 40)[:, None]
    for similarity in ("cosine", "euclidean"):
        codes, scales = _packed.quantised(vectors, similarity)
        assert codes.dtype == np.int8 and (np.abs(codes).max(1) == 127).all()
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        target = vectors / lengths if similarity == "cosine" else vectors
        assert (
            np.abs(codes * scales[:, None] - target)
            <= 0.51 * scales[:, None] + 0.01 * np.abs(target)
        ).all()


def test_the_agreement_is_counted_against_float32(runs, made):
    arrays, stored = numbers(made), runs[0].embeddings("test")
    codes = arrays["0.vectors"].astype(float) * arrays["0.scales"][:, None]
    firsts = []
    for vectors in (codes, stored.vectors.astype(float)):
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -2)
        firsts.append(cosines.argmax(1))
    share = 100 * (firsts[0] == firsts[1]).mean()
    assert (
        f"first: for {share:.1f} % of {len(stored):,} queries the nearest image is that of float32"
        in made
    )


def test_the_policy_allows_this_script_and_no_host(made, tmp_path, runs):
    policy = re.search(r'Security-Policy" content="([^"]*)"', made).group(1)
    assert (
        policy.startswith("default-src 'none'")
        and "connect-src 'none'" in policy
        and "unsafe" not in policy
    )
    assert not re.search(r"(src|href)=.?https?:|@import", made) and "<img" not in made
    assert made.count("<summary><h2>") == 6 and "95 % interval" in made
    script = re.search(r'<script type="module">(.*?)</script>', made, re.DOTALL).group(1)
    assert f"script-src {lab.core.web_page.as_source(script)}" in policy and "import " not in script
    folder = explore.save(runs[:1], tmp_path / "folder")
    page = (folder / "index.html").read_text()
    assert (
        "connect-src 'self'" in page and "img-src 'self'" in page and 'id="numbers.bin"' not in page
    )
    assert (folder / "numbers.bin").is_file() and (folder / "0.webp").is_file()


def test_pictures_stand_on_sheets_in_the_order_of_their_images(runs, made, tmp_path):
    about, images = json.loads(held(made, "data")), runs[0].dataset()
    (tmp_path / "0.webp").write_bytes(base64.b64decode(held(made, "0.webp")))
    drawn = np.asarray(Image.open(tmp_path / "0.webp").convert("RGB"), float)
    side = len(drawn) // about["grid"]
    keys = list(map(str, images.keys))
    for at in (0, 5, 17):
        picture = images.load(keys.index(about["names"][at])).convert("RGB")
        picture.thumbnail((side, side))
        y, x = (at // about["grid"] * side, at % about["grid"] * side)
        top, left = y + (side - picture.height) // 2, x + (side - picture.width) // 2
        cell = drawn[top : top + picture.height, left : left + picture.width]
        assert np.abs(cell - np.asarray(picture, float)).mean() < 12


def embedded(tmp_path, count=12, **more):
    vectors = np.random.default_rng(0).normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = [f"{HOSTILE} {i % 3}" for i in range(count)]
    return lab.runs.from_embeddings(vectors, labels, measure=True, runs=tmp_path, **more)


def test_a_gallery_is_searched_and_queries_are_not(tmp_path):
    roles = ["query" if at % 4 == 0 else "gallery" for at in range(60)]
    run = embedded(tmp_path, 60, roles=roles, name="parts")
    arrays = {
        name.partition(".")[2]: values for name, values in numbers(explore.render([run])).items()
    }
    asked = arrays["asked"].astype(bool)
    assert (
        asked.sum() == 15
        and (arrays["searched"] == ~asked).all()
        and not asked[arrays["nearest"][asked]].any()
    )
    right = arrays["labels"][arrays["nearest"][asked]] == arrays["labels"][asked]
    assert right.mean() == pytest.approx(run.scores("test")["values"]["r@1"])
    assert (arrays["nearest"][~asked] == -1).all() and np.isnan(arrays["score"][~asked]).all()


def test_names_are_data(tmp_path):
    run = embedded(tmp_path, keys=[f'"{i}" {HOSTILE} \u2028 🐯' for i in range(12)], name="hostile")
    html = explore.render([run])
    assert HOSTILE not in html and "onerror=" in json.dumps(json.loads(held(html, "data"))["kinds"])
    assert html.count("<script") == html.count("</script>")
    assert json.loads(held(html, "data"))["names"][0].endswith("🐯")


def test_what_cannot_be_explored_is_refused_in_a_sentence(runs, tmp_path, monkeypatch, capsys):
    with pytest.raises(ValueError, match="different data sets"):
        explore.render([runs[0], embedded(tmp_path, name="other")])
    monkeypatch.setattr(explore, "MOST", 10_000)
    words = ["runs", "report", str(runs[0].path), "--explore"]
    assert (
        main([*words, str(tmp_path / "page.html")]) == 2
        and "--explore FOLDER" in capsys.readouterr().err
    )
    assert main([*words, str(tmp_path / "page")]) == 0 and capsys.readouterr().out.strip() == str(
        tmp_path / "page"
    )
    assert main([*words, str(tmp_path / "page")]) == 2 and "already" in capsys.readouterr().err


def test_a_page_without_pictures_says_why(runs):
    def gone(run):
        raise ValueError("The images went away.")

    html = explore.render(runs[:1], images=gone)
    about = json.loads(held(html, "data"))
    assert "The images went away." in html and about["grid"] == 0
    *named, without_a_class = about["kinds"]
    assert without_a_class == ""
    assert named and set(named) <= set(runs[0].dataset().class_names), (
        "what the run recorded is known without pictures"
    )
