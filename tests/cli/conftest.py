"""Commands keep listings among the caches of a test session, not among those of the person who runs it."""

import pytest


@pytest.fixture(scope="session")
def caches(tmp_path_factory):
    return tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def own_caches(caches, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(caches))
