"""Published numbers: legal names, sane values, and a sample read from the papers once more by hand."""

import itertools
import re
from collections import Counter

import pytest
import yaml

import lab.data
import lab.figures
import lab.losses
import lab.papers.recipes
import lab.papers.tables
import lab.runs
from lab.__main__ import main
from lab.papers.tables import rows


def the(data, method, encoder, dim, table=None, part=""):
    """The single row of this description."""
    (row,) = [
        r
        for r in rows(data=(data,))
        if (r.method, r.encoder, r.dim, r.part) == (method, encoder, dim, part)
        and table in (None, r.source)
    ]
    return row


def test_rows_speak_of_things_that_are_there():
    for row in rows():
        assert row.data in lab.data.names() and row.paper in lab.papers.tables.TITLES
        assert row.loss is None or row.loss in lab.losses.names()
        assert row.values and all(0 < value < 1 for value in row.values.values())


def test_a_longer_list_never_finds_less():
    for row in rows():
        hits = [value for column, value in row.values.items() if column.startswith("r@")]
        assert all(a <= b for a, b in itertools.pairwise(hits)), row


def test_no_row_stands_twice():
    keys = [(r.source, r.data, r.part, r.method, r.encoder, r.dim, r.size) for r in rows()]
    assert len(set(keys)) == len(keys)


ROWS = {
    (
        "000",
        "table 2",
    ): 96,  # 32 methods with a backbone, on the sets that each has numbers for; VehicleID is three
    (
        "000",
        "table 3",
    ): 26,  # 5 rows: two sets without and with distractors, two means; AP of GLDv1 has two of them
    ("000", "section 4.3"): 10,
    ("001", "table 1"): 15,
    ("001", "table 2"): 4,
    ("001", "table 3"): 9,
    ("001", "table 4"): 50,
    ("003", "table 1"): 48,
    ("003", "table 2"): 32,
    ("003", "table 3"): 8,
    ("003", "table 4"): 16,
    ("002", "slide on the state of the art"): 75,
    ("002", "slide on In-Shop"): 11,
    ("002", "slide on transformers"): 40,
    ("002", "slide on backbones"): 9,
    ("004", "table 1"): 4,  # two losses, on the training classes and on the others
    ("004", "table 2"): 44,
    ("004", "table 3"): 22,
    ("004", "table 4"): 38,
    ("004", "table 5"): 16,
    (
        "004",
        "table 6",
    ): 57,  # 6 losses on three sets, without and with two targets, and the contextual loss with one
    ("004", "table 7"): 32,
    ("004", "table 8"): 10,
    ("004", "table 9"): 21,
    ("004", "table 10"): 56,
}
"""Rows of each table, one for each set that a printed line has numbers for; counted in the papers."""


TRAINED = ("CAM, table 1", *(f"Contextual, table {n}" for n in (2, 3, 4, 7, 8)))
"""Tables of the other papers whose every row that is not taken over has a recipe."""


def test_no_row_of_a_table_is_missing():
    assert Counter((row.paper, row.table) for row in rows()) == ROWS


def test_every_row_that_its_authors_trained_has_a_recipe():
    for row in rows():
        trained = row.paper in ("000", "001") or row.source in TRAINED
        if trained and row.loss and not row.quoted:
            assert row.recipe, row
    assert all(row.quoted for row in rows() if row.paper in ("000", "001") and row.loss is None)


def test_every_row_of_a_loss_that_is_not_quoted_is_trained_by_a_command():
    """By a recipe of its own, or by that of another row and some words."""
    for row in rows():
        if row.loss and not row.quoted:
            assert row.command, row
            assert (
                lab.papers.recipes.get(row.recipe or row.like).sections["loss"]["name"] == row.loss
            )
            assert not (row.recipe and row.like), row


LIKE = {(row.like, row.flags): row for row in rows() if row.like and row.flags}
ONE_OF_EACH = {(row.table, row.flags): row for row in LIKE.values()}
"""Words behind a recipe, once a table."""


@pytest.mark.parametrize("row", ONE_OF_EACH.values(), ids=lambda row: f"{row.source}, {row.method}")
def test_the_command_of_a_row_without_a_recipe_gives_its_configuration(row, capsys, tmp_path):
    words = row.command.replace("FOLDER", str(tmp_path)).split()
    assert main([*words[1:], "--print-config"]) == 0
    config = lab.runs.RunConfig.of(yaml.safe_load(capsys.readouterr().out))
    given = {
        **config.loss.values,
        **config.evaluation.values,
        "wrappers": [one.name for one in config.wrappers],
    }
    plain = lab.papers.recipes.get(row.like).sections
    for said in re.split(r" (?=--)", row.flags):
        flag, _, value = said.partition(" ")  # a flag without a value says yes, and with `--no-` no
        section, _, knob = flag.removeprefix("--").removeprefix("no-").rpartition(".")
        if section in ("loss", "evaluation"):
            value = value or str(not flag.startswith("--no-")).lower()
            assert str(given[knob]).lower() in (value, f"{value}.0"), flag
            assert str(plain[section].get(knob)).lower() != value
    assert given["wrappers"] == (["similarity_regulariser"] if "regularised" in row.method else [])
    assert given["search"] == (
        "exact" if row.paper != "003" or "exact" in row.flags else "two_stage"
    )


@pytest.mark.parametrize(
    ("data", "best", "before", "printed"),
    [
        # RS@k, table 2, width 512: the line of gains. By section 4.3, r@1 on SOP is 10.4, not the 11 of the table.
        ("sop", "RS@k", "ProxyNCA++", {"r@1": 11}),
        ("inaturalist2018", "RS@k + SiMix", "SAP", {"r@1": 14, "r@4": 16, "r@16": 16, "r@32": 17}),
        ("cars196", "RS@k + SiMix", "ProxyNCA++", {"r@1": 13, "r@2": 6.7, "r@4": 4.7, "r@8": -13}),
    ],
)
def test_printed_gains_are_error_reductions_of_the_printed_scores(data, best, before, printed):
    new, old = (
        the(data, method, "ResNet-50", 512, "RS@k, table 2").values for method in (best, before)
    )
    for column, percent in printed.items():
        found = 100 * (new[column] - old[column]) / (1 - old[column])
        assert found == pytest.approx(percent, abs=0.5), (column, found)


def test_rows_are_chosen_by_data_and_loss():
    assert {r.data for r in rows(data=("sop", "svhn"))} == {"sop", "svhn"}
    assert {r.loss for r in rows(data=("sop",), loss=("fast_ap",))} == {"fast_ap"}
    assert rows(data=("emoji7",)) == ()


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (("sop", "RS@k + SiMix", "ResNet-50", 512), {"r@1": 0.821, "r@10": 0.928, "r@100": 0.97, "r@1000": 0.991}),
        (("vehicle_id", "RS@k", "ViT-B/16", 512, "RS@k, table 2", "large"), {"r@1": 0.947, "r@5": 0.971}),
        (("revisited_paris", "RS@k", "ResNet-101", 2048, "RS@k, table 3"), {"mAP-M": 0.821, "mAP-H": 0.639}),
        (("cub200", "ROADMAP", "DeiT-S", 384), {"r@1": 0.774, "r@2": 0.855, "r@4": 0.914, "r@8": 0.95}),
        (("tiny_imagenet", "CAM", "Swin-T", None), {"mAP": 0.761, "P@20": 0.745, "P@100": 0.749}),
        (("cars196", "Contextual", "ResNet-50", 1536),
         {"r@1": 0.918, "r@2": 0.954, "r@4": 0.974, "r@8": 0.986, "mAP": 0.433}),
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_papers(row, values):
    assert the(*row).values == values


def test_what_a_row_says_of_itself():
    row = the("sop", "Contextual", "ResNet-50", 512, "Contextual, table 4")
    assert row.scores == "r@1 83.3, r@10 92.9, r@100 96.7"
    assert row.selected_on_test and row.size == 256
    assert lab.papers.tables.of_recipe("contextual_sop_r50_1536_224") == (
        the("sop", "Contextual", "ResNet-50", 1536),
    )
    assert not the("sop", "RS@k", "ViT-B/16", 512).selected_on_test


def test_the_figure_shows_every_recipe_and_says_when_a_run_saw_other_data():
    class Emoji:
        name = "mine"
        config_dict = {"data": {"name": "emoji7"}, "loss": {"name": "contrastive"}}

        def scores(self, split="test"):
            return {"values": {"r@1": 0.6}}

    numbers = lab.figures.create("reference_scores", dataset="CUB").numbers([Emoji()])
    assert numbers["own"] == [("mine (on emoji7, not comparable)", pytest.approx(60))]
    assert ("ROADMAP, DeiT-S, 384", "DeiT-S", pytest.approx(77.4), "ROADMAP, table 4") in numbers[
        "published"
    ]
    shown = [
        r
        for r in rows(("cub200",))
        if (r.recipe or r.method == "Pretrained alone") and "r@1" in r.values
    ]
    before = (
        "Pretrained alone, ResNet-50",
        "ResNet-50",
        pytest.approx(43.77),
        "DML deck, slide on backbones",
    )
    assert before in numbers["published"]
    assert len(numbers["published"]) == len(shown)
