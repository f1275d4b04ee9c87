"""`lab doctor` looks at this machine and advises where something is wrong."""

import importlib.metadata
import json

from lab import doctor
from lab.__main__ import main


def test_examines_this_machine(capsys):
    assert main(["doctor", "--json"]) == 0
    findings = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"python", "torch", "torch with torchvision", "faiss", "ranking kernels", "memory"} <= set(findings)
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


def test_offline_is_told(monkeypatch):
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert "is not set" in next(doctor._offline()).detail
    monkeypatch.setenv("HF_HUB_OFFLINE", "true")
    (found,) = doctor._offline()
    assert found.state == "ok" and "HF_HUB_OFFLINE is set" in found.detail and "Unset" in found.advice


def test_two_builds_of_faiss_are_found(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: "1.0")
    (finding,) = doctor._faiss()
    assert finding.state == "broken" and "uninstall" in finding.advice


def test_kernels_that_nobody_keeps_are_told(monkeypatch):
    from numba.core.caching import NullCache

    from lab.search import _scans

    assert doctor._machine_code().state == "ok"
    kept = next(one for one in vars(_scans).values() if hasattr(one, "_cache"))
    monkeypatch.setattr(kept, "_cache", NullCache())
    found = doctor._machine_code()
    assert found.state == "warning" and "NUMBA_CACHE_DIR" in found.advice
