"""Embedding images, in one go and in pieces side by side."""

import threading

import numpy as np
import pytest
import torch

import lab
from lab.core.streams import result_of
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.evaluation.embedding import embed


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_pieces_side_by_side_are_the_same_in_the_same_order(two_threads, monkeypatch):
    images = lab.data.create("emoji7")
    encoder, items = lab.encoders.create("small_cnn", width=4, dim=8), np.arange(90)[::-1].copy()
    who, forward = set(), type(encoder).forward
    all_there = threading.Barrier(2)

    def seen(self, batch):
        if (
            threading.current_thread() not in who
            and threading.current_thread() is not threading.main_thread()
        ):
            who.add(threading.current_thread())
            all_there.wait(60)  # both of torch's threads have a piece
        return forward(self, batch)

    monkeypatch.setattr(type(encoder), "forward", seen)
    loader = Loader(images, transforms.testing(16))
    told = []
    found = result_of(embed(encoder, loader, items, batch_size=8, abreast=3), told.append)
    one = result_of(embed(encoder, loader, items, batch_size=8))
    assert len(who) == 2 and [record.done for record in told] == [*range(8, 90, 8), 90]
    assert found.items.tolist() == items.tolist() and np.array_equal(
        found.labels, images.labels[items]
    )
    np.testing.assert_allclose(found.vectors, one.vectors, atol=1e-6)
