"""Sittings of a study's file that were killed before their first trial."""

import json

from lab import trials
from lab.trials import Trial

TRIAL = Trial({"loss": "triplet"}, 0.1, 0, "d", {"r@1": 0.5}, {"r@1": 0.5}).as_json()


def sitting(device):
    return json.dumps({"session": {"device": device}})


def test_a_sitting_without_a_trial_binds_no_other_to_its_device(tmp_path):
    path = tmp_path / "tau1.jsonl"
    path.write_text(sitting("cuda") + "\n" + TRIAL[:20])
    assert trials.read(path).device == "", "no other device is refused"
    path.write_text("\n".join([sitting("cuda"), sitting("cpu"), TRIAL, ""]))
    held = trials.read(path)
    assert held.device == "cpu" and held.sessions == ({"device": "cpu"},) and len(held.trials) == 1
