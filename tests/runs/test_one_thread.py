"""A small network trains with one thread, whoever starts it: the command line, the queue, or a program."""

import torch

import lab.runs
from lab.core.records import Stepped
from lab.runs.threads import training_threads


def test_the_steps_of_a_small_network_have_one_thread(tmp_path, tiny_sections):
    run = lab.runs.create(
        lab.runs.RunConfig.of(tiny_sections).changed("training.device", "cpu"), tmp_path, "small"
    )
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        seen = {
            torch.get_num_threads()
            for record in lab.runs.execute(run)
            if isinstance(record, Stepped)
        }
        after = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert (seen, after) == ({1}, 3)


def test_a_head_trains_with_one_thread_and_a_large_network_with_all():
    def threads(**encoder):
        return training_threads(lab.runs.RunConfig.of({"encoder": encoder}), 8)

    assert threads(name="small_cnn") == threads(name="adapted", base="efficientnet_lite0") == 1
    assert threads(name="efficientnet_lite0") == 8
