"""Reports of made-up runs, against values worked out by hand."""

import html
import json
import math
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

import lab.papers.tables
import lab.report
from lab.__main__ import main
from lab.core.estimates import Estimate
from lab.report import ReportLine
from lab.report._facts import Facts, of_row
from lab.report._fairness import deviations
from lab.runs import Run, RunConfig


@pytest.fixture
def make(tmp_path):
    """Write a run folder as training leaves it: name, scores of test, and what differs from a small run on emoji."""

    def made(name: str, scores: dict | None, width=8, queries=100, validated=True, split="test", **sections) -> Run:
        given = {
            "encoder": {"name": "small_cnn", "dim": width},
            "sampler": {"name": "m_per_class", "batch_size": 32},
            "loss": {"name": "contrastive"},
            "training": {"steps": 100},
        }
        for section, knobs in sections.items():
            given[section] = {**given.get(section, {}), **knobs}
        folder = tmp_path / "runs" / name
        for inner in ("scores", "embeddings"):
            (folder / inner).mkdir(parents=True)
        config = RunConfig.of(given)
        (folder / "config.yaml").write_text(config.as_yaml())
        (folder / "status.json").write_text(json.dumps({"state": "finished"}))
        (folder / "metrics.jsonl").write_text('{"kind": "validated", "step": 1}\n' if validated else "")
        if scores is not None:
            told = {"values": scores, "queries": queries, "evaluation": config.evaluation.as_dict()}
            (folder / "scores" / f"{split}.json").write_text(json.dumps(told))
            vectors = np.zeros((1, width), dtype=np.float32)
            save_file({"query.vectors": vectors}, folder / "embeddings" / f"{split}.safetensors")
        return Run(folder)

    return made


def seeds(make, values=(0.60, 0.62, 0.64), name="run", **sections):
    return [
        make(f"{name}{seed}", {"r@1": value}, **{**sections, "training": {"steps": 100, "seed": seed}})
        for seed, value in enumerate(values)
    ]


def only(warnings, words):
    """The single warning that begins with these words."""
    (found,) = [w for w in warnings if w.startswith(words)]
    return found


def test_mean_and_interval_over_seeds(make, tmp_path):
    """t(0.975, 2) = 4.302653, s = 0.02: half of the interval is 4.302653 x 0.02 / sqrt 3 = 0.049683; t(0.95, 2) is
    2.919986."""
    found = lab.report.report(seeds(make))
    (line,) = found.lines
    assert line.scores["r@1"].mean == pytest.approx(0.62)
    assert line.scores["r@1"].half == pytest.approx(0.0496828, abs=1e-6)
    assert line.seeds == (0, 1, 2) and line.runs == ("run0", "run1", "run2")
    assert found.warnings == ()
    text = lab.report.write(found)
    assert "| contrastive | own | small_cnn | 8 | 32 | 3 | 62.0 ± 5.0 |" in text
    assert "95 % confidence interval (Student's t) over n seeds" in text
    frame = found.to_frame()
    assert frame.loc[0, ["name", "n", "r@1"]].tolist() == ["contrastive", 3, pytest.approx(0.62)]
    assert frame.loc[0, "r@1 ±"] == pytest.approx(0.0496828, abs=1e-6)
    (line,) = lab.report.report([Run(tmp_path / "runs" / name) for name in line.runs], level=0.9).lines
    assert line.scores["r@1"].half == pytest.approx(2.919986 * 0.02 / math.sqrt(3), abs=1e-6)


def test_one_seed_has_no_interval_and_says_so(make):
    found = lab.report.report(seeds(make, values=(0.5,)))
    assert found.records()[0]["scores"]["r@1"] == {"mean": 0.5, "half": None, "n": 1}
    text = lab.report.write(found)
    assert "| 1 | 50.0 |" in text and "One seed, hence no interval: contrastive." in text


def test_where_data_lie_and_who_computed_do_not_set_runs_apart(make, tmp_path):
    data = {"name": "class_folders"}
    one = make("one", {"r@1": 0.5}, data={**data, "root": "/here"}, training={"seed": 0, "workers": 2})
    two = make("two", {"r@1": 0.7}, data={**data, "root": "/there"}, training={"seed": 1, "device": "cpu"})
    (line,) = lab.report.report([one, two]).lines
    assert line.scores["r@1"].mean == pytest.approx(0.6)


def test_settings_of_one_loss_are_told_apart_by_their_knobs(make):
    hard = make("hard", {"r@1": 0.5}, loss={"name": "smooth_ap", "tau": 0.01})
    soft = make("soft", {"r@1": 0.4}, loss={"name": "smooth_ap", "tau": 0.1}, training={"steps": 200})
    names = [line.name for line in lab.report.report([hard, soft]).lines]
    assert names == ["smooth_ap (tau 0.01, steps 100)", "smooth_ap (tau 0.1, steps 200)"]


def test_every_unfairness_has_its_sentence(make):
    one = make("one", {"r@1": 0.5})
    other = make(
        "other", {"r@1": 0.6}, width=16, queries=90, validated=False, loss={"name": "smooth_ap"},
        encoder={"name": "timm_model", "backbone": "resnet18.a1_in1k", "dim": 16}, testing={"size": 64},
        sampler={"batch_size": 64}, evaluation={"flip": True}, data={"name": "emoji7", "split_seed": 3},
    )  # fmt: skip
    found = lab.report.report([one, other]).warnings
    assert "small_cnn (contrastive); ResNet-18 (smooth_ap)" in only(found, "Different backbones")
    assert "8 (contrastive); 16 (smooth_ap)" in only(found, "Different widths")
    assert "32 (contrastive); 64 (smooth_ap)" in only(found, "Different image sizes")
    assert "random (contrastive); pretrained (smooth_ap)" in only(found, "Different initial weights")
    budget = only(found, "Unequal budgets")
    assert "contrastive 100 steps x 32 = 3,200 images" in budget and "100 steps x 64 = 6,400 images" in budget
    protocol = only(found, "Different split or protocol")
    assert all(knob in protocol for knob in ("split_seed 0 (contrastive), 3", "flip False", "queries 100"))
    assert "smooth_ap: trained without validation" in only(found, "Selected on test")
    assert len(found) == 7


def test_equal_work_in_other_steps_is_equal(make):
    long = make("long", {"r@1": 0.5}, training={"steps": 200}, sampler={"batch_size": 16})
    wide = make("wide", {"r@1": 0.5}, loss={"name": "smooth_ap"})
    assert lab.report.report([long, wide]).warnings == ()


def test_other_data_seeds_that_are_shared_and_selection_are_told(make):
    one = make("one", {"r@1": 0.5})
    shared = lab.report.report([one, make("b", {"r@1": 0.6})]).warnings
    assert "Runs one, b of contrastive share a seed" in only(shared, "Runs one, b")
    run = make("chosen", {"r@1": 0.5}, split="validation")
    assert "chosen by the very scores" in only(lab.report.report([run], "validation").warnings, "Selected on valid")
    text = lab.report.write(lab.report.report([run], "validation"), "latex")
    assert "% Selected" not in text and "Selected on valid" in text[: text.index(r"\end{table}")]
    two = make("two", {"r@1": 0.5}, data={"name": "cub200", "root": "birds"})
    found = lab.report.report([one, two])
    assert "emoji7 (contrastive); cub200 (contrastive)" in only(found.warnings, "Different data sets")
    assert "| method | source | data |" in lab.report.write(found)


def test_published_numbers_stand_beside_and_are_marked(make):
    data = {"name": "sop", "root": "products"}
    run = make("own", {"r@1": 0.5, "MAP@R": 0.2}, data=data, loss={"name": "recall_at_k"})
    found = lab.report.report([run], published=True)
    assert [line.published for line in found.lines] == [False] + [True] * (len(found.lines) - 1)
    assert {line.name for line in found.lines[1:]} >= {"RS@k", "RS@k + SiMix"}
    text = lab.report.write(found)
    assert "| RS@k | published: RS@k, table 2 | ResNet-50 | 512 | 224 | - | 82.8 | - |" in text
    assert "published, not measured here" in text
    assert "ResNet-50 (RS@k [RS@k, table 2]" in only(found.warnings, "Different backbones")
    every = lab.report.report([run], published=True, any_loss=True)
    contextual = [line for line in every.lines if line.name == "Contextual"]
    assert contextual and "checkpoint chosen by the test score" in only(every.warnings, "Selected on test")


def test_published_numbers_of_another_test_set_stay_away(make):
    data = {"name": "vehicle_id", "root": "cars", "test_size": "large"}
    found = lab.report.report([make("own", {"r@1": 0.5}, data=data, loss={"name": "smooth_ap"})], published=True)
    assert {line.data for line in found.lines} == {"vehicle_id large"}
    rows = lab.papers.tables.rows(("vehicle_id",), ("smooth_ap",))
    assert len(found.lines) == 1 + sum(row.part == "large" for row in rows)


def test_another_gallery_than_the_papers_is_told(make):
    """000 searches VehicleID all against all, a run as configured by default draws a random gallery."""
    sets = {"name": "vehicle_id", "root": "cars", "test_size": "small"}
    for gallery, word in ((True, "random_gallery True (smooth_ap), False (SAP + GeM + LN"), (False, None)):
        knobs = {"data": {**sets, "random_gallery": gallery}, "loss": {"name": "smooth_ap"}}
        run = make(f"own{gallery}", {"r@1": 0.5}, **knobs)
        told = [w for w in lab.report.report([run], published=True).warnings if w.startswith("Different split")]
        assert (len(told) == 1 and word in told[0]) if word else not told


def test_numbers_of_another_search_or_gallery_are_marked(make):
    """003 prints CAM's mAP of a two-stage search of the training images, but CE's of an exact one."""
    sets = {"name": "svhn", "root": "digits", "gallery": "train"}
    loss, scores = {"name": "class_anchor_margin"}, {"mAP": 0.5, "P@20": 0.6}
    run = make("own", scores, data=sets, loss=loss, evaluation={"search": "exact"})
    found = lab.report.report([run], published=True, any_loss=True)
    text = lab.report.write(found)
    assert "| 96.7 ± 0.1 sd (a) | 95.4 ± 0.0 sd |" in text
    assert "(a) Measured with search two_stage instead of exact." in text
    assert re.search(r"\| 89\.5 ± \d\.\d sd \| 95\.4 ± \d\.\d sd \|", text)  # CE
    assert "| 88.9 (b) | - |" in text and "(b) Measured with search untold instead of exact." in text  # its table 3
    assert text.count("P@20 and P@100 go with the exact one") == 1, "a note of several rows is told once"
    frame = found.to_frame()
    assert len(frame) == len(found.lines)
    (cam,) = [one for one in found.records() if (one["name"], one["encoder"]) == ("CAM", "ResNet-18")]
    assert "the standard deviation over the paper's trials" in text
    assert cam["scores"]["mAP"]["apart"] == "search two_stage instead of exact" and "apart" not in cam["scores"]["P@20"]
    other = make("other", {"mAP": 0.5}, data={**sets, "gallery": "test"}, loss={"name": "class_anchor_margin"})
    text = lab.report.write(lab.report.report([other], published=True))
    assert re.search(r"96\.1 ± \d\.\d sd \(b\)", text) and "Measured with gallery train instead of test." in text
    assert "96.7 ± 0.1 sd (a)" in text and "gallery train instead of test, search two_stage instead of exact" in text


@pytest.mark.parametrize("backwards", [False, True])
def test_no_two_published_numbers_of_unlike_measuring_share_a_column_unmarked(backwards):
    """Every row of every paper on one set in one table, in either order: two that tell of another search, gallery or
    protocol never both stand without a mark."""
    rows = [row for row in lab.papers.tables.rows() if row.values][:: -1 if backwards else 1]
    lines = [
        ReportLine(row.method, " ".join(filter(None, (row.data, row.part))), of_row(row),
             {column: Estimate.of([value]) for column, value in row.values.items()}, row.told_source)
        for row in rows
    ]  # fmt: skip
    columns = sorted({column for row in rows for column in row.values})
    marked, unlike = deviations(lines, columns), 0
    for column in columns:
        plain: dict[str, dict] = {}
        for at, (row, line) in enumerate(zip(rows, lines, strict=True)):
            if column not in row.values:
                continue
            told = {**row.protocol, "search": row.search.get(column, "exact")}
            if (at, column) in marked:
                unlike += 1
                continue
            seen = plain.setdefault(line.data, {})
            assert not {k: (v, seen[k]) for k, v in told.items() if seen.get(k, v) != v}, (row, column)
            seen.update(told)
    assert unlike > 30


def test_what_the_first_line_does_not_tell_is_compared_among_the_others():
    def line(name, **protocol):
        return ReportLine(
            name, "svhn", Facts("svhn", "R18", 8, 32, protocol=protocol), {"mAP": Estimate.of([0.5])}, "a paper"
        )

    found = deviations([line("silent"), line("one", gallery="train"), line("other", gallery="test")], ["mAP"])
    assert found == {(2, "mAP"): "gallery test instead of train"}


ODD = r"50%_$\~^#{&}<b>|*"


def odd(make):
    """A run whose name of data would be a command to every format."""
    run = make("own", {"r@1": 0.5, "MAP@R": None})
    found = lab.report.report([run])
    line = found.lines[0]
    return lab.report.Report(
        (lab.report.ReportLine(ODD, ODD, line.facts, line.scores, line.source, line.runs, line.seeds),),
        found.columns,
        found.split,
        found.level,
    )


def test_latex_escapes_names(make):
    text = lab.report.write(odd(make), "latex")
    row = next(line for line in text.splitlines() if line.startswith("50"))
    assert row.startswith(r"50\%\_\$\textbackslash{}\textasciitilde{}\textasciicircum{}\#\{\&\}<b>|* & own")
    assert row.endswith(r"& 50.0 & - \\")
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
    assert len(columns) == len(re.findall(r"(?<!\\)&", row)) + 1
    assert "$\\pm$" in lab.report.write(lab.report.report(seeds(make)), "latex")


def test_html_escapes_names(make):
    text = lab.report.write(odd(make), "html")
    assert f"<td>{html.escape(ODD)}</td>" in text and "<b>" not in text
    assert text.count("<td>") == text.count("<th>") == 8


def test_markdown_escapes_names(make):
    text = lab.report.write(odd(make), "markdown")
    row = text.splitlines()[2]
    assert r"50%\_$\\~^#{&}\<b>\|\*" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 9
    assert "recall_at_k" in lab.report.write(lab.report.report([make("r", {"r@1": 1.0}, loss={"name": "recall_at_k"})]))


def test_mistakes_get_one_sentence(make, capsys):
    unfinished = make("unfinished", None)
    with pytest.raises(ValueError, match="unfinished has no scores of split test; run: lab evaluate .*unfinished"):
        lab.report.report([make("done", {"r@1": 0.5}), unfinished])
    lab.runs.from_embeddings(
        [[1.0, 0], [0, 1], [1, 0]], ["a", "b", "a"], split="validation", name="own", runs=unfinished.path.parent
    )
    with pytest.raises(ValueError, match="own has no scores of split test; there are those of validation: --split val"):
        lab.report.report([Run(unfinished.path.parent / "own")])
    with pytest.raises(ValueError, match="at least one run"):
        lab.report.report([])
    with pytest.raises(ValueError, match="done is named twice"):
        lab.report.report([Run(unfinished.path.parent / "done")] * 2)
    with pytest.raises(ValueError, match="No run has a score mAP; there are r@1"):
        lab.report.report([Run(unfinished.path.parent / "done")], columns=["mAP"])
    with pytest.raises(ValueError, match="no format 'word'"):
        lab.report.write(lab.report.report([Run(unfinished.path.parent / "done")]), "word")


def test_the_command(make, capsys):
    runs = seeds(make)
    assert main(["report", *[str(run.path) for run in runs], "--format", "latex", "--scores", "r@1"]) == 0
    assert r"62.0 $\pm$ 5.0" in capsys.readouterr().out
    assert main(["report", "run0", "run1", "--runs", str(runs[0].path.parent), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines"][0]["seeds"] == [0, 1] and told["warnings"] == []


def test_less_error_than_a_line_as_000_prints_it(make):
    """RS@k, table 2, Cars196: 80.7 -> 88.2 does away with 7.5 of 19.3 points of error."""
    runs = [make("one", {"r@1": 0.807}), make("two", {"r@1": 0.882}, loss={"name": "smooth_ap"})]
    found = lab.report.report(runs, over="contrastive")
    assert found.error_reduction(found.lines[1], "r@1") == pytest.approx(7.5 / 19.3)
    assert found.error_reduction(found.lines[0], "r@1") is None
    assert "88.2 (+38.9 %) |" in lab.report.write(found) and "80.7 |" in lab.report.write(found)
    assert found.records()[1]["error_reduction"] == {"r@1": pytest.approx(7.5 / 19.3)}
    assert "the errors of contrastive that is gone" in found.notes[1]
    with pytest.raises(ValueError, match="no line 'nobody' to reduce the errors of; there are contrastive, smooth_ap"):
        lab.report.report(runs, over="nobody")


def test_what_is_special_about_a_published_row_is_told(make, tmp_path):
    run = make(
        "one", {"r@1": 0.5, "r@10": 0.6}, data={"name": "sop", "root": str(tmp_path)}, loss={"name": "proxy_nca"}
    )
    notes = lab.report.report([run], published=True).notes
    assert "ProxyNCA++ [RS@k, table 2, quoted]: ROADMAP, table 4, prints r@10 92.0 for this row." in notes
