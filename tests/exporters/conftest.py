"""One trained run for all exporters that write what a run ends with."""

import pytest


@pytest.fixture(scope="session")
def run(tmp_path_factory, train_tiny):
    return train_tiny(tmp_path_factory.mktemp("exported"), "tiny", training={"steps": 2})
