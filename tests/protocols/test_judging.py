"""Protocols that judge one run, on miniature sets: values by hand, or by plain loops over chosen embeddings."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lab.data
import lab.protocols
import lab.runs
from lab.__main__ import main
from lab.evaluation.whitening import learnt, pca
from lab.protocols._outcome import Outcome
from lab.protocols.random_galleries import galleries
from lab.runs.evaluate import Evaluator, open_trained
from tests.data.conftest import write_image
from tests.data.miniatures import JUDGED, WRITERS
from tests.data.test_sfm120k_validation import IMAGES

from .conftest import config, finish


def judged(name: str, run, **knobs) -> Outcome:
    outcome, _ = finish(lab.protocols.create(name, **knobs).judge(run))
    assert Outcome.read(outcome.as_json()) == outcome
    assert outcome.as_markdown().startswith(f"# {name}\n")
    return outcome


def values(row) -> dict[str, float]:
    return {column: one.mean for column, one in row.scores.items()}


# In-Shop: garments 3 and 4, one query and one gallery image each

GARMENTS = {
    "img/MEN/Denim/id_00000003/00_1_front.jpg": 0.0,  # query 3
    "img/MEN/Denim/id_00000003/01_1_front.jpg": -50.0,  # gallery 3
    "img/WOMEN/Dresses/id_00000004/00_1_front.jpg": 5.0,  # gallery 4
    "img/WOMEN/Dresses/id_00000004/01_1_front.jpg": 90.0,  # query 4
}


def test_queries_are_searched_in_the_gallery_alone(trained, place, tmp_path):
    """Query 3 meets gallery 4 first, so it finds its own second; query 4 finds its own first, past query 3."""
    run = trained("in_shop", WRITERS["in_shop"](tmp_path))
    place(GARMENTS)
    outcome = judged("query_gallery", run)
    found = values(outcome.rows[0])
    assert found["r@1"] == 0.5 and found["r@10"] == found["r@50"] == 1
    assert found["mAP"] == pytest.approx((1 / 2 + 1) / 2)
    assert "2 queries in a gallery of 2" in outcome.notes[0]


# VehicleID: vehicles of three images


def test_a_repeat_draws_what_the_data_set_draws(tmp_path):
    root = str(WRITERS["vehicle_id"](tmp_path))
    whole = lab.data.create("vehicle_id", root=root, test_size="large", random_gallery=False)
    items = whole.splits["test"].items
    for repeat, (query, gallery) in enumerate(galleries(whole.labels[items], 4)):
        official = lab.data.create(
            "vehicle_id", root=root, test_size="large", gallery_seed=repeat
        ).splits["test"]
        assert items[query].tolist() == official.query.tolist()
        assert items[gallery].tolist() == official.gallery.tolist()


def test_galleries_are_drawn_again_and_again(trained, place, tmp_path):
    run = trained("vehicle_id", WRITERS["vehicle_id"](tmp_path), knobs={"random_gallery": True})
    angles = {
        f"image/{v:05d}{i}.jpg": 40.0 * v + (0, 25, 70)[i]
        for v in (1, 2, 3, 4, 5, 6)
        for i in range(3)
    }
    place(angles)
    outcome = judged("random_galleries", run, repeats=5)
    assert [row.setting["test set"] for row in outcome.rows] == ["small", "medium", "large"]
    for row, vehicles in zip(outcome.rows, ((3, 4), (3, 4, 5), (3, 4, 5, 6)), strict=True):
        labels = np.repeat(vehicles, 3)
        place_of = np.array([angles[f"image/{v:05d}{i}.jpg"] for v in vehicles for i in range(3)])
        r1, ap = [], []
        for repeat in range(5):
            random = np.random.default_rng(repeat)
            gallery = [3 * v + random.integers(3) for v in range(len(vehicles))]
            firsts, precisions = [], []
            for q in (q for q in range(len(labels)) if q not in gallery):
                order = sorted(gallery, key=lambda g, q=q: (abs(place_of[g] - place_of[q]), g))
                rank = 1 + [labels[g] for g in order].index(labels[q])
                firsts.append(rank == 1)
                precisions.append(1 / rank)
            r1.append(np.mean(firsts))
            ap.append(np.mean(precisions))
        assert row.scores["r@1"].values == pytest.approx(r1) and row.scores[
            "mAP"
        ].values == pytest.approx(ap)
        assert row.scores["mAP"].mean == pytest.approx(np.mean(ap))
        assert row.scores["mAP"].deviation == pytest.approx(np.std(ap, ddof=1))
    assert len(set(outcome.rows[2].scores["mAP"].values)) > 1, (
        "five galleries that are all the same show nothing"
    )


def test_vehicles_are_searched_all_against_all_as_in_000(trained, place, tmp_path):
    run = trained("vehicle_id", WRITERS["vehicle_id"](tmp_path), knobs={"random_gallery": False})
    # Vehicles 3 and 4 are the small set; the last image of 3 lies beside those of 4.
    degrees = {3: (0, 10, 120), 4: (130, 133, 137), 5: (200, 201, 202), 6: (240, 241, 242)}
    place({f"image/{v:05d}{i}.jpg": float(at[i]) for v, at in degrees.items() for i in range(3)})
    outcome = judged("random_galleries", run, gallery="all", sizes=("small",))
    (row,) = outcome.rows
    assert row.scores["r@1"].count == 1 and outcome.notes == (
        "small: 6 images, each searched among all others.",
    )
    # Five of six queries find their vehicle first: only the stray finds vehicle 4.
    assert values(row)["r@1"] == pytest.approx(5 / 6)


# A hierarchy: two kinds of birds, four images

BIRDS = {
    "images/101.White_Pelican/White_Pelican_0.jpg": 0.0,
    "images/101.White_Pelican/White_Pelican_1.jpg": 30.0,
    "images/200.Yellowthroat/Yellowthroat_0.jpg": 10.0,
    "images/200.Yellowthroat/Yellowthroat_1.jpg": 35.0,
}


def test_levels_come_from_a_table_of_classes(trained, place, tmp_path):
    run = trained("cub200", WRITERS["cub200"](tmp_path))
    keys = run.dataset().keys
    place(
        {next(k for k in keys if k.endswith(name.split("/")[-1])): at for name, at in BIRDS.items()}
    )
    names = run.dataset().class_names
    table = tmp_path / "kinds.csv"
    lines = "".join(f"{name},family {i},order\n" for i, name in enumerate(names))
    table.write_text("class,middle,coarse\n" + lines)
    found = values(judged("hierarchical_ap", run, table=str(table)).rows[0])
    # Seen from 0: 10, 30, 35. From 30: 35, 10, 0. From 10: 0, 30, 35. From 35: 30, 10, 0.
    assert found["AP-fine"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 3 + 1 / 2) / 4)
    assert found["AP-middle"] == found["AP-fine"] and found["AP-coarse"] == 1.0
    assert found["r@1"] == 0.0


@pytest.mark.parametrize(
    ("knobs", "text", "sentence"),
    [
        ({}, None, "cub200 has no super-classes.*--protocol.table"),
        ({"middle": "family"}, None, "no attribute 'family'; it has none"),
        ({"table": "nowhere.csv"}, None, "nowhere.csv cannot be read"),
        (
            {"table": "t.csv"},
            "name,coarse\na,b\n",
            "needs the columns class, and middle or coarse.*it has name, coarse",
        ),
        (
            {"table": "t.csv"},
            "class,coarse\nDuck,Birds\n",
            "does not say the coarse class of '101.White_Pelican'",
        ),
    ],
)
def test_a_set_without_super_classes_is_refused(tmp_path, knobs, text, sentence):
    dataset = lab.data.create("cub200", root=str(WRITERS["cub200"](tmp_path)))
    if "table" in knobs:
        knobs = {"table": str(tmp_path / knobs["table"])}
    if text:
        (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        lab.protocols.create("hierarchical_ap", **knobs).check(dataset)


# Revisited Oxford, and what whitens


def trapezoid(ranks: list[int]) -> float:
    return float(
        np.mean(
            [
                ((i / (r - 1) if r > 1 else 1.0) + (i + 1) / r) / 2
                for i, r in enumerate(sorted(ranks))
            ]
        )
    )


def test_easy_medium_and_hard_by_hand(trained, place, squares, tmp_path):
    """Query 1 ranks item 1 (hard 3), 2 (junk), 0 (easy); query 2 has one hard item, ranked second."""
    run = trained("class_folders", squares, knobs={"test": 0.5, "validation": 0.0})
    gallery = dict(
        zip((f"jpg/{name}.jpg" for name in JUDGED["imlist"]), (40.0, 90.0, 20.0, 10.0), strict=True)
    )
    place({**gallery, "query/all_souls_1.jpg": 0.0, "query/radcliffe_9.jpg": 65.5})
    root = WRITERS["revisited_oxford"](tmp_path / "oxford")
    found = values(judged("revisited", run, oxford=str(root), whitening="none").rows[0])
    # Query 1 without junk: hard item first, easy second. Easy alone: the hard one is junk, so easy comes first.
    assert found["mAP-E"] == 1.0
    assert found["mAP-M"] == pytest.approx((trapezoid([1, 2]) + trapezoid([1])) / 2)
    assert found["mAP-H"] == pytest.approx((trapezoid([1]) + trapezoid([1])) / 2)


def test_means_over_the_set_ups_and_distractors_without_and_with(trained, place, squares, tmp_path):
    """A distractor beside query 1 takes the first rank, so that only the crowded gallery suffers."""
    run = trained("class_folders", squares, knobs={"test": 0.5, "validation": 0.0})
    gallery = dict(
        zip((f"jpg/{name}.jpg" for name in JUDGED["imlist"]), (40.0, 90.0, 20.0, 10.0), strict=True)
    )
    far = {f"distractors/x/{i}.jpg": angle for i, angle in enumerate((1.0, 200.0))}
    place({**gallery, **far, "query/all_souls_1.jpg": 0.0, "query/radcliffe_9.jpg": 65.5})
    for name in ("x/0.jpg", "x/1.jpg"):
        write_image(tmp_path / "far" / "jpg" / name)
    (tmp_path / "far" / "revisitop1m.txt").write_text("x/0.jpg\nx/1.jpg\n")
    roots = {one: str(WRITERS[f"revisited_{one}"](tmp_path / one)) for one in ("oxford", "paris")}
    rows = judged(
        "revisited", run, **roots, distractors=str(tmp_path / "far"), whitening="none"
    ).rows
    found = {(row.setting["set"], row.setting.get("gallery")): values(row) for row in rows}
    own, crowded = (found["revisited_oxford", g] for g in ("the set's own", "with distractors"))
    assert (
        crowded["mAP-M"] < own["mAP-M"] and found["revisited_paris", "with distractors"] == crowded
    )
    every = [
        v[c] for (name, _), v in found.items() if "revisited" in name for c in ("mAP-M", "mAP-H")
    ]
    assert len(every) == 8 and found["mean", None]["mAP"] == pytest.approx(np.mean(every))
    assert found["mean, with distractors", None]["mAP"] == pytest.approx(
        (crowded["mAP-M"] + crowded["mAP-H"]) / 2
    )
    # Validation photographs have one grade, and no part in the means.
    far_apart = {
        f"jpg/{name}.jpg": angle
        for name, angle in zip(IMAGES, (0.0, 30.0, 80.0, 20.0), strict=True)
    }
    place({**gallery, "query/all_souls_1.jpg": 0.0, "query/radcliffe_9.jpg": 65.5, **far_apart}
          | {f"query/{IMAGES[0]}.jpg": 0.0, f"query/{IMAGES[1]}.jpg": 30.0})  # fmt: skip
    chosen = str(WRITERS["sfm120k_validation"](tmp_path / "chosen"))
    (one,) = judged("revisited", run, validation=chosen, whitening="none").rows
    # Query 1 without itself: its match first. Query 2 meets itself (no junk), then 20 degrees (no match), 0 and 80.
    assert values(one) == {"mAP": pytest.approx((trapezoid([1]) + trapezoid([3, 4])) / 2)}
    assert len(judged("revisited", run, **roots, validation=chosen, whitening="none").rows) == 4
    # Without distractors and with one set alone there is one row, as ever.
    assert len(judged("revisited", run, oxford=roots["oxford"], whitening="none").rows) == 1


def test_three_scales_and_learnt_whitening_against_a_plain_pipeline(trained, squares, tmp_path):
    run = trained(
        "class_folders",
        squares,
        knobs={"test": 0.25, "validation": 0.0},
        encoder={"dim": 4, "normalise": True},
    )
    root = WRITERS["revisited_oxford"](tmp_path / "oxford")
    random = np.random.default_rng(3)
    from PIL import Image

    for path in sorted((root / "jpg").glob("*.jpg")):
        Image.fromarray(random.integers(0, 255, (30, 44, 3)).astype(np.uint8)).save(
            path, quality=95
        )
    outcome = judged("revisited", run, oxford=str(root), longest=40)

    encoder, oxford, dataset = (
        open_trained(run).encoder,
        lab.data.create("revisited_oxford", root=str(root)),
        run.dataset(),
    )

    def described(images, i):
        picture = images.load(int(i))
        factor = 40 / max(picture.size)
        if factor < 1:
            picture = picture.resize(
                (round(picture.width * factor), round(picture.height * factor)), Image.BILINEAR
            )
        pixels = torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)[None].float() / 255
        pixels = (pixels - 0.5) / 0.5
        total = 0
        for scale in (2**-0.5, 1.0, 2**0.5):
            seen = F.interpolate(pixels, scale_factor=scale, mode="bilinear", align_corners=False)
            with torch.inference_mode():
                total = total + encoder(seen if scale != 1 else pixels)
        return F.normalize(total, dim=1)[0].double().numpy()

    items = dataset.splits["train"].items
    training, labels = np.stack([described(dataset, i) for i in items]), dataset.labels[items]
    whitened = learnt(training, labels)  # which the next test holds to sums over pairs

    split = oxford.splits["test"]
    queries, gallery = (
        whitened(np.stack([described(oxford, i) for i in part]))
        for part in (split.query, split.gallery)
    )
    wanted = {"mAP-E": ("easy",), "mAP-M": ("easy", "hard"), "mAP-H": ("hard",)}
    for column, grades in wanted.items():
        scores = []
        for q, judgement in zip(queries, JUDGED["gnd"], strict=True):
            good = {i for grade in grades for i in judgement[grade]}
            junk = {i for grade in ("easy", "hard", "junk") for i in judgement[grade]} - good
            order = [
                i
                for i in sorted(range(4), key=lambda i, q=q: -float(q @ gallery[i]))
                if i not in junk
            ]
            if good:
                scores.append(trapezoid([order.index(i) + 1 for i in good]))
        assert outcome.rows[0].scores[column].mean == pytest.approx(np.mean(scores))
    assert "whitening learnt, 4 directions" in outcome.notes[0]


def test_whitening_against_sums_over_pairs():
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(30, 3)) @ np.diag([1, 3, 0.2]), np.arange(30) % 4
    found = learnt(rows, labels)
    same = np.zeros((3, 3))
    for i in range(30):
        for j in range(30):
            if labels[i] == labels[j]:
                same += np.outer(rows[i] - rows[j], rows[i] - rows[j])
    np.testing.assert_allclose(found.projection.T @ same @ found.projection, np.eye(3), atol=1e-9)
    whole = pca(rows)
    np.testing.assert_allclose(
        np.cov(((rows - whole.mean) @ whole.projection).T, bias=True), np.eye(3), atol=1e-9
    )
    assert found(rows).shape == (30, 3) and learnt(rows, labels, dim=2)(rows).shape == (30, 2)
    np.testing.assert_allclose(np.linalg.norm(whole(rows), axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (np.eye(4)[:3], [0, 0, 1], "3 images of 2 classes differ in 1 of 4 directions only"),
        (np.random.default_rng(0).normal(size=(9, 2)), [1] * 9, "images of one class"),
    ],
)
def test_what_cannot_whiten_says_so(rows, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        learnt(rows, np.array(labels))
    if "directions" in sentence:
        with pytest.raises(ValueError, match="too few to whiten"):
            pca(rows)


def test_revisited_needs_a_folder_and_training_images(trained, squares, tmp_path):
    with pytest.raises(
        ValueError,
        match="--protocol.oxford FOLDER, --protocol.paris FOLDER or --protocol.validation FOLDER",
    ):
        finish(lab.protocols.create("revisited").judge(None))


# The standard halves, and sets that fit other protocols


def test_standard_halves_are_what_evaluation_measures(trained, squares):
    base = config({"name": "class_folders", "root": str(squares), "validation": 0.25})
    standard = lab.protocols.create("standard_halves").configured(base)
    assert standard.data.knobs.validation == 0 and standard.evaluation.knobs.checkpoint == "last"
    run = trained("class_folders", squares, knobs={"test": 0.5, "validation": 0.25})
    outcome = judged("standard_halves", run)
    assert values(outcome.rows[0])["MAP@R"] == pytest.approx(run.scores("test")["values"]["MAP@R"])
    assert outcome.notes[0] == "6 classes trained, 8 others tested."
    assert "2 classes of the training half" in outcome.notes[1]


FITS_ANOTHER = [
    ("standard_halves", "svhn", "svhn tests on those it trains on"),
    ("standard_halves", "in_shop", "queries and a gallery; use the protocol query_gallery"),
    ("standard_halves", "revisited_paris", "queries and a gallery"),
    ("query_gallery", "sop", "searched among each other; use standard_halves"),
    ("query_gallery", "revisited_oxford", "judged by hand"),
    ("random_galleries", "revisited_oxford", "judged by hand"),
    ("hierarchical_ap", "vehicle_id", "no super-classes"),
]


@pytest.mark.parametrize(("protocol", "name", "sentence"), FITS_ANOTHER)
def test_a_set_for_another_protocol_is_refused_in_a_sentence(tmp_path, protocol, name, sentence):
    dataset = lab.data.create(name, root=str(WRITERS[name](tmp_path)))
    with pytest.raises(ValueError, match=sentence):
        lab.protocols.create(protocol).check(dataset)


def test_an_encoder_of_fixed_size_cannot_see_whole_photographs(trained, squares, tmp_path):
    vit = {"name": "timm_model", "backbone": "test_vit", "pretrained": False, "dim": 4}
    made = config({"name": "class_folders", "root": str(squares)}).changed("encoder", vit)
    run = lab.runs.create(made.changed("augmentation.size", 160), tmp_path, "vit")
    finish(lab.runs.execute(run))
    root = WRITERS["revisited_oxford"](tmp_path / "oxford")
    with pytest.raises(
        ValueError, match="timm_model could not embed training images in their own proportions"
    ):
        judged("revisited", run, oxford=str(root))


def test_a_trained_run_is_used_otherwise_by_command(trained, squares, capsys):
    run = trained("class_folders", squares, knobs={"test": 0.5})
    plain = run.scores("test")
    words = [
        "--evaluation.pooling",
        "mixed",
        "--evaluation.scales",
        "1",
        "0.75",
        "--evaluation.rerank",
        "contextual",
    ]
    assert main(["evaluate", str(run.path), *words, "--evaluation.rerank_k", "4", "--quiet"]) == 0
    stored = run.scores("test")
    assert stored["evaluation"]["pooling"] == "mixed" and stored["evaluation"]["rerank_k"] == 4
    assert stored["values"] != plain["values"]
    examiner = Evaluator(open_trained(run, config=run.config_of("test")))
    again, _ = finish(examiner.split("test"))
    np.testing.assert_allclose(again[0].vectors, run.embeddings("test").vectors, atol=1e-6)
