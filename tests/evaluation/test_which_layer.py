"""Which layer: chosen on one half of the classes, told on the other; and the whitening against a plain reference."""

import numpy as np
import pytest

from lab.encoders import OUTPUT, Layer
from lab.evaluation.layers import PUBLISHED, Setting, measure
from lab.evaluation.whitening import pca


def reference(rows, kept, shrinkage):
    """Whitening by loops in float64: covariance, shrinkage, eigenvectors by singular values."""
    count, width = len(rows), len(rows[0])
    mean = [sum(float(row[j]) for row in rows) / count for j in range(width)]
    covariance = np.zeros((width, width))
    for row in rows:
        away = [float(row[j]) - mean[j] for j in range(width)]
        for i in range(width):
            for j in range(width):
                covariance[i, j] += away[i] * away[j] / count
    level = sum(covariance[j, j] for j in range(width)) / width
    shrunk = np.zeros((width, width))
    for i in range(width):
        for j in range(width):
            shrunk[i, j] = (1 - shrinkage) * covariance[i, j] + (
                shrinkage * level if i == j else 0.0
            )
    directions, variances, _ = np.linalg.svd(shrunk)
    order = sorted(range(width), key=lambda j: -variances[j])[:kept]
    out = np.zeros((count, kept))
    for number, row in enumerate(rows):
        for place, j in enumerate(order):
            away = sum((float(row[i]) - mean[i]) * directions[i, j] for i in range(width))
            out[number, place] = away / np.sqrt(variances[j])
        out[number] /= np.linalg.norm(out[number])
    return out


def cosines(rows):
    return rows.astype(np.float64) @ rows.astype(np.float64).T


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7, 0.99])
@pytest.mark.parametrize("kept", [1, 3, 6])
def test_whitening_is_that_of_a_plain_loop(shrinkage, kept):
    rows = np.random.default_rng(kept).normal(size=(40, 6)) @ np.diag([5, 3, 2, 1, 0.5, 0.1]) + 7
    found = pca(rows, kept, shrinkage)(rows)
    # The signs of directions are free: similarities are not.
    np.testing.assert_allclose(cosines(found), cosines(reference(rows, kept, shrinkage)), atol=1e-5)


def test_fewer_images_than_numbers_keep_what_varies():
    rows = np.random.default_rng(0).normal(size=(6, 20))
    found = pca(rows, 5, 0.1)(rows)
    np.testing.assert_allclose(cosines(found), cosines(reference(rows, 5, 0.1)), atol=1e-5)
    with pytest.raises(ValueError, match="6 images differ in 5 of 20 directions only"):
        pca(rows, 6, 0.1)


def test_constant_features_change_nothing():
    rows = np.random.default_rng(1).normal(size=(30, 4))
    with_constants = np.c_[rows, np.full((30, 3), 2.5)]
    np.testing.assert_allclose(
        cosines(pca(with_constants, 4)(with_constants)), cosines(pca(rows, 4)(rows)), atol=1e-6
    )
    with pytest.raises(ValueError, match="differ in 0 of 3 directions"):
        pca(np.full((30, 3), 2.5), 1, 0.5)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.ones((1, 4)), "1 image differ in 0 of 4 directions"),
        (np.ones((0, 4)), "needs images to be fitted to, got none"),
        (np.array([[1.0, np.nan], [1, 2]]), "1 image of 2 have NaN or infinity"),
        (np.array([[1.0, np.inf], [1, -np.inf]]), "2 images of 2 have NaN or infinity"),
    ],
)
def test_what_cannot_be_whitened_is_refused(rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        pca(rows, 1, 0.1)


CLASSES, EACH = 60, 4
LABELS = np.repeat(np.arange(CLASSES), EACH)


def planted(clear: float, seed: int = 0) -> np.ndarray:
    """32 numbers of each image: its class with this strength, and noise of strength 1."""
    random = np.random.default_rng(seed)
    return clear * random.normal(size=(CLASSES, 32))[LABELS] + random.normal(size=(len(LABELS), 32))


def first_answers(rows, labels):
    """Whether the nearest other row has the same label, by a plain loop."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    right = []
    for query in range(len(rows)):
        scores = [
            float(unit[query] @ unit[other]) if other != query else -np.inf
            for other in range(len(rows))
        ]
        right.append(float(labels[int(np.argmax(scores))] == labels[query]))
    return np.array(right)


def test_a_better_layer_is_chosen_and_told_on_the_other_half():
    rows = {OUTPUT: planted(0.4), Layer(1): planted(0.6), Layer(2): planted(1.0)}
    found = measure(rows.items(), LABELS, widths=(16,))
    assert (
        found.best == Setting(Layer(2)) and found.chosen == (found.best, found.best) and found.helps
    )
    assert found.settings[0] == PUBLISHED and found.drawn_of == 0
    for half in (found.half, ~found.half):
        for layer, table in rows.items():
            expected = first_answers(table[half], LABELS[half])
            np.testing.assert_array_equal(
                found.right[found.settings.index(Setting(layer)), half], expected
            )
    assert found.told.mean() == pytest.approx(found.right[found.settings.index(found.best)].mean())
    assert "Layer 2" in found.sentence and "over the network as it comes" in found.sentence
    assert not set(LABELS[found.half]) & set(LABELS[~found.half]), "halves share no class"


def test_a_whitening_is_fitted_to_the_other_half():
    rows = planted(1.0) @ np.diag(np.linspace(0.05, 5, 32))
    found = measure([(OUTPUT, rows)], LABELS, widths=(16,), shrinkage=0.2)
    row = found.right[found.settings.index(Setting(OUTPUT, 16))]
    for half in (found.half, ~found.half):
        whitened = pca(rows[~half], 16, 0.2)(rows[half])
        np.testing.assert_array_equal(
            row[half], first_answers(whitened.astype(np.float64), LABELS[half])
        )


def test_where_no_layer_helps_it_says_so():
    found = measure([(OUTPUT, planted(1.5)), (Layer(1), planted(0.3))], LABELS, widths=())
    assert found.best == PUBLISHED and not found.helps
    assert found.sentence.startswith("No layer helps here: the network as it comes has")


def test_layers_of_noise_gain_nothing_although_the_best_of_many_looks_better():
    """Twenty layers of the same quality: the best of all queries is ahead by luck, the told score is not."""
    layers = [
        (OUTPUT, planted(0.6)),
        *((Layer(one), planted(0.6, seed=one)) for one in range(1, 21)),
    ]
    found = measure(layers, LABELS, widths=())
    assert found.right.mean(axis=1).max() > found.right[0].mean() + 0.02
    assert not found.helps and found.sentence.startswith("No layer can be told to help here"), (
        found.sentence
    )


def test_few_classes_tell_nothing():
    few = LABELS < 5
    found = measure(
        [(OUTPUT, planted(1.0)[few]), (Layer(1), planted(2.0)[few])], LABELS[few], widths=()
    )
    assert "cannot be told from 5 classes" in found.sentence and not found.helps
    with pytest.raises(ValueError, match="there are 3 of 3, and it takes 4"):
        measure([(OUTPUT, planted(1.0)[:12])], LABELS[:12])
    with pytest.raises(ValueError, match="needs the output of the network as the first layer"):
        measure([(Layer(1), planted(1.0))], LABELS)


def test_images_without_a_class_and_single_ones_are_left_out():
    rows, labels = planted(1.0), LABELS.astype(str).astype(object)
    extra = np.r_[rows, np.full((5, 32), 3.0)]
    names = np.array([*labels, "", "", "", "alone", ""], str)
    one, other = (
        measure([(OUTPUT, rows)], labels.astype(str), widths=(8,)),
        measure([(OUTPUT, extra)], names, widths=(8,)),
    )
    np.testing.assert_array_equal(one.right, other.right)


def test_features_that_are_no_numbers_are_refused():
    rows = planted(1.0)
    rows[3, 2] = np.nan
    with pytest.raises(ValueError, match="Of the layer 4 1 image has NaN or infinity"):
        measure([(OUTPUT, planted(1.0)), (Layer(4), rows)], LABELS, widths=())


def test_large_sets_are_drawn_by_whole_classes(monkeypatch):
    monkeypatch.setattr("lab.evaluation.layers.MOST_IMAGES", 100)
    found = measure([(OUTPUT, planted(1.0))], LABELS, widths=())
    assert len(found.labels) == 100 and found.drawn_of == len(LABELS)
    assert (np.bincount(found.labels) == EACH).all() and "drawn of 240 images" in found.protocol
