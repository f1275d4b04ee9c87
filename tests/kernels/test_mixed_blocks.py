"""How a batch with mixtures is cut for a GPU: whole classes, both parents of a mixture in its block."""

import torch

from lab.kernels import positive_pairs
from lab.kernels.cuda.blocks import blocks_of
from lab.kernels.layout import Mixture


def batch(sizes, seed=0):
    """Labels in disorder, their mixtures, and all pairs."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    labels = labels[torch.randperm(len(labels), generator=draw)]
    parents = torch.triu((labels[:, None] == labels).int(), 1).nonzero()
    everyone = torch.cat([labels, labels[parents[:, 0]]])
    return (
        labels,
        Mixture(parents, torch.rand(len(parents), generator=draw)),
        positive_pairs(everyone, everyone, True),
    )


def test_blocks_hold_whole_classes_and_the_parents_of_their_mixtures():
    labels, mixture, pairs = batch([1, 4, 3, 2, 4, 1, 5, 2])
    n = len(labels)
    blocks = blocks_of(n, mixture, pairs, largest=7)
    assert (
        blocks is not None
        and int(blocks.edges[-1]) == n
        and int(blocks.ranked_edges[-1]) == n + len(mixture.parents)
    )
    assert int(blocks.edges.diff().max()) <= 7 and len(blocks) == len(blocks.ranked_edges) - 1
    assert sorted(blocks.order.tolist()) == list(range(n))
    classes = torch.cat([labels, labels[mixture.parents[:, 0]]])
    by_place = torch.empty_like(classes)
    by_place[blocks.place] = classes
    seen: set[int] = set()
    for k in range(len(blocks)):
        originals = slice(int(blocks.edges[k]), int(blocks.edges[k + 1]))
        ranked = slice(int(blocks.ranked_edges[k]), int(blocks.ranked_edges[k + 1]))
        here = set(labels[blocks.order[originals]].tolist())
        assert set(by_place[ranked].tolist()) == here and not here & seen
        seen |= here
        for parent in (blocks.first[ranked], blocks.second[ranked]):
            assert bool(((parent >= originals.start) & (parent < originals.stop)).all())
    rows = torch.nn.functional.normalize(
        torch.randn(n, 3, generator=torch.Generator().manual_seed(1)), dim=1
    )
    x, z = mixture.parents.T
    whole = torch.cat([rows, torch.lerp(rows[z], rows[x], mixture.alpha[:, None])])
    placed, weight = rows[blocks.order], blocks.alpha[:, None]
    mixed = weight * placed[blocks.first.long()] + (1 - weight) * placed[blocks.second.long()]
    torch.testing.assert_close(mixed[blocks.place], whole)


def test_large_classes_and_pairs_that_are_left_out_make_no_blocks():
    labels, mixture, pairs = batch([3, 6, 2])
    assert blocks_of(len(labels), mixture, pairs, largest=5) is None
    assert blocks_of(len(labels), mixture, pairs[1::2], largest=64) is None
    mixture.parents[0] = torch.tensor(
        [int((labels == 0).nonzero()[0]), int((labels == 1).nonzero()[0])]
    )
    assert blocks_of(len(labels), mixture, pairs, largest=64) is None, "parents of two classes"
