"""Figures of runs that hold vectors alone."""

import lab


def test_vectors_without_pictures_are_compared_without_cards_that_nobody_can_read(tmp_path):
    vectors = [[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0], [0.7, 0.6], [0.6, 0.7]]
    labels = ["a", "a", "b", "b", "a", "b"]
    one = lab.runs.from_embeddings(vectors, labels, normalise=True, name="one", runs=tmp_path)
    other = lab.runs.from_embeddings(
        vectors[::-1], labels, normalise=True, name="other", runs=tmp_path
    )
    drawn = lab.figures.create("query_changes", metric="MAP@R").figure([one, other])
    assert len(drawn.data) > 1 and not drawn.layout.images
