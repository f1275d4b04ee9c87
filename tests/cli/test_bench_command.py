"""`lab bench` measures what was asked, and says what it was measured on."""

import json

from lab.__main__ import main
from lab.bench._measure import BenchRow


def test_rows_become_a_table_json_and_a_file(monkeypatch, capsys, tmp_path):
    from lab import bench

    rows = [
        BenchRow("losses", "recall_at_k", "n=8", 0.5, "x", "bare step", 0.75),
        BenchRow("losses", "recall_at_k", "n=8", 2.0, "s"),
    ]
    monkeypatch.setattr(bench, "measure", lambda chosen, quick, cpu_time: iter(rows))
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"][0]["value"] == 0.5 and told["machine"]["cores"] >= 1
    assert main(["bench", "--output", str(tmp_path / "table.md")]) == 0
    assert "| recall_at_k | n=8 | 0.5 x | bare step | 0.75 x |" in (tmp_path / "table.md").read_text()


def test_a_benchmark_is_compared_with_an_earlier_one(monkeypatch, capsys, tmp_path):
    from lab import bench

    def run(seconds, *words):
        rows = [
            BenchRow("losses", "slow now", "n=8", seconds, "x", "quickest bare step", spread=0.02),
            BenchRow("losses", "noisy", "n=8", 1 + seconds / 10, "x", spread=0.5),
            BenchRow("search", "two-stage", "5 items", 60 * seconds, "x", "faiss flat", spread=0.01),
            BenchRow("maps", "pca", "n=9", seconds**0.1, "s", spread=0.01),  # moves, but by less than is a change
            BenchRow("maps", "trustworthiness", "n=9", 0.9, "share"),
        ]
        monkeypatch.setattr(bench, "measure", lambda chosen, quick, cpu_time: iter(rows))
        assert main(["bench", *words]) == 0
        return capsys.readouterr().err

    file = str(tmp_path / "before.json")
    run(1.0, "--output", file)
    told = run(1.3, "--compare", file).splitlines()
    worse, better = [line for line in told if "factor" in line]
    assert worse.startswith("losses: slow now, n=8: worse by a factor of 1.30, from 1 to 1.3 x (noise 5 %)")
    assert worse != better and "search: two-stage, 5 items: better by a factor of 1.30" in better
    assert "Nothing changed" in run(1.0, "--compare", file)
    text = (tmp_path / "before.json").read_text()
    assert '"clock": "wall clock"' in text and '"date": "20' in text
    before = json.loads(text)
    before["rows"] = [row for row in before["rows"] if row["unit"] == "s"]
    del before["machine"]["threads"]
    (tmp_path / "before.json").write_text(json.dumps(before))
    told = run(1.0, "--compare", file)  # nothing is left to compare, which is no all-clear
    assert "(threads unknown then and " in told and "times, ratios and memory are left out" in told
    assert "No row of the two benchmarks can be compared." in told
    assert "Nothing changed" not in told and "OMP_NUM_THREADS" not in told
    assert main(["bench", "--compare", str(tmp_path / "none.json")]) == 2
    assert "is not a benchmark to compare with" in capsys.readouterr().err


def test_mistakes_are_sentences(capsys, tmp_path):
    assert main(["bench", "nothing"]) == 2
    assert "no benchmark section 'nothing'" in capsys.readouterr().err
    assert main(["bench", "--output", str(tmp_path / "table.doc")]) == 2
    assert ".md, .json, .png or .html" in capsys.readouterr().err
