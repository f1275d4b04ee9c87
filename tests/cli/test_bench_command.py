"""`lab doctor bench` measures what was asked, and says what it was measured on."""

import json

from lab.__main__ import main
from lab.doctor.bench._measure import BenchRow


def test_rows_become_a_table_json_and_a_file(monkeypatch, capsys, tmp_path):
    from lab.doctor import bench

    rows = [
        BenchRow("losses", "recall_at_k", "n=8", 0.5, "x", "bare step"),
        BenchRow("losses", "recall_at_k", "n=8", 2.0, "s"),
    ]
    monkeypatch.setattr(bench, "measure", lambda chosen, quick: iter(rows))
    assert main(["doctor", "bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"][0]["value"] == 0.5 and told["machine"]["cores"] >= 1
    assert main(["doctor", "bench", "--output", str(tmp_path / "table.md")]) == 0
    assert "| recall_at_k | n=8 | 0.5 x | bare step |" in (tmp_path / "table.md").read_text()


def test_mistakes_are_sentences(capsys, tmp_path):
    assert main(["doctor", "bench", "nothing"]) == 2
    assert "no benchmark section 'nothing'" in capsys.readouterr().err
    assert main(["doctor", "bench", "--output", str(tmp_path / "table.doc")]) == 2
    assert ".md or .json" in capsys.readouterr().err
