"""What holds for every sampler, and for each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab

NAMES = lab.samplers.names()


def world(classes: int, images: int, supers: int):
    """Labels and super-labels of a set with `images` to `images + 2` images a class, shuffled."""
    random = np.random.default_rng(classes * 100 + images)
    labels = np.repeat(np.arange(classes), images + np.arange(classes) % 3)
    labels = random.permutation(labels)
    return labels * 7 + 3, (labels % supers) + 10  # labels need not be 0..c-1


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), step=st.integers(0, 10**6), classes=st.integers(12, 40))
def test_batch_is_a_pure_function_of_seed_and_step(name, seed, step, classes):
    labels, supers = world(classes, 4, 3)
    one = lab.samplers.create(name, batch_size=16).bind(labels, supers, seed)
    for other in (0, step + 1, 3):
        one.batch(other)  # asking for others first changes nothing
    again = lab.samplers.create(name, batch_size=16).bind(labels, supers, seed)
    batch = one.batch(step)
    np.testing.assert_array_equal(batch, again.batch(step))
    assert batch.dtype == np.int64 and batch.shape == (16,)
    assert len(set(batch.tolist())) == 16 and batch.min() >= 0 and batch.max() < len(labels)


@pytest.mark.parametrize("per_class", [1, 2, 4])
def test_m_per_class_takes_m_of_each(per_class):
    labels, _ = world(20, 4, 1)
    sampler = lab.samplers.create("m_per_class", batch_size=16, per_class=per_class).bind(labels)
    for step in range(10):
        drawn = labels[sampler.batch(step)].reshape(-1, per_class)
        assert (drawn == drawn[:, :1]).all() and len(np.unique(drawn)) == 16 // per_class


def test_m_per_class_fills_the_batch_where_classes_are_few():
    # 128 images with 4 of each class would need 32 classes
    labels = np.repeat(np.arange(10), [40] * 9 + [6])
    sampler = lab.samplers.create("m_per_class").bind(labels)
    for step in range(5):
        shown, counts = np.unique(labels[sampler.batch(step)], return_counts=True)
        assert len(shown) == 8 and (counts == 16).all()
    assert (
        len(
            np.unique(
                lab.samplers.create("m_per_class").bind(np.repeat(np.arange(32), 6)).batch(0) // 6
            )
        )
        == 32
    )


def test_m_per_class_gives_every_class_its_turn():
    labels, _ = world(20, 4, 1)
    # 4 classes a batch, 5 batches a lap
    sampler = lab.samplers.create("m_per_class", batch_size=16).bind(labels)
    for lap in range(3):
        seen = np.concatenate([labels[sampler.batch(step)] for step in range(5 * lap, 5 * lap + 5)])
        assert len(np.unique(seen)) == 20


def test_m_per_class_shows_every_image_in_time():
    labels, _ = world(8, 4, 1)
    sampler = lab.samplers.create("m_per_class", batch_size=16).bind(labels)
    assert len(np.unique(np.concatenate([sampler.batch(step) for step in range(60)]))) == len(
        labels
    )
    alone = lab.samplers.create("m_per_class", batch_size=2, per_class=2).bind(np.zeros(6, int))
    # drawn anew at each step
    assert len(np.unique(np.concatenate([alone.batch(step) for step in range(20)]))) == 6


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(
        lambda s: sum(n >= 2 for n in s) >= 2
    ),
    step=st.integers(0, 300),
    seed=st.integers(0, 100),
)
def test_hierarchical_takes_half_from_each_of_two_super_classes(sizes, step, seed):
    supers_of_class = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.repeat(np.arange(len(supers_of_class)), 3)
    supers = supers_of_class[labels]
    sampler = lab.samplers.create("hierarchical", batch_size=12, per_class=3).bind(
        labels, supers, seed
    )
    batch = sampler.batch(step)
    first, second = supers[batch[:6]], supers[batch[6:]]
    assert len(set(first)) == len(set(second)) == 1 and first[0] != second[0]
    for half in (batch[:6], batch[6:]):
        drawn = labels[half].reshape(2, 3)
        assert (drawn == drawn[:, :1]).all() and drawn[0, 0] != drawn[1, 0]


def test_hierarchical_by_pairs_shows_every_pair_alike_whatever_their_sizes():
    """Super-classes of 40, 6, 3 and 2 classes; six pairs, each once a lap of six batches (the code of 001)."""
    supers_of_class = np.repeat([0, 1, 2, 3], [40, 6, 3, 2])
    labels = np.repeat(np.arange(51), 2)
    supers = supers_of_class[labels]
    sampler = lab.samplers.create("hierarchical", batch_size=8, per_class=2, share="pairs").bind(
        labels, supers
    )
    for lap in range(3):
        batches = [sampler.batch(step) for step in range(6 * lap, 6 * lap + 6)]
        pairs = [tuple(sorted({int(s) for s in supers[batch]})) for batch in batches]
        assert sorted(pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        assert all(len(np.unique(labels[batch])) == 4 for batch in batches)


def test_short_classes_with_replacement_draw_each_image_by_itself():
    sampler = lab.samplers.create(
        "m_per_class", batch_size=8, short_classes="with_replacement"
    ).bind(SHORT)
    of_three = [
        b[SHORT[b] == 3] for b in (sampler.batch(step) for step in range(60)) if 3 in SHORT[b]
    ]
    assert all(len(b) == 4 for b in of_three) and {12, 13} == set(np.concatenate(of_three))
    assert any(sorted(b) != [12, 12, 13, 13] for b in of_three), "that would be repeat"


SHORT = np.repeat([0, 1, 2, 3], [4, 4, 4, 2])


def test_classes_with_too_few_images():
    refuse = lab.samplers.create("m_per_class", batch_size=8)
    with pytest.raises(ValueError, match="1 of 4 classes have fewer .label 3 has 2"):
        refuse.bind(SHORT)
    leave_out = lab.samplers.create("m_per_class", batch_size=8, short_classes="leave_out").bind(
        SHORT
    )
    assert 3 not in SHORT[np.concatenate([leave_out.batch(step) for step in range(20)])]
    repeat = lab.samplers.create("m_per_class", batch_size=8, short_classes="repeat").bind(SHORT)
    of_three = [
        b[SHORT[b] == 3] for b in (repeat.batch(step) for step in range(20)) if 3 in SHORT[b]
    ]
    assert of_three and all(sorted(b) == [12, 12, 13, 13] for b in of_three)


@pytest.mark.parametrize(
    ("name", "knobs", "labels", "supers", "sentence"),
    [
        ("m_per_class", {"batch_size": 10}, SHORT, None, "multiple of per_class, got 10 and 4"),
        (
            "m_per_class",
            {"batch_size": 32, "per_class": 2},
            SHORT,
            None,
            "needs 16 classes, but only 4",
        ),
        (
            "m_per_class",
            {"batch_size": 32},
            SHORT[:12],
            None,
            "Lower batch_size to 12",
        ),  # larger than the whole set
        ("m_per_class", {"per_class": 0}, SHORT, None, "1 <= per_class"),
        ("hierarchical", {"batch_size": 12}, SHORT, None, "multiple of twice per_class"),
        ("hierarchical", {"batch_size": 8}, SHORT, None, "no super-classes|has none"),
        (
            "hierarchical",
            {"batch_size": 8, "per_class": 2},
            SHORT,
            np.zeros(14),
            "only 1 of 1 super-classes",
        ),
        (
            "hierarchical",
            {"batch_size": 4, "per_class": 2},
            SHORT,
            np.arange(14),
            "more than one super-class",
        ),
        ("uniform", {"batch_size": 15}, SHORT, None, "there are 14"),
        ("uniform", {"batch_size": 2}, [], None, "at least one image with a class"),
        ("uniform", {"batch_size": 2}, np.zeros((2, 2)), None, r"got shape \(2, 2\)"),
        ("uniform", {"batch_size": 2}, SHORT, np.zeros(3), "got 3 for 14 images"),
    ],
)
def test_bad_input_gets_a_sentence(name, knobs, labels, supers, sentence):
    with pytest.raises(ValueError, match=sentence):
        lab.samplers.create(name, **knobs).bind(labels, supers)
