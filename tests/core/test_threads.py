"""Pieces of work among threads: all are done, in turns where they share something, and no failure is lost."""

import threading
import time

import pytest
import torch

from lab.core import threads


@pytest.fixture(params=[1, 3])
def count(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    assert torch.get_num_threads() == request.param, "torch has its threads back"
    torch.set_num_threads(before)


def test_each_does_every_piece_once_with_torch_to_itself(count):
    done, seen, all_there = [], [], threading.Barrier(count)

    def work(piece):
        if piece < count:
            all_there.wait(60)  # every thread has one of the first
        done.append(piece)
        seen.append((torch.get_num_threads(), threading.get_ident()))

    threads.each(range(40), work)
    assert sorted(done) == list(range(40))
    assert {of_torch for of_torch, _ in seen} == {1}
    assert len({thread for _, thread in seen}) == count


def test_helpers_record_no_gradient_and_write_to_tensors_of_inference(count):
    rows = torch.ones(8, 2, requires_grad=True)
    threads.each([], lambda piece: None)
    all_there = threading.Barrier(count)

    def doubled(i):
        if i < count:
            all_there.wait(60)
        (rows[i] * 2).numpy()

    with torch.no_grad():
        threads.each(range(8), doubled)
    with torch.inference_mode():
        total = torch.zeros(8)

        def put(i):
            total[i] = i
            time.sleep(0.001)

        threads.each(range(8), put)
    assert total.tolist() == list(range(8))


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_turns_keep_the_order_of_every_block(blocks, count):
    places = threads.in_rounds((i, j) for i in range(blocks) for j in range(i, blocks))
    settled, written, busy = [], {block: [] for block in range(blocks)}, [0] * blocks

    def finish(place, prepared):
        assert prepared == sum(place)
        for block in set(place):
            busy[block] += 1
        time.sleep(0.0005 * (place[0] % 3))
        for block in set(place):
            assert busy[block] == 1, "two threads write to one block"
            busy[block] -= 1
            written[block].append(place)

    threads.in_turns(places, sum, finish, settle=lambda place, prepared: settled.append(place))
    assert settled == places
    for block, order in written.items():
        assert order == [place for place in places if block in place]


@pytest.mark.parametrize("where", ["prepare", "settle", "finish"])
def test_a_failure_ends_all_waiting_and_is_raised(where, count):
    places = threads.in_rounds((i, j) for i in range(5) for j in range(i, 5))

    def failing(name):
        def work(place, *prepared):
            if name == where and place == places[4]:
                raise ValueError("the fifth")

        return work

    with pytest.raises(ValueError, match="the fifth"):
        threads.in_turns(places, failing("prepare"), failing("finish"), failing("settle"))
