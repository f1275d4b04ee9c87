"""The Runs page: the table, remarks, names, the trash, and comparisons, all against the folders themselves."""

from __future__ import annotations

import base64
import json
import shutil
from urllib.parse import parse_qs

import numpy as np
import pytest

import lab.runs
from app.shared import charts
from app.views.runs import comparison
from lab.report.curves import journal
from lab.runs import management


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


def test_the_filter_wants_every_word(runs, open_page):
    management.annotate(lab.runs.open(runs / "recall"), "the <i>best</i> so far", ["keep"])
    page = open_page("runs")
    page.test.text_input(key="filter").set_value("KEEP emoji7").run()
    assert page.test.dataframe[0].value["run"].tolist() == ["recall"]
    page.test.text_input(key="filter").set_value("no such thing").run()
    assert "None of the 2 runs" in page.words() and page.calm


def test_tags_and_groups_narrow_the_table_and_are_written_for_several_at_once(runs, open_page, train_tiny):
    page = open_page("runs")
    assert not [box for box in page.test.selectbox if box.label == "Group"], "no choice of nothing"
    page = select(page, "recall", "smooth")
    next(t for t in page.test.text_input if t.label == "Put into group").set_value("first tries")
    next(b for b in page.test.button if b.label == "Save tags and group").click().run()
    assert page.calm, page.words()
    management.annotate(lab.runs.open(runs / "recall"), tags=["keep"])
    page = open_page("runs", group="first tries", tag="keep")
    assert page.calm and page.test.dataframe[0].value["run"].tolist() == ["recall"]
    assert set(page.test.query_params) == {"group", "tag"}
    page = open_page("runs", group="nope", tag="nope")
    assert page.calm and len(page.test.dataframe[0].value) == 2 and not page.test.query_params
    page = select(page, "recall", "smooth")
    next(c for c in page.test.checkbox if c.label == "Take out of their groups").set_value(True)
    next(m for m in page.test.multiselect if m.label == "Remove tags").set_value(["keep"])
    next(b for b in page.test.button if b.label == "Save tags and group").click().run()
    assert {(one["group"], *one["tags"]) for one in map(management.notes, lab.runs.list(runs))} == {("",)}


def test_columns_are_chosen_and_kept_with_the_folder(runs, open_page):
    page = open_page("runs")
    page.test.multiselect(key="columns").set_value(["loss", "MAP@R"]).run()
    assert page.test.dataframe[0].value.columns.tolist() == ["run", "loss", "MAP@R"]
    assert page.again().test.dataframe[0].value.columns.tolist() == ["run", "loss", "MAP@R"]
    next(b for b in page.test.button if b.label == "Save").click().run()
    other = open_page("runs")
    assert other.test.dataframe[0].value.columns.tolist() == ["run", "loss", "MAP@R"] and not other.test.query_params
    next(b for b in other.test.button if b.label == "All").click().run()
    assert len(other.test.dataframe[0].value.columns) > 10 and other.calm
    (runs / ".dashboard.json").write_text('{"columns": 3}')
    assert len(open_page("runs").test.dataframe[0].value.columns) > 10


def test_knobs_of_two_runs_are_drawn_and_too_few_to_weigh(runs, open_page):
    page = open_page("runs", knobs="yes", score="r@1")
    assert page.calm, page.words()
    assert "2 runs with this score are too few" in page.words()
    (axes,) = [json.loads(one.proto.spec)["data"][0]["dimensions"] for one in page.test.get("plotly_chart")]
    assert [axis["label"] for axis in axes][0] == "loss.name" and axes[-1]["label"] == "r@1"
    assert axes[0]["ticktext"] == ["recall_at_k", "smooth_ap"]
    shutil.copytree(runs / "recall", runs / "twin")
    shutil.rmtree(runs / "smooth")
    assert "differ in no knob but their seed" in open_page("runs", knobs="yes").words()


def test_knobs_of_a_sweep_are_weighed(runs, open_page):
    """Thirty copies of a run whose score follows one knob."""
    whole = (runs / "recall" / "config.yaml").read_text()
    for at in range(30):
        folder = shutil.copytree(
            runs / "recall", runs / f"sweep-{at:02d}", ignore=shutil.ignore_patterns("*.safetensors")
        )
        (folder / "config.yaml").write_text(whole.replace("lr: 0.001", f"lr: {0.001 * (at + 1)}"))
        (folder / "scores" / "test.json").write_text(json.dumps({"values": {"MAP@R": 0.02 * at}}))
        management.annotate(lab.runs.open(folder), group="sweep")
    page = open_page("runs", group="sweep", knobs="yes")
    assert page.calm, page.words()
    assert "From 30 runs" in page.words()
    (bars,) = [json.loads(e.proto.json)["meters"] for e in page.test.get("bidi_component") if e.key == "importance"]
    assert [bar["title"] for bar in bars] == ["optimiser.lr"] and "higher scores" in bars[0]["words"]


def test_axes_are_logarithmic_where_numbers_span_much_and_words_stand_evenly():
    rates = comparison.axis([1e-4, 1e-2, 1e-3])
    assert rates["values"] == pytest.approx([-4, -2, -3]) and rates["ticktext"] == ["0.0001", "0.001", "0.01"]
    assert comparison.axis([0, 1, 500])["values"] == [0, 1, 500]
    words = comparison.axis(["b", None, "a" * 40])
    assert (
        words["values"] == [1, 2, 0] and words["ticktext"][1:] == ["b", "not set"] and len(words["ticktext"][0]) == 18
    )


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
    next(b for b in page.test.button if b.label == "Restore").click().run()
    assert set(page.test.dataframe[0].value["run"]) == {"recall", "smooth"}
    assert lab.runs.open(runs / "recall").scores("test")


def test_a_deep_link_selects(runs, open_page):
    page = open_page("runs", runs="recall,smooth,nowhere")
    assert page.calm, page.words()
    assert "2 runs compared" in [s.value for s in page.test.subheader]
    assert page.test.get("plotly_chart")
    page = open_page("runs", runs="recall,smooth", compared="Configuration")
    assert "loss.name" in page.test.dataframe[1].value["knob"].tolist()
    assert page.test.query_params["compared"] == "Configuration"


def test_choices_are_in_the_address(runs, open_page):
    page = open_page("runs")
    page = select(page, *page.test.dataframe[0].value["run"])
    assert set(page.test.query_params) == {"runs"}, "what stands at its default stays out"
    page.test.multiselect(key="curves").set_value(["lr", "loss"]).run()
    other = page.again()
    assert other.test.query_params["curves"] == ["lr", "loss"] == other.test.multiselect(key="curves").value
    page.test.multiselect(key="curves").set_value([]).run()
    assert page.again().test.multiselect(key="curves").value == []
    page.test.text_input(key="filter").set_value("emoji7 r@1>=0").run()
    page.test.session_state["scores_of"], page.test.session_state["states"] = "validation", ["finished"]
    page.test.selectbox(key="order").set_value("MAP@R").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert set(other.test.query_params) == {"runs", "scores", "filter", "state", "order", "curves"}
    page.test.text_input(key="filter").set_value("").run()
    other, shown = page.again().test.dataframe[0].value, page.test.dataframe[0].value
    assert other.equals(shown) and shown["MAP@R"].is_monotonic_decreasing and len(shown) == 2


def test_a_bad_address_falls_back(runs, open_page):
    bad = "a,<b>,,c"
    names = ("scores", "state", "order", "curves", "compared", "mean")
    page = open_page("runs", runs="recall,smooth", **dict.fromkeys(names, bad))
    assert page.calm, page.words()
    assert set(page.test.query_params) <= {"runs", "curves"}
    assert sorted(page.test.query_params["runs"].split(",")) == ["recall", "smooth"]
    page = open_page("runs", filter=bad, runs=bad)
    assert page.calm and "runs" not in page.test.query_params


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

    page = select(page, "recall", "smooth", "recall-again", compared="Curves", curves=["MAP@R", "loss"])
    assert len(traces(page, 0)) == 3, "a line a run until somebody asks"
    page.test.toggle(key="mean").set_value(True).run()
    assert page.calm, page.words()
    assert page.test.query_params == {"runs": "recall,smooth,recall-again", "mean": "yes"}
    band, mean, single = traces(page, 0)
    assert (mean["name"], single["name"]) == ("recall, mean of 2", "smooth")
    assert band["fillpattern"]["shape"] and mean["line"]["dash"] != single["line"]["dash"], "not by colour alone"
    steps, first = journal(runs / "recall").curve("MAP@R")
    both = np.array([first, journal(runs / "recall-again").curve("MAP@R")[1]])
    np.testing.assert_array_equal(numbers(mean["x"]), steps)
    np.testing.assert_allclose(numbers(mean["y"]), both.mean(0), atol=1e-6)
    reach = numbers(band["y"]).reshape(2, -1)
    np.testing.assert_allclose(reach[0] - both.mean(0), both.std(0, ddof=1), atol=1e-6)
    np.testing.assert_allclose(both.mean(0) - reach[1][::-1], both.std(0, ddof=1), atol=1e-6)


def traces(page, chart: int) -> list[dict]:
    return json.loads(page.test.get("plotly_chart")[chart].proto.spec)["data"]


def numbers(column) -> np.ndarray:
    """A column of a trace; Plotly sends arrays as their bytes."""
    if isinstance(column, dict):
        return np.frombuffer(base64.b64decode(column["bdata"]), column["dtype"])
    return np.array(column)


def test_curves_meet_at_the_steps_that_all_have():
    steps, mean, spread = charts.over_seeds([([1, 2, 3], [1.0, 2.0, 4.0]), ([2, 3, 4], [4.0, None, 0.0])])
    assert steps.tolist() == [2, 3]
    np.testing.assert_allclose(mean, [3, np.nan])
    np.testing.assert_allclose(spread, [2**0.5, np.nan])
    assert charts.over_seeds([([5], [1.0])])[2].tolist() == [0]
    pair = [([1, 2], [0.1, 0.2]), ([1, 2], [0.3, None])]
    drawn = charts.bands({"one": pair, "other": pair}, "loss").data
    assert [bool(trace.fill) for trace in drawn] == [True, True, False, False], "no band lies over a line"
    assert len({trace.fillpattern.shape for trace in drawn[:2]}) == 2
    assert list(drawn[0].x) == [1, 1], "no band where a curve has no value"


def test_a_filter_by_a_column_that_is_not_there_says_so(runs, open_page):
    assert "No run has a column foo" in open_page("runs", filter="foo>3").words()
    assert "No run has a column" not in open_page("runs", filter="r@1>2").words()


def test_two_runs_on_the_same_images_can_be_browsed_together(runs, open_page):
    links = open_page("runs", runs="recall,smooth").test.get("page_link")
    asked = [parse_qs(one.proto.query_string) for one in links if one.proto.label == "Browse both"]
    assert len(asked) == 1
    assert {*asked[0]["run"], *asked[0]["rival"]} in ({"recall", "run:smooth"}, {"smooth", "run:recall"})


def test_a_page_to_mail_is_made_on_request(runs, open_page):
    page = select(open_page("runs"), "recall")
    next(b for b in page.test.button if b.label == "Make an HTML report").click().run()
    assert page.calm, page.words()
    names, split, made = page.test.session_state["page to mail"]
    assert (names, split) == (["recall"], "test") and made.startswith("<!doctype html>")
    assert page.test.get("download_button")
