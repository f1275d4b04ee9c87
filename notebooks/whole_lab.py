"""The whole lab in one file: from pictures of digits to a ranking that is measured, and nothing left out.

    python notebooks/whole_lab.py

takes a few seconds on a laptop, and writes whole_lab.png: what three images found before training, and after it.
They are those, one a digit, of which the untrained network found the most wrong ones.

Image retrieval asks for the images that show the same as this one. A network turns each image into a vector of length
1, an embedding, and the others are ranked by their cosine similarity to it. We train on the digits 0 to 6 and rank the
digits 7 to 9, which the network has never seen: what it must learn is what makes two digits the same, not which is
which. (Train it on fewer digits or for longer, and it learns these by heart: the unseen ones are ranked worse again.)

Each step is a few lines of numpy and torch here. "In earnest:" says where the lab does the same for large data, many
losses, and runs that can be stopped and taken up again. The lines are meant to be changed; try it with your own loss.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from sklearn.datasets import load_digits
from torch import Tensor, nn

# ---------------------------------------------------------------------------------------------------------------------
# 1. Data. Classes are disjoint: no digit is in both halves.
#    In earnest: lab.data, where a data set is one file; lab.data.create("digits") is this one.


class Images(NamedTuple):
    """pixels: float32 [n 1 8 8], ink from 0 to 1. labels: int64 [n]."""

    pixels: Tensor
    labels: Tensor


def digits() -> tuple[Images, Images]:
    """Scikit-learn's 1,797 handwritten digits: 0 to 6 to train with, 7 to 9 to test on."""
    stored = load_digits()
    pixels = torch.from_numpy(stored.images).float()[:, None] / 16
    labels = torch.from_numpy(stored.target).long()
    train = labels < 7
    return Images(pixels[train], labels[train]), Images(pixels[~train], labels[~train])


# ---------------------------------------------------------------------------------------------------------------------
# 2. Batches. A loss that compares needs images of one class beside each other, so a batch is some images of each class.
#    In earnest: lab.samplers.


def batches(labels: Tensor, per_class: int, steps: int, seed: int) -> Iterator[Tensor]:
    """Numbers of the images of each batch, int64 [classes * per_class]: as many of each class, drawn at random."""
    random = torch.Generator().manual_seed(seed)
    members = [torch.nonzero(labels == label).flatten() for label in labels.unique()]
    for _ in range(steps):
        yield torch.cat(
            [own[torch.randperm(len(own), generator=random)[:per_class]] for own in members]
        )


# ---------------------------------------------------------------------------------------------------------------------
# 3. The network. Any network that ends in a vector will do; the vector is brought to length 1.
#    In earnest: lab.encoders, with pretrained ones.


class Encoder(nn.Module):
    """Two convolutions and a linear map: [n 1 8 8] to embeddings [n dim] of length 1."""

    def __init__(self, dim: int = 32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 2 * 2, dim),
        )  # fmt: skip

    def forward(self, pixels: Tensor) -> Tensor:
        return F.normalize(self.layers(pixels), dim=1)


# ---------------------------------------------------------------------------------------------------------------------
# 4. The loss. We want a high average precision (step 7), the mean over the positives x of a query of
#
#        rank of x among the positives / rank of x among all,      rank of x = 1 + how many items z come before x.
#
#    Whether z comes before x is a step of s_z - s_x, 0 or 1, and a step has no gradient. SmoothAP (Brown et al., 2020)
#    puts a sigmoid in its place. That is the whole idea, and the papers of this lab differ in what they put there.
#    In earnest: lab.losses.smooth_ap and thirty others; lab.surrogates has the steps; lab.kernels never holds n^3 gaps.


def smooth_ap(embeddings: Tensor, labels: Tensor, tau: float = 0.05) -> Tensor:
    """1 - average precision with sigmoids for steps, mean over the queries.

    Args:
        embeddings: [n d], of length 1; each is the query once, and all others are ranked.
        labels: int64 [n].
        tau: temperature of the sigmoid; the smaller, the more it is a step.
    """
    similarity = embeddings @ embeddings.T
    others = ~torch.eye(len(labels), dtype=torch.bool)
    positive = (labels[:, None] == labels) & others
    gaps = (
        similarity[:, None, :] - similarity[:, :, None]
    )  # [q x z]: how far z is before x, in the list of q
    before = (
        torch.sigmoid(gaps / tau) * others[:, None, :] * others
    )  # z is neither the query nor x itself
    rank = 1 + before.sum(dim=2)
    rank_among_positives = 1 + (before * positive[:, None, :]).sum(dim=2)
    precision = rank_among_positives / rank * positive
    return 1 - (precision.sum(dim=1) / positive.sum(dim=1)).mean()


# ---------------------------------------------------------------------------------------------------------------------
# 5. Training: embed, compare, step.
#    In earnest: lab.training, and lab.runs, which keeps each run in a folder; `lab train --loss smooth_ap`.


def train(
    network: nn.Module, images: Images, steps: int = 120, per_class: int = 8, seed: int = 0
) -> list[float]:
    """Train the network in place; returns the loss of each step."""
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for rows in batches(images.labels, per_class, steps, seed):
        loss = smooth_ap(network(images.pixels[rows]), images.labels[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


# ---------------------------------------------------------------------------------------------------------------------
# 6. Ranking: every image asks for the others.
#    In earnest: lab.search, exact or approximate, for galleries larger than memory; lab.reranking for second thoughts.


def ranked(network: nn.Module, images: Images) -> np.ndarray:
    """What `rank` gives for the images, embedded."""
    with torch.no_grad():
        return rank(network(images.pixels))


def rank(embeddings: Tensor) -> np.ndarray:
    """Neighbours of each image, the most alike first and itself left out, int64 [n n-1]."""
    similarity = embeddings @ embeddings.T
    similarity.fill_diagonal_(-torch.inf)
    return similarity.argsort(dim=1, descending=True, stable=True)[:, :-1].numpy()


# ---------------------------------------------------------------------------------------------------------------------
# 7. Measuring. A score of a query says how early its positives come; a score of a network is the mean over queries.
#    In earnest: lab.metrics, and lab.evaluation, which ranks once and asks every metric.


def measure(neighbours: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Three scores of a ranking, each in 0..1 and better when higher.

    Args:
        neighbours: int64 [n n-1], as `rank` gives them.
        labels: int64 [n].

    Returns:
        r@1, how often the first is of the query's class; mAP, mean average precision: the precision at each positive;
        MAP@R, the same of the first R alone, R being the number of positives.
    """
    hits = labels[neighbours] == labels[:, None]
    place = np.arange(1, hits.shape[1] + 1)
    precision = hits * hits.cumsum(axis=1) / place  # at the positives, 0 elsewhere
    positives = hits.sum(axis=1)
    first_r = place <= positives[:, None]
    return {
        "r@1": float(hits[:, 0].mean()),
        "mAP": float((precision.sum(axis=1) / positives).mean()),
        "MAP@R": float(((precision * first_r).sum(axis=1) / positives).mean()),
    }


# ---------------------------------------------------------------------------------------------------------------------
# 8. A picture. Numbers say how good a ranking is, pictures say why.
#    In earnest: lab.figures, lab.inspect for what a loss does to each pair, and the dashboard of `lab app`.


def sheet(
    images: Images, neighbours: np.ndarray, queries: Sequence[int], k: int = 10
) -> np.ndarray:
    """A row for each query: itself, then its first k neighbours; those of another class are inverted. uint8 [h w]."""
    rows = []
    for query in queries:
        row = [tile(images.pixels[query]), np.full((40, 8), 255, np.uint8)]
        for neighbour in neighbours[query, :k]:
            right = images.labels[neighbour] == images.labels[query]
            row.append(tile(images.pixels[neighbour] if right else 1 - images.pixels[neighbour]))
        rows.append(np.hstack(row))
    return np.vstack(rows)


def tile(pixels: Tensor) -> np.ndarray:
    """An image [1 8 8] as dark ink on light paper, four times as large, in a white frame: uint8 [40 40]."""
    grey = 255 - (255 * pixels[0].numpy()).astype(np.uint8)
    return np.pad(grey.repeat(4, axis=0).repeat(4, axis=1), 4, constant_values=255)


# ---------------------------------------------------------------------------------------------------------------------
# All of it.


def main(picture: Path = Path("whole_lab.png"), steps: int = 120) -> dict[str, dict[str, float]]:
    """Measure, train, measure again, and draw both; returns the scores before and after."""
    torch.manual_seed(0)
    known, unseen = digits()
    labels = unseen.labels.numpy()
    network = Encoder()
    rankings = {"before training": ranked(network, unseen)}
    losses = train(network, known, steps)
    rankings["after training"] = ranked(network, unseen)
    print(f"loss {losses[0]:.3f} at the first step, {np.mean(losses[-10:]):.3f} over the last ten")
    scores = {when: measure(neighbours, labels) for when, neighbours in rankings.items()}
    for when, values in scores.items():
        print(f"{when}: " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()))

    wrong = (labels[rankings["before training"][:, :10]] != labels[:, None]).sum(axis=1)
    queries = [
        max(np.flatnonzero(labels == digit), key=wrong.__getitem__) for digit in np.unique(labels)
    ]
    sheets = [sheet(unseen, neighbours, queries) for neighbours in rankings.values()]
    Image.fromarray(
        np.hstack([sheets[0], np.full((len(sheets[0]), 40), 255, np.uint8), sheets[1]])
    ).save(picture)
    print(
        f"{picture} shows what three images found, before on the left, after on the right; wrong ones are inverted."
    )
    return scores


if __name__ == "__main__":
    main()
