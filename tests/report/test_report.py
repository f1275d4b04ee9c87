"""Reports of made-up runs, against values worked out by hand."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

import lab.papers.tables
import lab.report
from lab.__main__ import main
from lab.runs import Run, RunConfig


@pytest.fixture
def make(tmp_path):
    """Write a run folder as training leaves it: name, scores of test, and what differs from a small run on emoji."""

    def made(
        name: str,
        scores: dict | None,
        width=8,
        queries=100,
        validated=True,
        split="test",
        **sections,
    ) -> Run:
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
        (folder / "metrics.jsonl").write_text(
            '{"kind": "validated", "step": 1}\n' if validated else ""
        )
        if scores is not None:
            told = {"values": scores, "queries": queries, "evaluation": config.evaluation.as_dict()}
            (folder / "scores" / f"{split}.json").write_text(json.dumps(told))
            vectors = np.zeros((1, width), dtype=np.float32)
            save_file({"query.vectors": vectors}, folder / "embeddings" / f"{split}.safetensors")
        return Run(folder)

    return made


def seeds(make, values=(0.60, 0.62, 0.64), name="run", **sections):
    return [
        make(
            f"{name}{seed}",
            {"r@1": value},
            **{**sections, "training": {"steps": 100, "seed": seed}},
        )
        for seed, value in enumerate(values)
    ]


def only(warnings, words):
    """The single warning that begins with these words."""
    (found,) = [w for w in warnings if w.startswith(words)]
    return found


def test_mean_and_interval_over_seeds(make):
    """t(0.975, 2) = 4.302653, s = 0.02: half of the interval is 4.302653 x 0.02 / sqrt 3 = 0.049683."""
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


def test_one_seed_has_no_interval_and_says_so(make):
    found = lab.report.report(seeds(make, values=(0.5,)))
    assert found.records()[0]["scores"]["r@1"] == {"mean": 0.5, "half": None, "n": 1}
    text = lab.report.write(found)
    assert "| 1 | 50.0 |" in text and "One seed, hence no interval: contrastive." in text


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
    assert "random (contrastive); pretrained (smooth_ap)" in only(
        found, "Different initial weights"
    )
    assert "3,200 (contrastive); 6,400 (smooth_ap)" in only(
        found, "Different numbers of training images"
    )
    protocol = only(found, "Different split or protocol")
    assert all(
        knob in protocol for knob in ("split_seed 0 (contrastive), 3", "flip False", "queries 100")
    )
    assert "smooth_ap: trained without validation" in only(found, "Selected on test")
    assert len(found) == 7


def test_other_data_seeds_that_are_shared_and_selection_are_told(make):
    one = make("one", {"r@1": 0.5})
    shared = lab.report.report([one, make("b", {"r@1": 0.6})]).warnings
    assert "Runs one, b of contrastive share a seed" in only(shared, "Runs one, b")
    run = make("chosen", {"r@1": 0.5}, split="validation")
    assert "chosen by the very scores" in only(
        lab.report.report([run], "validation").warnings, "Selected on valid"
    )
    text = lab.report.write(lab.report.report([run], "validation"), "latex")
    assert "% Selected" not in text and "Selected on valid" in text[: text.index(r"\end{table}")]
    two = make("two", {"r@1": 0.5}, data={"name": "cub200", "root": "birds"})
    found = lab.report.report([one, two])
    assert "emoji7 (contrastive); cub200 (contrastive)" in only(
        found.warnings, "Different data sets"
    )
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
    assert contextual and "checkpoint chosen by the test score" in only(
        every.warnings, "Selected on test"
    )


def test_published_numbers_of_another_test_set_stay_away(make):
    data = {"name": "vehicle_id", "root": "cars", "test_size": "large"}
    found = lab.report.report(
        [make("own", {"r@1": 0.5}, data=data, loss={"name": "smooth_ap"})], published=True
    )
    assert {line.data for line in found.lines} == {"vehicle_id large"}
    rows = lab.papers.tables.rows(("vehicle_id",), ("smooth_ap",))
    assert len(found.lines) == 1 + sum(row.part == "large" for row in rows)


def test_another_search_than_ours_is_told(make):
    """003 prints CAM's mAP of a two-stage search of the training images, but CE's of an exact one."""
    sets = {"name": "svhn", "root": "digits", "gallery": "train"}
    loss, scores = {"name": "class_anchor_margin"}, {"mAP": 0.5, "P@20": 0.6}
    run = make("own", scores, data=sets, loss=loss, evaluation={"search": "exact"})
    found = lab.report.report([run], published=True, any_loss=True)
    text = lab.report.write(found)
    assert "| 96.7 ± 0.1 sd | 95.4 ± 0.0 sd |" in text
    assert "search of mAP None (class_anchor_margin), two_stage (CAM" in only(
        found.warnings, "Different split"
    )
    assert text.count("P@20 and P@100 go with the exact one") == 1, (
        "a note of several rows is told once"
    )
    assert len(found.to_frame()) == len(found.lines)
    assert "the standard deviation over the paper's trials" in text


ODD = r"50%_$\~^#{&}<b>|*"


def odd(make):
    """A run whose name of data would be a command to every format."""
    run = make("own", {"r@1": 0.5, "MAP@R": None})
    found = lab.report.report([run])
    line = found.lines[0]
    return lab.report.Report(
        (
            lab.report.ReportLine(
                ODD, ODD, line.facts, line.scores, line.source, line.runs, line.seeds
            ),
        ),
        found.columns,
        found.split,
    )


def test_latex_escapes_names(make):
    text = lab.report.write(odd(make), "latex")
    row = next(line for line in text.splitlines() if line.startswith("50"))
    assert row.startswith(
        r"50\%\_\$\textbackslash{}\textasciitilde{}\textasciicircum{}\#\{\&\}<b>|* & own"
    )
    assert row.endswith(r"& 50.0 & - \\")
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
    assert len(columns) == len(re.findall(r"(?<!\\)&", row)) + 1
    assert "$\\pm$" in lab.report.write(lab.report.report(seeds(make)), "latex")


def test_markdown_escapes_names(make):
    text = lab.report.write(odd(make), "markdown")
    row = text.splitlines()[2]
    assert r"50%\_$\\~^#{&}\<b>\|\*" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 9
    assert "recall_at_k" in lab.report.write(
        lab.report.report([make("r", {"r@1": 1.0}, loss={"name": "recall_at_k"})])
    )


def test_mistakes_get_one_sentence(make, capsys):
    unfinished = make("unfinished", None)
    with pytest.raises(
        ValueError, match="unfinished has no scores of split test; run: lab evaluate .*unfinished"
    ):
        lab.report.report([make("done", {"r@1": 0.5}), unfinished])
    lab.runs.from_embeddings(
        [[1.0, 0], [0, 1], [1, 0]],
        ["a", "b", "a"],
        split="validation",
        name="own",
        runs=unfinished.path.parent,
    )
    with pytest.raises(
        ValueError,
        match="own has no scores of split test; there are those of validation: --split val",
    ):
        lab.report.report([Run(unfinished.path.parent / "own")], "test")
    assert lab.report.report([Run(unfinished.path.parent / "own")]).split == "validation", (
        "all that it has"
    )
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
    assert (
        main(
            [
                "runs",
                "report",
                *[str(run.path) for run in runs],
                "--format",
                "latex",
                "--scores",
                "r@1",
            ]
        )
        == 0
    )
    assert r"62.0 $\pm$ 5.0" in capsys.readouterr().out
    assert (
        main(["runs", "report", "run0", "run1", "--runs", str(runs[0].path.parent), "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["lines"][0]["seeds"] == [0, 1] and told["warnings"] == []


def test_what_is_special_about_a_published_row_is_told(make, tmp_path):
    run = make(
        "one",
        {"r@1": 0.5, "r@10": 0.6},
        data={"name": "sop", "root": str(tmp_path)},
        loss={"name": "proxy_nca"},
    )
    notes = lab.report.report([run], published=True).notes
    assert (
        "ProxyNCA++ [RS@k, table 2, quoted]: ROADMAP, table 4, prints r@10 92.0 for this row."
        in notes
    )


def test_what_differs_from_a_loss_of_that_name_stands_beside_its_line(make):
    runs = [
        make(name, {"r@1": 0.6}, loss={"name": name}) for name in ("proxy_nca", "multi_similarity")
    ]
    notes = lab.report.report(runs).notes
    only(notes, "proxy_nca: ProxyNCA++, at temperature 0.111; pytorch-metric-learning's")
    only(notes, "multi_similarity: with its miner;")
    usual = make("usual", {"r@1": 0.6}, loss={"name": "proxy_nca", "temperature": 1.0})
    assert not [note for note in lab.report.report([usual]).notes if "ProxyNCA++" in note]


def test_one_rate_for_several_losses_is_said(make):
    runs = [
        make(name, {"r@1": 0.6}, loss={"name": name}) for name in ("contrastive", "triplet_margin")
    ]
    only(lab.report.report(runs).notes, "One learning rate for all losses, 0.001:")
    other = make(
        "other", {"r@1": 0.6}, loss={"name": "smooth_ap"}, optimiser={"name": "adamw", "lr": 0.01}
    )
    for found in (lab.report.report(runs[:1]), lab.report.report([*runs, other])):
        assert not [note for note in found.notes if "One learning rate" in note]
