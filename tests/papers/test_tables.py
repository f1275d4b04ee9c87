"""Published numbers: legal names, sane values, and a sample read from the papers once more by hand."""

import itertools

import pytest

import lab.data
import lab.figures
import lab.losses
import lab.papers.tables
from lab.papers.tables import rows


def the(data, method, encoder, dim, table=None, part=""):
    """The single row of this description."""
    (row,) = [
        r
        for r in rows(data=(data,))
        if (r.method, r.encoder, r.dim, r.part) == (method, encoder, dim, part) and table in (None, r.source)
    ]
    return row


def test_rows_speak_of_things_that_are_there():
    for row in rows():
        assert row.data in lab.data.names() and row.loss in lab.losses.names() and row.paper in lab.papers.tables.TITLES
        assert row.values and all(0 < value < 1 for value in row.values.values())


def test_a_longer_list_never_finds_less():
    for row in rows():
        hits = [value for column, value in row.values.items() if column.startswith("r@")]
        assert all(a <= b for a, b in itertools.pairwise(hits)), row


def test_no_row_stands_twice():
    keys = [(r.source, r.data, r.part, r.method, r.encoder, r.dim, r.size) for r in rows()]
    assert len(set(keys)) == len(keys)


def test_rows_are_chosen_by_data_and_loss():
    assert {r.data for r in rows(data=("sop", "svhn"))} == {"sop", "svhn"}
    assert {r.loss for r in rows(data=("sop",), loss=("fast_ap",))} == {"fast_ap"}
    assert rows(data=("emoji7",)) == ()


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (("sop", "RS@k + SiMix", "ResNet-50", 512), {"r@1": 0.821, "r@10": 0.928, "r@100": 0.97, "r@1000": 0.991}),
        (("vehicle_id", "RS@k", "ViT-B/16", 512, "000, table 2", "large"), {"r@1": 0.947, "r@5": 0.971}),
        (("revisited_paris", "RS@k", "ResNet-101", 2048, "000, table 3"), {"mAP-M": 0.821, "mAP-H": 0.639}),
        (("cub200", "ROADMAP", "DeiT-S", 384), {"r@1": 0.774, "r@2": 0.855, "r@4": 0.914, "r@8": 0.95}),
        (("tiny_imagenet", "CAM", "Swin-T", None), {"mAP": 0.761, "P@20": 0.745, "P@100": 0.749}),
        (("cars196", "Contextual", "ResNet-50", 1536),
         {"r@1": 0.918, "r@2": 0.954, "r@4": 0.974, "r@8": 0.986, "mAP": 0.433}),
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_papers(row, values):
    assert the(*row).values == values


def test_what_a_row_says_of_itself():
    row = the("sop", "Contextual", "ResNet-50", 512, "004, table 4")
    assert row.scores == "r@1 83.3, r@10 92.9, r@100 96.7"
    assert row.selected_on_test and row.size == 256 and row.trials == 3
    assert lab.papers.tables.of_recipe("contextual_sop_r50_512_256") == (row,)
    assert not the("sop", "RS@k", "ViT-B/16", 512).selected_on_test


def test_the_figure_shows_every_recipe_and_says_when_a_run_saw_other_data():
    class Emoji:
        name = "mine"
        config_dict = {"data": {"name": "emoji7"}, "loss": {"name": "contrastive"}}

        def scores(self, split):
            return {"values": {"r@1": 0.6}}

    numbers = lab.figures.create("reference_scores", dataset="CUB").numbers([Emoji()])
    assert numbers["own"] == [("mine (on emoji7, not comparable)", pytest.approx(60))]
    assert ("ROADMAP, DeiT, 384", pytest.approx(77.4), "001, table 4") in numbers["published"]
    assert len(numbers["published"]) == len([r for r in rows(("cub200",)) if r.recipe or r.loss == "proxy_anchor"])
