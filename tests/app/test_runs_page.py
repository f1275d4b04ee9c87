"""The Runs page: the table, remarks, names, the trash, and comparisons, all against the folders themselves."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lab.runs
from app import tables
from lab.runs import shelf


def select(page, *names, **state):
    """Select rows of the table by the names of their runs; `state` is what other widgets are set to."""
    table = page.test.dataframe[0]
    rows = [table.value["run"].tolist().index(name) for name in names]
    page.test.session_state[table.key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    for key, value in state.items():
        page.test.session_state[key] = value
    return page.run()


def test_the_table_holds_what_the_folders_say(runs, open_page):
    table = open_page("runs").test.dataframe[0].value
    assert set(table["run"]) == {"recall", "smooth"}
    line = table.set_index("run").loc["recall"]
    scores = lab.runs.open(runs / "recall").scores("test")["values"]
    assert {name: line[name] for name in scores} == pytest.approx(scores)
    assert line["state"] == "finished" and line["loss"] == "recall_at_k" and line["progress"] == 1


def test_validation_scores_on_request(runs, open_page):
    page = open_page("runs")
    page.test.get("button_group")[0].set_value("validation").run()
    line = page.test.dataframe[0].value.set_index("run").loc["smooth"]
    assert line["MAP@R"] == pytest.approx(lab.runs.open(runs / "smooth").scores("validation")["values"]["MAP@R"])


def test_the_filter_wants_every_word(runs, open_page):
    shelf.remark(lab.runs.open(runs / "recall"), "the <i>best</i> so far", ["keep"])
    page = open_page("runs")
    page.test.text_input(key="filter").set_value("KEEP emoji7").run()
    assert page.test.dataframe[0].value["run"].tolist() == ["recall"]
    page.test.text_input(key="filter").set_value("no such thing").run()
    assert "None of the 2 runs" in page.words() and page.calm


def test_no_runs_says_what_to_do(no_runs, open_page):
    assert "lab train" in open_page("runs").words()


def test_a_note_and_tags_are_kept(runs, open_page):
    page = select(open_page("runs"), "recall")
    assert page.calm, page.words()
    page.test.text_area[0].set_value("seen & *liked*")
    next(b for b in page.test.button if b.label == "Keep note and tags").click().run()
    assert shelf.remarks(lab.runs.open(runs / "recall"))["note"] == "seen & *liked*"


def test_rename_and_its_refusals(runs, open_page):
    page = select(open_page("runs"), "recall")
    field = next(t for t in page.test.text_input if t.label == "Name")
    field.set_value("../out")
    next(b for b in page.test.button if b.label == "Rename").click().run()
    assert "letters, digits" in page.words() and (runs / "recall").is_dir()
    next(t for t in page.test.text_input if t.label == "Name").set_value("renamed")
    next(b for b in page.test.button if b.label == "Rename").click().run()
    assert page.calm, page.words()
    assert set(page.test.dataframe[0].value["run"]) == {"renamed", "smooth"}


def test_the_trash_and_back(runs, open_page):
    page = select(open_page("runs"), "recall")
    next(b for b in page.test.button if b.label == "Move to trash").click().run()
    assert page.test.dataframe[0].value["run"].tolist() == ["smooth"]
    next(b for b in page.test.button if b.label == "Give back").click().run()
    assert set(page.test.dataframe[0].value["run"]) == {"recall", "smooth"}
    assert lab.runs.open(runs / "recall").scores("test")


def test_a_deep_link_selects(runs, open_page):
    page = open_page("runs", runs="recall,smooth,nowhere")
    assert page.calm, page.words()
    assert "2 runs side by side" in [s.value for s in page.test.subheader]
    assert page.test.get("plotly_chart")


def test_the_difference_lists_what_differs_and_nothing_else(runs, open_page):
    page = select(open_page("runs"), "recall", "smooth", compared="Configuration")
    assert page.calm, page.words()
    shown = page.test.dataframe[1].value
    expected = lab.runs.difference(*(lab.runs.open(runs / n).config for n in ("recall", "smooth")))
    assert set(shown["knob"]) == set(expected)
    line = shown.set_index("knob").loc["loss.name"]
    assert (line["recall"], line["smooth"]) == ("recall_at_k", "smooth_ap")


def test_seeds_are_averaged(runs, open_page, train_tiny):
    train_tiny(runs, "recall-again", loss="recall_at_k", training={"seed": 5})
    page = select(open_page("runs"), "recall", "smooth", "recall-again", compared="Seeds")
    assert page.calm, page.words()
    table = page.test.dataframe[1].value.set_index("loss")
    values = [lab.runs.open(runs / n).scores("test")["values"]["MAP@R"] for n in ("recall", "recall-again")]
    assert table.loc["recall_at_k", "runs"] == 2
    assert table.loc["recall_at_k", "MAP@R"] == pytest.approx(np.mean(values))
    assert table.loc["recall_at_k", "MAP@R ±"] == pytest.approx(np.std(values, ddof=1))
    assert table.loc["smooth_ap", "runs"] == 1 and np.isnan(table.loc["smooth_ap", "MAP@R ±"])


def test_a_damaged_status_is_a_state_not_an_error(runs, open_page):
    (runs / "recall" / "status.json").write_text("{")
    (runs / "recall" / "meta.json").write_bytes(b"\xff\xfe")
    (runs / "recall" / "metrics.jsonl").write_bytes(b'\x00\x01 not json\n{"kind": 3}\n[]\n')
    page = open_page("runs")
    assert page.calm, page.words()
    assert page.test.dataframe[0].value.set_index("run").loc["recall", "state"] == "damaged"
    page = select(page, "recall", "smooth")
    assert page.calm, page.words()


def test_published_numbers_are_marked_and_known():
    rows = tables.published(["sop", "vehicle_id", "emoji7"])
    assert {row["data"] for row in rows} == {"sop", "vehicle_id small", "vehicle_id medium", "vehicle_id large"}
    assert all(re.fullmatch(r"00[0-4], (table \d|section 4.3)", row["source"]) for row in rows)
    sop = next(r for r in rows if (r["method"], r["backbone"], r["dim"]) == ("RS@k", "ResNet-50", 512))
    assert sop["r@1"] == pytest.approx(0.828) and sop["source"] == "000, table 2"
