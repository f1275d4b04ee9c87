"""The Runs page: the table, remarks, names, the trash, and comparisons, all against the folders themselves."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import yaml

import lab.runs
from app.shared import queueing
from lab.core import arrays
from lab.report.same_queries import same_queries
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


def test_tags_and_groups_narrow_the_table_and_are_written_for_several_at_once(runs, open_page):
    page = select(open_page("runs"), "recall", "smooth")
    next(t for t in page.test.text_input if t.label == "Put into group").set_value("first tries")
    next(b for b in page.test.button if b.label == "Save tags and group").click().run()
    assert page.calm, page.words()
    management.annotate(lab.runs.open(runs / "recall"), tags=["keep"])
    page = open_page("runs", filter="tries keep")
    assert page.calm and page.test.dataframe[0].value["run"].tolist() == ["recall"]
    page = open_page("runs")
    page = select(page, "recall", "smooth")
    next(c for c in page.test.checkbox if c.label == "Remove from their groups").set_value(True)
    next(m for m in page.test.multiselect if m.label == "Remove tags").set_value(["keep"])
    next(b for b in page.test.button if b.label == "Save tags and group").click().run()
    assert {(one["group"], *one["tags"]) for one in map(management.notes, lab.runs.list(runs))} == {
        ("",)
    }


def test_knobs_of_two_runs_are_drawn_and_too_few_to_weigh(runs, open_page):
    page = open_page("runs", compared="Settings", score="r@1")
    assert page.calm, page.words()
    assert "2 runs with this score are too few" in page.words()
    (axes,) = [
        json.loads(one.proto.spec)["data"][0]["dimensions"] for one in page.test.get("plotly_chart")
    ]
    assert [axis["label"] for axis in axes][0] == "loss.name" and axes[-1]["label"] == "r@1"
    assert axes[0]["ticktext"] == ["recall_at_k", "smooth_ap"]
    shutil.copytree(runs / "recall", runs / "twin")
    shutil.rmtree(runs / "smooth")
    assert "differ only in their seed" in open_page("runs", compared="Settings").words()


def test_knobs_of_a_sweep_are_weighed(runs, open_page):
    """Thirty copies of a run whose score follows one knob."""
    whole = (runs / "recall" / "config.yaml").read_text()
    for at in range(30):
        folder = shutil.copytree(
            runs / "recall",
            runs / f"sweep-{at:02d}",
            ignore=shutil.ignore_patterns("*.safetensors"),
        )
        (folder / "config.yaml").write_text(whole.replace("lr: 0.001", f"lr: {0.001 * (at + 1)}"))
        (folder / "scores" / "test.json").write_text(json.dumps({"values": {"MAP@R": 0.02 * at}}))
        management.annotate(lab.runs.open(folder), group="sweep")
    page = open_page("runs", filter="sweep", knobs="yes")
    assert page.calm, page.words()
    assert "From 30 runs" in page.words()
    (bars,) = [
        json.loads(e.proto.json)["meters"]
        for e in page.test.get("bidi_component")
        if e.key == "importance"
    ]
    assert [bar["title"] for bar in bars] == ["optimiser.lr"] and "higher scores" in bars[0][
        "words"
    ]


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
    assert "On the same " in page.words()
    page = open_page("runs", runs="recall,smooth", compared="Configuration")
    assert "loss.name" in page.test.dataframe[1].value["setting"].tolist()
    assert page.test.query_params["compared"] == "Configuration"


def test_choices_are_in_the_address(runs, open_page):
    page = open_page("runs")
    page = select(page, *page.test.dataframe[0].value["run"])
    assert set(page.test.query_params) == {"runs"}, "what stands at its default stays out"
    page.test.session_state["compared"] = "Seeds"
    page.run()
    page.test.text_input(key="filter").set_value("emoji7 r@1>=0").run()
    page.test.session_state["scores_of"] = "validation"
    page.test.selectbox(key="order").set_value("MAP@R").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert set(other.test.query_params) == {"runs", "scores", "filter", "order", "compared"}
    page.test.text_input(key="filter").set_value("").run()
    other, shown = page.again().test.dataframe[0].value, page.test.dataframe[0].value
    assert other.equals(shown) and shown["MAP@R"].is_monotonic_decreasing and len(shown) == 2


def test_seeds_are_averaged(runs, open_page, train_tiny):
    train_tiny(runs, "recall-again", loss="recall_at_k", training={"seed": 5})
    page = select(open_page("runs"), "recall", "smooth", "recall-again", compared="Seeds")
    assert page.calm, page.words()
    table = page.test.dataframe[1].value.set_index("loss")
    values = [
        lab.runs.open(runs / n).scores("test")["values"]["MAP@R"]
        for n in ("recall", "recall-again")
    ]
    assert table.loc["recall_at_k", "runs"] == 2
    assert table.loc["recall_at_k", "MAP@R"] == pytest.approx(np.mean(values))
    assert table.loc["recall_at_k", "MAP@R ±"] == pytest.approx(np.std(values, ddof=1))
    assert table.loc["smooth_ap", "runs"] == 1 and np.isnan(table.loc["smooth_ap", "MAP@R ±"])


def test_runs_are_compared_on_the_same_queries(runs, open_page):
    """One of them lacks a query: both are measured without it, and the table says so by a sign."""
    path = runs / "smooth" / "embeddings" / "test.safetensors"
    stored = arrays.read(path)
    arrays.write(
        path,
        {
            name: values[:-1] if name.startswith("query.") else values
            for name, values in stored.items()
        },
    )
    page = open_page("runs", runs="recall,smooth", by="r@1", against="smooth")
    assert page.calm, page.words()
    found = same_queries([lab.runs.open(name, runs) for name in ("recall", "smooth")])
    means = dict(zip(found.names, np.nanmean(found.values["r@1"], axis=1), strict=True))
    table = next(one.value for one in page.test.dataframe if "against smooth" in one.value.columns)
    assert dict(zip(table["run"], table["r@1"], strict=True)) == pytest.approx(means)
    base = found.names.index("smooth")
    assert table["against smooth"].tolist() == ["", str(found.difference("r@1", base, 1 - base))]
    assert (
        "(without 1 of recall)" in page.words()
        and "beyond the 95 % interval of each over its queries" in page.words()
    )
    card = page.section("apart", "apart")["cards"][0]
    page.pick("apart", "apart", card["id"])
    assert page.calm and page.test.header[0].value == "Browse"
    assert str(card["id"]) in page.test.query_params["query"]


def test_methods_are_compared_and_what_they_lack_is_queued(runs, open_page, no_worker):
    """One training each: networks are compared, and a click queues two more of each. With more: methods are."""
    page = open_page("runs", runs="recall,smooth", by="r@1", against="smooth")
    assert "To compare methods rather than networks, train each 3 times" in page.words()
    page.test.button(key="more seeds").click().run()
    assert page.calm, page.words()
    queued = queueing.queue().names
    assert sorted(queued) == ["recall-seed-1", "recall-seed-2", "smooth-seed-1", "smooth-seed-2"]
    configs = {name: lab.runs.open(runs / name).config for name in queued}
    assert {config.seed for config in configs.values()} == {1, 2}
    assert configs["recall-seed-1"].loss.name == "recall_at_k"
    # as if it had been trained: the embeddings of a network that differs a little
    for name in queued:
        folder, of = runs / name, runs / name.partition("-")[0]
        config = (folder / "config.yaml").read_text()
        shutil.rmtree(folder)
        shutil.copytree(of, folder)
        (folder / "config.yaml").write_text(config)
        path = folder / "embeddings" / "test.safetensors"
        stored = arrays.read(path)
        noise = np.random.default_rng(len(name)).normal(size=stored["query.vectors"].shape)
        stored["query.vectors"] = (stored["query.vectors"] + 0.1 * noise).astype(np.float32)
        arrays.write(path, stored)
    page = open_page(
        "runs", runs=",".join(["recall", "smooth", *queued]), by="r@1", against="smooth"
    )
    assert page.calm, page.words()
    table = next(one.value for one in page.test.dataframe if "less smooth_ap" in one.value.columns)
    assert table["method"].tolist() == ["smooth_ap", "recall_at_k"] and table["n"].tolist() == [
        "3",
        "3",
    ]
    assert "95 % interval over classes and trainings" in page.words()
    assert not [button for button in page.test.button if button.key == "more seeds"]


def test_scores_of_other_images_are_marked(runs, open_page):
    assert "≠" not in open_page("runs").words()
    config = yaml.safe_load((runs / "smooth" / "config.yaml").read_text())
    config["data"]["corrections"] = "/somewhere/1234.csv"
    (runs / "smooth" / "config.yaml").write_text(yaml.safe_dump(config))
    page = open_page("runs")
    assert "≠ Different letters after the number of queries" in page.words()
    queries = page.test.dataframe[0].value.set_index("run")["queries"]
    assert {queries["recall"][-1], queries["smooth"][-1]} == {"A", "B"}
    assert "≠ Their data differ" in open_page("watch", watched="recall", also="smooth").words()
    assert (
        "247 images joined by name and content"
        in open_page("browse", run="recall", rival="run:smooth").words()
    )


@pytest.mark.parametrize(
    ("label", "file"), [("HTML report", "report.html"), ("page to explore", "explore.html")]
)
def test_a_page_to_mail_is_made_on_request(runs, open_page, label, file):
    page = select(open_page("runs"), "recall")
    next(b for b in page.test.button if b.label.endswith(label)).click().run()
    assert page.calm, page.words()
    names, split, made, called = page.test.session_state["page to mail"]
    assert (names, split, called) == (["recall"], "test", file) and made.startswith(
        "<!doctype html>"
    )
    assert ('id="numbers.bin"' in made) == (file == "explore.html")
    assert page.test.get("download_button")
