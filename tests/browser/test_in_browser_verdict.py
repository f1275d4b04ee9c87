"""A broken training is started, its finding seen while it runs, the knob moved, and the finding is gone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import lab.runs

pytestmark = pytest.mark.browser

SECTIONS = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04}, "augmentation": {"size": 24},
    "testing": {"resize": 24}, "encoder": {"name": "small_cnn", "width": 4, "dim": 16},
    "sampler": {"name": "m_per_class", "batch_size": 32}, "training": {"steps": 17, "validate_every": 17},
}  # fmt: skip


def test_a_finding_is_seen_while_a_training_runs_and_goes_with_its_knob(serve, tab, tmp_path):
    root = tmp_path / "runs"
    broken = lab.runs.RunConfig.of({**SECTIONS, "loss": {"name": "smooth_ap", "tau": 1e-5}})
    training = lab.runs.execute(run := lab.runs.create(broken, root, "steep"))
    page = tab(serve(root).url + "/watch?watched=steep")
    # it stands still after step 4, in the middle of its training, while somebody looks
    for record in training:
        if record.kind == "checkup" and record.step == 4:
            break
    assert run.state == "running"
    page.reload()
    finding = page.get_by_text("Verdict: out of the temperature's reach.")
    expect(finding).to_be_visible()
    training.close()
    page.get_by_role("button", name="Change loss.tau and train again").click()
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    mended = lab.runs.create(broken.changed("loss.tau", 0.05), root, "mended")
    for _ in lab.runs.execute(mended):
        pass
    page.goto(page.url.partition("/train")[0] + "/watch?watched=mended")
    expect(page.get_by_text("Finished, step 17 of 17")).to_be_visible()
    expect(finding).to_have_count(0)
