"""The papers' numbers as rows."""

import re

import pytest

from lab.report import rows as tables


def test_published_numbers_are_marked_and_known():
    rows = tables.published(["sop", "vehicle_id", "emoji7"])
    assert {row["data"] for row in rows} == {
        "sop",
        "vehicle_id small",
        "vehicle_id medium",
        "vehicle_id large",
    }
    told = r"(RS@k|ROADMAP|CAM|Contextual), (table \d+|section 4.3)(, quoted)?|DML deck, slide on [\w -]+, quoted"
    assert all(re.fullmatch(told, row["source"]) for row in rows)
    sop = next(
        r for r in rows if (r["method"], r["backbone"], r["dim"]) == ("RS@k", "ResNet-50", 512)
    )
    assert sop["r@1"] == pytest.approx(0.828) and sop["source"] == "RS@k, table 2"
    assert all(row["measured"].startswith("random gallery no") for row in rows if row["source"] == "RS@k, table 2" and
               row["data"].startswith("vehicle_id") and row["loss"] == "recall_at_k")  # fmt: skip
