"""`lab doctor` looks at this machine and advises where something is wrong."""

import importlib.metadata
import json

from lab import doctor
from lab.__main__ import main


def test_examines_this_machine(capsys):
    assert main(["doctor", "--json"]) == 0
    findings = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert {
        "python",
        "torch",
        "torch with torchvision",
        "faiss",
        "ranking kernels",
        "memory",
    } <= set(findings)
    assert all(row["advice"] for row in findings.values() if row["state"] != "ok")


def test_a_missing_part_is_broken_and_a_missing_extra_is_not(monkeypatch):
    real = importlib.metadata.version

    def without(name):
        if name in ("timm", "streamlit"):
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", without)
    found = {finding.what: finding for finding in doctor._parts()}
    assert found["timm"].state == "broken" and "pip install" in found["timm"].advice
    assert found["streamlit"].state == "missing" and "rankscope[app]" in found["streamlit"].advice
