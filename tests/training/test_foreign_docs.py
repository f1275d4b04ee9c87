"""docs/foreign-loops.md: its snippets run, one after the other, as a reader would paste them."""

import re
from pathlib import Path

import pytest
import torch

from lab.core import arrays

PAGE = Path(__file__).parent.parent.parent / "docs" / "foreign-loops.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippets) == 10
    names: dict = {}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), names)
    assert names["found"].values["r@1"] > 0.9, "what the snippets train, they train"
    assert sorted(names["places"][0, :2].tolist()) == [0, 80], (
        "what was added is found beside its twin"
    )
    assert "MAP@R" in capsys.readouterr().out
    (kept,) = names["run"].run.batches().values()
    batch = arrays.read(kept)
    seen, classes = torch.as_tensor(batch["embeddings"]), torch.as_tensor(batch["labels"])
    assert names["loss"](seen, classes).item() == pytest.approx(arrays.header(kept)["loss"]), (
        "it is what the loss saw"
    )
