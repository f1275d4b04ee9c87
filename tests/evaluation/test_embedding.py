"""Embedding images, in one go and in pieces side by side."""

import threading

import numpy as np
import pytest
import torch

import lab
from lab.core.streams import result_of
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.data.images.reading import ImageError
from lab.evaluation.embedding import NothingEmbedded, embed


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
        if threading.current_thread() not in who and threading.current_thread() is not threading.main_thread():
            who.add(threading.current_thread())
            all_there.wait(60)  # both of torch's threads have a piece
        return forward(self, batch)

    monkeypatch.setattr(type(encoder), "forward", seen)
    loader = Loader(images, transforms.testing(16))
    told = []
    found = result_of(embed(encoder, loader, items, batch_size=8, abreast=3), told.append)
    one = result_of(embed(encoder, loader, items, batch_size=8))
    assert len(who) == 2 and [record.done for record in told] == [*range(8, 90, 8), 90]
    assert found.items.tolist() == items.tolist() and np.array_equal(found.labels, images.labels[items])
    np.testing.assert_allclose(found.vectors, one.vectors, atol=1e-6)


def test_pictures_that_cannot_be_read_are_left_out_side_by_side_too(two_threads, monkeypatch):
    images = lab.data.create("emoji7")
    lost = {3, 40, 41}

    def load(self, i):
        if i in lost:
            raise ImageError(f"{i} is missing.")
        return whole(self, i)

    whole = type(images).load
    monkeypatch.setattr(type(images), "load", load)
    monkeypatch.setattr(type(images), "pixels", None)
    encoder, loader = lab.encoders.create("small_cnn", width=4, dim=8), Loader(images, transforms.testing(16))
    found = result_of(embed(encoder, loader, np.arange(48), batch_size=2, abreast=8))
    assert found.items.tolist() == [i for i in range(48) if i not in lost] and len(loader.problems) == 3
    with pytest.raises(NothingEmbedded, match="none of 3 can be read: 3 is missing"):
        result_of(embed(encoder, loader, np.array(sorted(lost)), what="pictures", abreast=2))
